"""How far a training run is, on standard error: a bar on a terminal, twenty lines in all elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

LINES = 20  # in a whole run, where there is no terminal


class TrainingProgress:
    """`samples` in all, of which `done` were made before the run was resumed."""

    def __init__(self, name: str, samples: int, done: int) -> None:
        self.console = Console(stderr=True)
        self.samples, self.first, self.done = samples, done, done
        self.began: float | None = None  # when the first step was taken
        self.paused = 0.0
        self.said = done
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[speed]}"), TimeRemainingColumn()
        self.bar = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.task = self.bar.add_task(name, total=samples, completed=done, speed="")

    def __enter__(self) -> TrainingProgress:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def speed(self) -> float:
        """Samples per second of this run, evaluations not counted."""
        now = time.monotonic()
        return (self.done - self.first) / max(now - (self.began or now) - self.paused, 1e-9)

    def pause(self, seconds: float) -> None:
        """Leave so many seconds out of the speed: they were spent on other things than training."""
        self.paused += seconds

    def reach(self, done: int) -> None:
        """So many samples are made. The speed counts from the first call on."""
        self.began = self.began or time.monotonic()
        self.done = done
        self.bar.update(self.task, completed=min(done, self.samples), speed=f"{self.speed():,.0f} samples/s")
        if not self.console.is_terminal and done - self.said >= self.samples / LINES:
            self.said = done
            left = max(self.samples - done, 0) / max(self.speed(), 1e-9)
            self.say(f"{done:,} of {self.samples:,} samples, {self.speed():,.0f} per second, {left:,.0f} s to go")

    def say(self, line: str) -> None:
        """Print a line that stays."""
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)
