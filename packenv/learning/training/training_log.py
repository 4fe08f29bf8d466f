"""What TensorBoard shows of a training run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from packenv.errors import InputError
from packenv.results.event_file import INSTALL, EventFile, new_event_path, tensorboard_is_installed

LINES = 20  # in a whole run, where there is no terminal


class TrainingProgress:
    """Progress towards `samples`, of which `done` were made before."""

    def __init__(self, name: str, samples: int, done: int) -> None:
        self.console = Console(stderr=True)
        self.samples, self.first, self.done = samples, done, done
        self.began: float | None = None  # when the first step was taken
        self.paused = 0.0
        self.reported = done
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
        self.paused += seconds

    def reach(self, done: int) -> None:
        """Show `done` samples (speed counts from the first call)."""
        self.began = self.began or time.monotonic()
        self.done = done
        self.bar.update(self.task, completed=min(done, self.samples), speed=f"{self.speed():,.0f} samples/s")
        if not self.console.is_terminal and done - self.reported >= self.samples / LINES:
            self.reported = done
            remaining = max(self.samples - done, 0) / max(self.speed(), 1e-9)
            to_go = f", {remaining:,.0f} s to go" if done < self.samples else ""
            self.say(f"{done:,} of {max(self.samples, done):,} samples, {self.speed():,.0f} per second{to_go}")

    def end(self, line: str) -> None:
        """Replace the bar by a line on the next step."""
        self.bar.stop()
        self.say(line)

    def say(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)


GUARANTEES = {"judge/guarantee one half": 1 / 2, "judge/guarantee two thirds": 2 / 3}


def require_tensorboard() -> None:
    if not tensorboard_is_installed():
        raise InputError(f"training writes logs for TensorBoard, which is not installed: {INSTALL}")


class TrainingLog:
    """Scalars, pictures and settings of one run, until the disk is full."""

    def __init__(self, folder: Path, samples: int, say: Callable[[str], None]) -> None:
        self.folder, self.say = folder, say
        self.file: EventFile | None = None
        with self._while_possible():
            # the steps that a killed run wrote after its last checkpoint are written again
            self.file = EventFile(new_event_path(folder), hide_from=samples + 1 if samples else None)

    @contextmanager
    def _while_possible(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.file = None
            self.say(f"{self.folder}: TensorBoard's file cannot be written ({error.strerror}), the training goes on without it")

    def _write(self, kind: str, *values: Any) -> None:
        with self._while_possible():
            if self.file is not None:
                getattr(self.file, kind)(*values)

    def scalars(self, values: Mapping[str, float], samples: int) -> None:
        for name, value in values.items():
            self._write("scalar", name, value, samples)

    def settings(self, record: Mapping[str, Any], command: str) -> None:
        lines = ["| setting | value |", "|---|---|", *(f"| {name} | `{value}` |" for name, value in record.items())]
        self._write("text", "settings", f"`{command}`\n\n" + "\n".join(lines))

    def supported_fraction_chart(self, references: Sequence[str]) -> None:
        """Write one chart of supported fraction, guarantees and these scalars."""
        lines = ["judge/agent, lower end", "judge/agent, upper end", *GUARANTEES, *references]
        self._write("joint_chart", "supported fraction of ρ*", "agent and references", lines)

    def hyperparameters(self, record: Mapping[str, Any], measured: Mapping[str, float], samples: int) -> None:
        """Write settings and results for TensorBoard's table of runs."""
        plain = {name: value if isinstance(value, (int, float, str)) else str(value) for name, value in record.items()}
        self._write("hyperparameters", plain, {f"final/{name}": value for name, value in measured.items()}, samples)

    def flush(self) -> None:
        self._write("flush")

    def close(self) -> None:
        self._write("close")
