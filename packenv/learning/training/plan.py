"""Plan and result of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from packenv.content.charts import Guide, Line, LineChart, colours_for
from packenv.content.page import Charts, Figure
from packenv.content.showable import Showable
from packenv.content.tables import Table, numbers
from packenv.options.verbs import TrainingOptions


@dataclass(frozen=True)
class RunPlan(TrainingOptions):
    """Watching and saving of a run, without effect on learning.

    Intervals are in samples. Open choices of TrainingOptions are decided here. The agent is saved in `folder`, and at `out` too.
    """

    folder: Path
    out: Path | None = field(default=None, kw_only=True)  # type: ignore[assignment]
    judge_every: int = field(default=0, kw_only=True)  # 0: never
    against: str = field(default="bf-js", kw_only=True)
    command: str = field(default="", kw_only=True)


class CurvePoint(NamedTuple):
    """Measures at one load after `samples`, None if endless."""

    samples: int
    at: str
    agent: float | None
    other: float | None
    ratio: float | None


@dataclass(frozen=True, repr=False)
class TrainedAgent(Showable):
    """The agent that a run saved.

    `policy` names it for `packenv.evaluate`, `judge` and `leaderboard`.

    measured  results of the saved agent's evaluation
    curve     all evaluations of the run: `measure` of the agent and of `against`, less is better
    """

    path: Path
    samples: int  # of the whole run
    samples_per_second: float
    measured: dict[str, float]
    kept_at: int  # samples after which the agent had the weights that were saved
    keep: str  # why these: "best" or "last"
    measure: str
    against: str
    curve: Sequence[CurvePoint]

    @property
    def policy(self) -> str:
        return f"agent:{self.path}"

    @property
    def title(self) -> str:
        return f"{self.path}: {self.keep} agent, at {self.kept_at:,} samples"

    def facts(self) -> list[tuple[str, str]]:
        """Return the agent's measures and the speed of its training."""
        measured = [(name, f"{value:.4g}") for name, value in self.measured.items()]
        speed = [("speed", f"{self.samples_per_second:,.0f} samples per second")] if self.samples_per_second else []
        return [*measured, *speed]  # a run that only had to be evaluated still has no speed

    def tables(self) -> list[Table]:
        """Return a line per evaluation, a column per load."""
        loads = [*dict.fromkeys(point.at for point in self.curve)]
        cells = {(point.samples, point.at): f"{_text(point.agent)} ({_text(point.ratio)})" for point in self.curve}
        table = Table(f"{self.measure} (ratio to {self.against})", numbers("samples", *loads))
        for samples in dict.fromkeys(point.samples for point in self.curve):
            table.add(f"{samples:,}", *(cells.get((samples, load), "–") for load in loads))
        return [table]

    def charts(self) -> Charts:
        """Return the ratio over samples, a line per load."""
        loads = [*dict.fromkeys(point.at for point in self.curve)]
        lines, points = [], [point for point in self.curve if point.ratio is not None]
        for load, colour in zip(loads, colours_for(loads), strict=True):
            of_load = [point for point in points if point.at == load]
            lines.append(Line(load, colour, [point.samples for point in of_load], [point.ratio or 0.0 for point in of_load]))
        top = 1.1 * max([1.0, *(point.ratio or 0.0 for point in points)])
        chart = LineChart(lines, "samples", f"ratio to {self.against}", top, across=[Guide(1.0, self.against)])
        return Charts("", [Figure(f"{self.path}: {self.measure}", "", chart)])

    @property
    def records(self) -> list[dict[str, Any]]:
        """Return a record for each evaluation at each load."""
        return [point._asdict() for point in self.curve]

    @property
    def plain(self) -> dict[str, Any]:
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        plain = {key: value for key, value in vars(self).items() if key not in ("path", "curve")}
        return {"path": str(self.path), "policy": self.policy, **plain, "curve": [point._asdict() for point in self.curve]}


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
