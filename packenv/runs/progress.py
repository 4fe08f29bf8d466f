"""Progress on standard error, unless PACKENV_QUIET is set."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from packenv.compiled.announcement import QUIET, has_compiled
from packenv.compiled.cache import base

PATIENCE = 1.5  # seconds before the first message
AGAIN = 8.0  # seconds from one line to the next, where there is no terminal for a bar
NEWS = 30.0  # the same for searches that take minutes
PREPARING = "loading the policies' machine code"


@contextlib.contextmanager
def announce_if_slow(what: str) -> Iterator[None]:
    """Print a message after PATIENCE, and the duration every AGAIN seconds.

    Nothing is printed once the process compiles, as this has its own message.
    """
    began, since = time.monotonic(), time.time()

    def line() -> str | None:
        seconds = time.monotonic() - began
        if has_compiled(base(), since):
            return None
        return f"{what} …" if seconds < AGAIN else f"{what}, {seconds:.0f} s so far …"

    with meanwhile(lambda ended: _say(line, PATIENCE, ended)):
        yield


@contextlib.contextmanager
def progress_bar(label: Callable[[], str], total: int, done: Callable[[], float]) -> Iterator[None]:
    """Show a bar after PATIENCE, or without a terminal a line every AGAIN seconds.

    `done()` of `total` is finished.
    """
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn()

    def show(ended: threading.Event) -> None:
        if not console.is_terminal:
            _say(lambda: f"{label()}: {100 * done() / max(total, 1):.0f} %", AGAIN, ended)
        elif not ended.wait(PATIENCE):
            with Progress(*columns, console=console, transient=True) as bar:
                task = bar.add_task(label(), total=total)
                while not ended.wait(0.2):
                    bar.update(task, completed=done(), description=label())

    with meanwhile(show):
        yield


def _say(line: Callable[[], str | None], first: float, ended: threading.Event) -> None:
    """Print a line, if any, after `first` and then every AGAIN seconds."""
    wait = first
    while not ended.wait(wait):
        if (text := line()) is not None:
            print(f"packenv: {text}", file=sys.stderr, flush=True)
        wait = AGAIN


@contextlib.contextmanager
def meanwhile(show: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `show(ended)` in a thread until the block sets the event."""
    if os.environ.get(QUIET):
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=show, args=(ended,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join(timeout=1)


@contextlib.contextmanager
def progress_lines() -> Iterator[Progress]:
    """Show a line with the elapsed time for each task.

    Without a terminal, print one every NEWS seconds.
    """
    columns = TextColumn("{task.description}"), TimeElapsedColumn()

    def news(ended: threading.Event) -> None:
        while not lines.console.is_terminal and not ended.wait(NEWS):
            for task in lines.tasks:
                print(f"packenv: {task.description}, {task.elapsed or 0:.0f} s so far", file=sys.stderr, flush=True)

    console = Console(stderr=True)
    is_silent = bool(os.environ.get(QUIET)) or not console.is_terminal
    bars = Progress(*columns, console=console, transient=True, disable=is_silent)  # else it prints an empty line
    with bars as lines, meanwhile(news):
        yield lines
