"""`SlotTrace`: a user's table with times in slots.

It has the methods of `Trace` (packenv.workloads.traces.user).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.inputs.numbers import Exact, exact
from packenv.jobs import Jobs
from packenv.workloads.traces.times import SECOND, floor_divide
from packenv.workloads.traces.trace import (
    SLOT_SECONDS,
    Conversion,
    Estimates,
    Sizes,
    Trace,
    ends_unknown,
    estimate_column,
    one_size,
)

OPTIONAL = ("job", "phase", "value", "tenant", "predecessors", "home", "estimate", "remote_overhead", "gang")
"""Optional columns of a Jobs table in such a table."""


@dataclass(frozen=True)
class SlotTrace:
    """A trace in slots of fixed length, which converts like a Trace."""

    table: Jobs
    resources: tuple[str, ...]  # D names
    source: str = ""
    dropped: dict[str, int] = field(default_factory=dict)  # milestones; any other row that cannot be a task is an error
    slot_seconds: str = SLOT_SECONDS
    rows: NDArray[np.int64] | None = None  # (n,) the row of data in the source, from 1
    ids: Any = None  # as in Trace
    labels: dict[str, Any] = field(default_factory=dict)  # as in Trace
    device_shares: bool = False  # as in Trace
    devices_said: bool = False  # as in Trace
    devices_per_unit: float = 1.0  # as in Trace
    notes: tuple[str, ...] = ()  # as in Trace
    servers: str | None = None
    partitions: tuple[str, ...] = ()  # it names none

    def __len__(self) -> int:
        return len(self.table)

    def only_finished(self, only: bool = True) -> SlotTrace:
        """Return the trace, or raise if `only`: it has no outcomes."""
        if only:
            raise ends_unknown(self.source)
        return self

    def without_estimate(self) -> int | None:
        """Count tasks without an estimate, None if none has one."""
        return None if self.table.estimate is None else 0

    def largest_demand(self) -> NDArray[np.float64]:
        """Return the largest demand (D,) in each resource, in units of capacity."""
        return np.asarray(self.table.amounts.max(axis=0), np.float64)

    def kept_rows(self) -> NDArray[np.int64] | None:
        return self.rows

    def where(self, row: int) -> str:
        """Return source and row of a task, for messages."""
        return self.source if self.rows is None else f"{self.source}: row {self.rows[row]}"

    def jobs(
        self,
        slot_seconds: Exact | None = None,
        speedup: Exact = 1,
        sizes: Sizes = "max",
        estimates: Estimates | None = None,
    ) -> Conversion:
        """Convert like `Trace.jobs`, regardless of `slot_seconds`."""
        whole, beta = self.table, exact(speedup, "speedup")
        demand, scale = (
            (whole.demand.max(axis=1, keepdims=True), whole.scale[:1]) if one_size(sizes) else (whole.demand, whole.scale)
        )
        extra = {name: getattr(whole, name) for name in OPTIONAL}
        if sizes == "all" and whole.resources > 1:
            extra |= {"devices": whole.devices, "device_kinds": whole.device_kinds}
        extra["estimate"] = estimate_column(whole.estimate, whole.service, estimates, self.source)
        jobs = Jobs(floor_divide(whole.arrival, beta), demand, whole.service, **extra, scale=scale)
        return Conversion(jobs, dict(self.dropped), 0)

    def timed(self, slot_seconds: Exact | None = None) -> Trace:
        """Return the tasks in seconds, starting on arrival, for statistics."""
        slot = SECOND * exact(self.slot_seconds if slot_seconds is None else slot_seconds, "slot_seconds")
        submit, duration = (floor_divide(slots, 1 / slot) for slots in (self.table.arrival, self.table.service))
        n = len(self)
        return Trace(
            submit=submit,
            schedule=submit,
            end=submit + duration,
            demand=self.table.amounts,
            resources=self.resources,
            finished=None,
            in_snapshot=np.zeros(n, np.bool_),
            job=self.table.job,
            source=self.source,
        )
