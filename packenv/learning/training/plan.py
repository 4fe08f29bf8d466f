"""How a training run is watched and saved, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from packenv.options.verbs import TrainingOptions

if TYPE_CHECKING:
    from packenv.report.pictures import Picture
    from packenv.report.tables import Tables


@dataclass(frozen=True)
class RunPlan(TrainingOptions):
    """How a run is watched and saved; nothing here changes what is learned. Intervals are in samples.

    What is left open in TrainingOptions is decided here; the agent is saved in `folder`, and at `out` too.
    """

    folder: Path
    out: Path | None = field(default=None, kw_only=True)  # type: ignore[assignment]
    judge_every: int = field(default=0, kw_only=True)  # 0: never
    against: str = field(default="bf-js", kw_only=True)
    command: str = field(default="", kw_only=True)


class Compared(NamedTuple):
    """The measure of an agent and of the policy beside it after `samples`, at one load; None for jobs that never end."""

    samples: int
    at: str
    agent: float | None
    other: float | None
    ratio: float | None


@dataclass(frozen=True, repr=False)
class TrainedAgent:
    """The agent that a run saved. `policy` names it for `packenv.evaluate`, `judge` and `leaderboard`.

    measured  of the evaluation of the agent that was kept
    curve     all evaluations of the run, of `measure` beside `against`, the less the better
    """

    path: Path
    samples: int  # of the whole run
    samples_per_second: float
    measured: dict[str, float]
    kept_at: int  # samples after which the agent had the weights that were saved
    keep: str  # why these: "best" or "last"
    measure: str
    against: str
    curve: Sequence[Compared]

    @property
    def policy(self) -> str:
        return f"agent:{self.path}"

    def table(self) -> Tables:
        """A line for each evaluation, a column for each load: the agent's measure, and its ratio to the policy's."""
        from packenv.report.tables import Table, Tables, numbers

        loads = [*dict.fromkeys(point.at for point in self.curve)]
        cells = {(point.samples, point.at): f"{_shown(point.agent)} ({_shown(point.ratio)})" for point in self.curve}
        table = Table(f"{self.measure} (ratio to {self.against})", numbers("samples", *loads))
        for samples in dict.fromkeys(point.samples for point in self.curve):
            table.add(f"{samples:,}", *(cells.get((samples, load), "–") for load in loads))
        return Tables([table])

    def plot(self) -> Picture:
        """A figure of matplotlib: the ratio to the policy's measure over the samples, a line for each load."""
        from packenv.report.charts import Line, LineChart, Rule
        from packenv.report.page import Figure
        from packenv.report.pictures import picture_of
        from packenv.report.plot_style import colours_for

        loads = [*dict.fromkeys(point.at for point in self.curve)]
        lines, points = [], [point for point in self.curve if point.ratio is not None]
        for load, colour in zip(loads, colours_for(loads), strict=True):
            of_load = [point for point in points if point.at == load]
            lines.append(Line(load, colour, [point.samples for point in of_load], [point.ratio or 0.0 for point in of_load]))
        top = 1.1 * max([1.0, *(point.ratio or 0.0 for point in points)])
        chart = LineChart(lines, "samples", f"ratio to {self.against}", top, across=[Rule(1.0, self.against)])
        return picture_of("", [Figure(f"{self.path}: {self.measure}", "", chart)])

    def to_frame(self, library: str = "arrow") -> Any:
        """The curve, a row for each evaluation at each load, as an Arrow table or a frame of "pandas" or "polars"."""
        from packenv.report.frames import frame_of

        return frame_of({key: [getattr(point, key) for point in self.curve] for key in Compared._fields}, library)

    def to_dict(self) -> dict[str, Any]:
        """In plain values, ready for JSON."""
        plain = {key: value for key, value in vars(self).items() if key not in ("path", "curve")}
        return {"path": str(self.path), "policy": self.policy, **plain, "curve": [point._asdict() for point in self.curve]}

    def __repr__(self) -> str:
        lines = [f"{self.path}: {self.keep} agent, of {self.kept_at:,} samples"]
        lines += [f"  {name}: {value:.4g}" for name, value in self.measured.items()]
        return "\n".join([*lines, f"{self.samples_per_second:,.0f} samples per second"])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self)).replace(chr(10), '<br>')}</p>{self.table()._repr_html_()}"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
