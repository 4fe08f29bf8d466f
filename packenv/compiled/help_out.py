"""What a helper process does: it compiles the functions that it is given, the last one first, until there are none left."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from packenv.compiled.locks import Lock

LENGTH = 8  # bytes before each message
IDLE = 5.0  # seconds without a message after which a helper ends


class Messages:
    """What comes on standard input, read by a thread: the end of the input, which is that of the other process, ends this one."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []
        self.changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        read = sys.stdin.buffer.read
        while length := read(LENGTH):
            message = read(int.from_bytes(length))
            with self.changed:
                self.waiting.append(message)
                self.changed.notify()
        os._exit(0)

    def receive(self, seconds: float) -> list[bytes]:
        """All that has come; waits so long for the first."""
        with self.changed:
            if not self.waiting:
                self.changed.wait(seconds)
            taken, self.waiting = self.waiting, []
        return taken


def help_out(folder: str, number: int) -> None:
    """Compile what comes on standard input; `folder` has all machine code, and one helper of each number at a time."""
    if not (place := Lock(Path(folder) / f"helper-{number}")).acquire() or place.descriptor is None:
        return
    messages = Messages()
    functions: list[tuple[str, str, str, tuple[Any, ...]]] = []
    import_module("packenv.cluster.loop")  # while the other process prepares its first message
    while True:
        for message in messages.receive(0.0 if functions else IDLE):
            functions += pickle.loads(message)
        if not functions:
            return
        compile_one(*functions.pop())


def compile_one(module: str, name: str, folder: str, arguments: tuple[Any, ...]) -> None:
    """Have a function that is compiled apart kept on disk; not if its sources have changed since the other process read them."""
    from packenv.compiled.apart import Apart
    from packenv.compiled.cache import folder_for

    function = attrgetter(name)(import_module(module)).function
    if str(folder_for((module,))) == folder:
        apart = next(apart for apart in Apart.by_address.values() if apart.function is function)
        apart.make().compile(apart.result(*arguments))
