"""The part of a result for logs, tables and TensorBoard.

It has means, a verdict and a short path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.results.result import Result
from packenv.results.stability import Verdict
from packenv.runs.measures import JOBS, MEASURES, Measure, SameJobs
from packenv.workloads.workload import Workload

POINTS = 200  # at most, of a path
DELAY_BITS = 7  # delays are exact below 128 slots, and to within 1/128 above


class Path(NamedTuple):
    """Means over bins of `bin_slots` slots, from slot 0."""

    bin_slots: int
    queue: list[float]  # waiting tasks
    waiting_size: list[float]  # Σ size of waiting tasks, in units of capacity; of several resources, in largest servers


class Measured(NamedTuple):
    """The stored part of a run: measures of TensorBoard, and a short path.

    values  by key of the measure. Of whole jobs, None unless all ended
    """

    seed: int
    slots: int
    verdict: Verdict
    stopped: str | None
    path: Path
    values: Mapping[str, Any]
    delays: list[list[float]] | None = None  # `Delays.plain`, coarser than the result's; None in logs of earlier versions

    def plain(self) -> dict[str, Any]:
        """Return the measures in JSON's types."""
        fields = self._asdict()
        values = fields.pop("values")
        return fields | values | {"path": self.path._asdict(), "verdict": list(self.verdict)}

    @classmethod
    def from_plain(cls, plain: Any) -> Measured:
        """Read the output of `plain`. Raises ValueError, KeyError or TypeError."""
        fields = {**plain}
        values = {measure.key: fields.pop(measure.key) for measure in scalar_measures()}
        return cls(**fields | {"path": Path(**plain["path"]), "verdict": Verdict(*plain["verdict"])}, values=values)


def scalar_measures() -> list[Measure]:
    """Return the measures that are stored."""
    return [measure for measure in MEASURES if measure.scalar]


def measured(result: Result, workload: Workload | None = None) -> Measured:
    """Return the measures of a result.

    `workload`: needed for results of another process.
    """
    bins = result.trajectory
    # Bins double as a run goes on, and are merged in powers of two here: those of runs of any lengths fit together.
    together = 1 << max(0, (-(-len(bins.queue) // POINTS) - 1)).bit_length()
    queue, size = (_merged(values, together) for values in (bins.queue, bins.waiting_size))
    path = Path(bins.bin_slots * together, [*_rounded(queue)], [*_rounded(size)])
    where = workload if workload is not None else result.played
    assert where is not None
    same, ended = SameJobs(where, [result]), result.jobs is not None and result.jobs.makespan is not None
    values = {
        measure.key: measure.value_of(result, same) if measure.table != JOBS or ended else None for measure in scalar_measures()
    }
    delays = result.delays.coarser(DELAY_BITS).plain()
    return Measured(result.seed, result.slots, result.verdict, result.stopped, path, values, delays)


def mean_path(runs: Sequence[Measured]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return bin ends in slots, mean queue and mean waiting size, each (bins,).

    Means are over the runs, up to the end of the shortest.
    """
    width = max(run.path.bin_slots for run in runs)
    queues, sizes = (
        [_merged(np.array(getattr(run.path, key), np.float64), width // run.path.bin_slots) for run in runs]
        for key in ("queue", "waiting_size")
    )
    bins = min(map(len, queues))
    ends = width * np.arange(1, bins + 1, dtype=np.int64)
    return ends, np.mean([queue[:bins] for queue in queues], axis=0), np.mean([size[:bins] for size in sizes], axis=0)


def _merged(values: NDArray[np.float64], together: int) -> NDArray[np.float64]:
    """Return means of `together` neighbours, without an incomplete last group."""
    groups = len(values) // together
    return np.asarray(values[: groups * together].reshape(groups, together).mean(axis=1))


def _rounded(values: NDArray[np.float64]) -> list[float]:
    """Round to six digits, enough for a picture."""
    return [float(f"{value:.6g}") for value in values]
