"""One line on standard error that counts compiled functions.

It counts for all processes with the same machine code. On a terminal it counts up, and disappears at the end. Elsewhere it is
printed every AGAIN seconds. `PACKENV_QUIET` turns it off.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from packenv.compiled.locks import Lock

PATIENCE = 1.5  # seconds of compilation before the line,
MANY = 8  # unless so many functions are known to be missing
TICK = 0.2  # seconds between two looks
AGAIN = 20.0  # seconds from one line to the next, where there is no terminal
PAUSE = 1.0  # seconds without compilation after which the line goes
FORGET = 10.0  # seconds without compilation after which a new line may be printed
MARK = "compiling"  # a file beside the machine code: one byte for each function that a process began to compile, ever
QUIET = "PACKENV_QUIET"


def count(folder: Path) -> int:
    """Count functions compiled into this folder by all processes."""
    with suppress(OSError):
        return (folder / MARK).stat().st_size
    return 0


def count_one(folder: Path) -> None:
    """Count a function that this process begins to compile."""
    with suppress(OSError), (folder / MARK).open("ab") as file:
        file.write(b".")


def has_compiled(folder: Path, since: float) -> bool:
    """Return whether any process compiled after `since` (`time.time` seconds)."""
    with suppress(OSError):
        return (folder / MARK).stat().st_mtime >= since
    return False


class Announcement:
    """The line of a process that compiles or waits."""

    def __init__(self) -> None:
        self.changing = threading.Lock()
        self.under_way: set[int] = set()  # the dispatchers that are compiling now
        self.ended = 0.0  # when the last one was through
        self.expected = 0  # functions that are to be compiled for what comes next,
        self.before = 0  # how many had been compiled before
        self.watcher: threading.Thread | None = None
        self.width = 0  # letters of the line that stands on the terminal

    def expect(self, folder: Path, expected: int) -> None:
        """Announce how many functions are still to be compiled."""
        with self.changing:
            self.before, self.expected, self.ended = count(folder), expected, time.monotonic()
            if expected >= MANY:
                self._start(folder)

    def begin(self, dispatcher: int, folder: Path) -> None:
        """Mark a function as being compiled, here or elsewhere."""
        with self.changing:
            self.under_way.add(dispatcher)
            if self.expected == 0 and not self._is_watched():
                self.before = count(folder)
            self._start(folder)

    def end(self, dispatcher: int) -> None:
        """Mark one function as compiled."""
        with self.changing:
            self.under_way.discard(dispatcher)
            self.ended = time.monotonic()

    def _is_watched(self) -> bool:
        return self.watcher is not None and self.watcher.is_alive()

    def _start(self, folder: Path) -> None:
        if not os.environ.get(QUIET) and not self._is_watched():
            self.watcher = threading.Thread(target=self._watch, args=(folder,), daemon=True)
            self.watcher.start()

    def line(self, folder: Path) -> str:
        """Return the present text of the line."""
        done = max(count(folder) - self.before, 1)
        counted = f"{done} of {max(self.expected, done)} functions" if self.expected else f"{done} function{'s'[: done - 1]}"
        return f"packenv: compiling {counted}, once for this version …"

    def _watch(self, folder: Path) -> None:
        """Print the line until FORGET seconds without compilation."""
        speaker, spent, printed = Lock(folder / "announcing"), 0.0, -AGAIN
        while (idle := 0.0 if self.under_way else time.monotonic() - self.ended) < FORGET:
            if idle > PAUSE:
                self.clear()
            elif (spent > PATIENCE or self.expected >= MANY) and speaker.acquire():
                if _on_terminal():
                    line = self.line(folder)[: shutil.get_terminal_size().columns - 1]
                    _write("\r" + line.ljust(self.width))
                    self.width = len(line)
                elif spent >= printed + AGAIN:
                    _write(self.line(folder) + "\n")
                    printed = spent
            spent += TICK if self.under_way else 0.0
            time.sleep(TICK)
        self.expected = 0
        speaker.release()

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self.width:
            _write("\r" + " " * self.width + "\r")
            self.width = 0


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _write(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # standard error is closed, or there is none
        sys.stderr.write(text)
        sys.stderr.flush()


announcement = Announcement()
atexit.register(announcement.clear)
