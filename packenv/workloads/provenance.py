"""`Provenance`: where a workload comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from packenv.content.text import left_out_lines, listed

if TYPE_CHECKING:
    from packenv.workloads.traces.records import Records

SHARE_IN_TITLES = 0.05  # omitted share of a trace's tasks, or of their work, from which titles show it


@dataclass(frozen=True)
class Provenance:
    """The trace of a workload: what is left out, what to know, and its clock. Empty for random tasks."""

    left_out: dict[str, int] = field(default_factory=dict)
    """Number of rows that are no tasks of the workload, by reason."""
    left_out_share: float = 0.0
    """Share of the tasks that fit nowhere and are not in the workload, from 0 to 1."""
    left_out_work: float = 0.0
    """The same share of the work, amount × duration, the largest over the resources."""
    partitions: tuple[str, ...] = ()
    """The partitions of the log's jobs, if they were named."""
    slot_assumed: bool = False
    """Whether the length of a slot is only a default; times are then shown in slots."""
    remark: str | None = None
    """A line on what the workload leaves out of its trace, if anything."""
    notes: tuple[str, ...] = ()
    """Lines of the trace's reader for every result: the meaning of a server, and its source."""
    estimates: str | None = None
    """A few words on the column `estimate`, if its reader has them."""
    recorded_waits: NDArray[np.int64] | None = None
    """(n,) slots that each task of the table waited in its log, if recorded."""
    file_records: Records | None = None
    """The tasks' records in a file and the file's clock, if the table comes from one."""

    @property
    def much_left_out(self) -> bool:
        """Whether a twentieth of a trace's tasks or work fits nowhere."""
        return max(self.left_out_share, self.left_out_work) >= SHARE_IN_TITLES

    @property
    def without(self) -> str:
        """The shares that are left out, in words, if they are large."""
        shares = f"{100 * self.left_out_share:.3g}% of its tasks and {100 * self.left_out_work:.3g}% of its work"
        return f"without {shares}, which fit nowhere" if self.much_left_out else ""

    @property
    def in_titles(self) -> str:
        """Named partitions and large shares left out, behind a name."""
        plural = "" if len(self.partitions) == 1 else "s"
        of = f", partition{plural} {listed(self.partitions)}" if self.partitions else ""
        return f"{of} {self.without}" if self.without else of

    @property
    def caveats(self) -> list[str]:
        """Lines for every result, on servers and omissions."""
        lines = [self.remark or "", *self.notes, *left_out_lines(self.left_out), self.without]
        return [line for line in lines if line]
