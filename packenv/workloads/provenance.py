"""`Provenance`: where a workload comes from. `Records` links its tasks to the rows of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from packenv.content.text import left_out_lines, listed

if TYPE_CHECKING:
    import pyarrow as pa

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


Ints = NDArray[np.int64]
NO_LABEL = "(none)"


@dataclass(frozen=True, eq=False)
class Records:
    """A table's rows in a file, their names there, and its clock."""

    rows: Ints | None
    """(n,) the row of each task in the file, from 1, as in messages; None if a task has several rows."""
    ids: Any
    """(rows of the file,) the number or name of each, as an array or an Arrow column; None without any."""
    began: datetime | int | None
    """Start of slot 0: a date, or µs from the origin of the file's numbers; None if the file has slots, or tasks come
    faster or slower than in it."""
    time_unit: str = "s"
    """Unit of the file's times, one of TIME_UNITS."""
    labels: Mapping[str, Any] = field(default_factory=dict)
    """Arrays or Arrow columns (rows of the file,) of names such as users, by lower-case name."""
    printable: Mapping[str, str] = field(default_factory=dict)
    """Advice on labels that the program of the file can print, by name."""
    stays_here: ClassVar = True  # schedules are written by the process that has read the file (packenv.executors.shared)

    def columns(self) -> dict[str, pa.Array]:
        """Return the columns `row` (n,) and, if the file has ids, `id`."""
        import pyarrow as pa

        if self.rows is None:
            return {}
        return {"row": pa.array(self.rows)} | ({} if self.ids is None else {"id": _as_written(self.ids, self.rows - 1)})

    def labelled(self, name: str) -> tuple[Ints, list[str]] | None:
        """Return the number of each task's label (n,) and all labels, or None."""
        import pyarrow as pa

        if self.rows is None or name not in self.labels:
            return None
        texts = _as_written(self.labels[name], self.rows - 1).cast(pa.string()).fill_null(NO_LABEL).dictionary_encode()
        return np.asarray(texts.indices, np.int64), texts.dictionary.to_pylist()

    def times(self, slots: Ints, unknown: NDArray[np.bool_], slot_seconds: float) -> pa.Array:
        """Return starts of slots (n,) by the file's clock, or null."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from packenv.workloads.traces.times import SECOND, TIME_UNITS

        slot = slot_seconds * SECOND
        since = np.rint(slots * slot).astype(np.int64)
        if isinstance(self.began, datetime):
            unit = "us" if self.began.microsecond or slot % SECOND else "s"
            dates = (np.datetime64(self.began.replace(tzinfo=None), "us") + since).astype(f"datetime64[{unit}]")
            column = pa.array(dates, mask=unknown)
            return column if self.began.tzinfo is None else pc.assume_timezone(column, "UTC")
        assert self.began is not None
        per = TIME_UNITS[self.time_unit]  # µs
        times = self.began + since
        whole = not self.began * per.denominator % per.numerator and not slot * per.denominator % per.numerator
        return pa.array(times * per.denominator // per.numerator if whole else times / float(per), mask=unknown)


def _as_written(ids: Any, rows: Ints) -> pa.Array:
    """Return cells in these rows, from 0, with whole numbers as such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = (pa.array(ids) if isinstance(ids, np.ndarray) else ids).take(pa.array(rows))
    names = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    names = names.dictionary_decode() if pa.types.is_dictionary(names.type) else names
    if not (pa.types.is_string(names.type) or pa.types.is_large_string(names.type)):
        return names
    text = pc.utf8_trim_whitespace(names)
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text)
    try:
        numbers = text.cast(pa.int64())
    except pa.ArrowInvalid:
        return text
    return numbers if numbers.cast(text.type).equals(text) else text  # 007 is a name
