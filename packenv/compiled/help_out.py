"""A helper process: it compiles functions, the last one first."""

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
    """Messages on standard input, whose end ends this process."""

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
        """Take all messages; wait up to `seconds` for the first."""
        with self.changed:
            if not self.waiting:
                self.changed.wait(seconds)
            taken, self.waiting = self.waiting, []
        return taken


def help_out(folder: str, number: int) -> None:
    """Compile functions from standard input, as the only helper `number`."""
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
    """Compile and cache one function, unless its sources have changed."""
    from packenv.compiled.apart import Apart
    from packenv.compiled.cache import folder_for

    function = attrgetter(name)(import_module(module)).function
    if str(folder_for((module,))) == folder:
        apart = next(apart for apart in Apart.by_address.values() if apart.function is function)
        apart.make().compile(apart.result(*arguments))
