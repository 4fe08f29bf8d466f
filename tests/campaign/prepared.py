"""Commands that start at once: a process that has imported all of packenv makes a copy of itself for each.

A command from nothing spends most of its time on imports. A copy finds them done; all else is as it would be.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from packenv.cli.main import COMMANDS, find_command, main

LIBRARIES = ("matplotlib.backends.backend_agg", "pyarrow.parquet", "pyarrow.csv", "scipy.optimize", "scipy.stats", "highspy",
             "torch", "sb3_contrib", "torch.utils.tensorboard", "packenv.api", "packenv.learning.training.train")  # fmt: skip


class Prepared:
    """The process that makes copies, one at a time."""

    def __init__(self, environment: dict[str, str]) -> None:
        words, pipe = [sys.executable, "-m", "tests.campaign.prepared"], subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, env=environment, text=True, bufsize=1)

    def start(self, words: Sequence[str], folder: Path, environment: dict[str, str], terminal: str, limit: int | None) -> Copy:
        """Run `packenv WORDS` in `folder` on the terminal of that name; writing fails after `limit` bytes of a file."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([[*words], str(folder), environment, terminal, limit]) + "\n")
        return Copy(self.process)


class Copy:
    """A command that runs, in the manner of `subprocess.Popen`."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        assert server.stdout is not None
        self.said, self.returncode = server.stdout, None
        self.pid = int(self.said.readline())

    def poll(self) -> int | None:
        """The exit status, minus a signal's number if one ended it; None while it runs."""
        if self.returncode is None and select.select([self.said], [], [], 0)[0]:
            self.returncode: int | None = int(self.said.readline())
        return self.returncode

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def serve() -> list[str] | None:
    """Answer requests until there are no more. In a copy: return the words of its command."""
    while request := sys.stdin.readline():
        words, *rest = json.loads(request)
        process = os.fork()
        if process == 0:
            become(*rest)
            return words
        print(process, flush=True)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def become(folder: str, environment: dict[str, str], terminal: str, limit: int | None) -> None:
    """Make this process what a command is that was started in `folder` with these variables."""
    import resource

    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    screen = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(screen, 1)
    os.dup2(screen, 2)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(file, mode, closefd=False) for file, mode in enumerate("rww"))
    sys.modules["__main__"] = import_module("packenv.cli.main")  # what its own processes begin with
    if limit is not None:
        sys.dont_write_bytecode = True  # Python would keep the part that fits
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def prepare() -> None:
    """Import everything, and nothing that starts a thread."""
    for name in COMMANDS:
        find_command(name)
    for library in LIBRARIES:
        with suppress(ImportError):
            import_module(library)
    gc.collect()
    gc.freeze()


def begin() -> Any:
    """Serve; a copy runs its command to the end, as `packenv` does."""
    prepare()
    words = serve()
    if words is None:
        return None
    sys.argv = ["packenv", *words]
    return main(words)


if __name__ == "__main__":
    begin()
