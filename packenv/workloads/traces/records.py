"""Link from tasks to a file: rows, ids and clock.

It joins a schedule to a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from packenv.workloads.traces.times import SECOND, TIME_UNITS

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
    stays_here: ClassVar = True  # schedules are written by the process that has read the file (packenv.executors.shared)

    def columns(self) -> dict[str, pa.Array]:
        """Return the columns `row` (n,) and, if the file has ids, `id`."""
        if self.rows is None:
            return {}
        return {"row": pa.array(self.rows)} | ({} if self.ids is None else {"id": _as_written(self.ids, self.rows - 1)})

    def labelled(self, name: str) -> tuple[Ints, list[str]] | None:
        """Return the number of each task's label (n,) and all labels, or None."""
        if self.rows is None or name not in self.labels:
            return None
        texts = _as_written(self.labels[name], self.rows - 1).cast(pa.string()).fill_null(NO_LABEL).dictionary_encode()
        return np.asarray(texts.indices, np.int64), texts.dictionary.to_pylist()

    def times(self, slots: Ints, unknown: NDArray[np.bool_], slot_seconds: float) -> pa.Array:
        """Return starts of slots (n,) by the file's clock, or null."""
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
