"""What people see while something takes long: a line or a bar on standard error."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

PATIENCE = 1.5  # seconds of silence
COMPILING = "compiling (once for this version of the sources)"


@contextlib.contextmanager
def announce_if_slow(what: str) -> Iterator[None]:
    """Print one line that says what is going on, if it takes longer than PATIENCE."""
    timer = threading.Timer(PATIENCE, lambda: print(f"packenv: {what} …", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def progress_bar(label: str, total: int, done: Callable[[], float]) -> Iterator[None]:
    """A bar on a terminal's standard error for what takes longer than PATIENCE; `done()` of `total` is over."""
    console = Console(stderr=True)
    ended = threading.Event()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn()

    def show() -> None:
        if ended.wait(PATIENCE):
            return
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(label, total=total)
            while not ended.wait(0.2):
                bar.update(task, completed=done())

    watcher = threading.Thread(target=show, daemon=True)
    if console.is_terminal:
        watcher.start()
    try:
        yield
    finally:
        ended.set()
        if watcher.is_alive():
            watcher.join(timeout=1)
