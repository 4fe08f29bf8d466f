"""Parquet files whose columns have other types than they should: damage of bytes alone never makes these."""

from __future__ import annotations

import datetime
import decimal
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

VALUES: list[tuple[pa.DataType, Any]] = [
    (pa.int64(), 2**62), (pa.int64(), -1), (pa.uint64(), 2**64 - 1), (pa.int8(), 3), (pa.float32(), 0.1), (pa.float16(), 1.0),
    (pa.float64(), float("nan")), (pa.float64(), float("inf")), (pa.float64(), 1e300), (pa.float64(), -0.0), (pa.bool_(), True),
    (pa.null(), None), (pa.string(), "1_0"), (pa.string(), "+0"), (pa.string(), "٣"), (pa.string(), "9" * 400), (pa.string(), ""),
    (pa.large_string(), "0.5"), (pa.binary(), b"\xff"), (pa.large_binary(), b"1"), (pa.binary(2), b"ab"), (pa.date32(), 1),
    (pa.timestamp("us"), datetime.datetime(2020, 1, 1)), (pa.time64("us"), 1), (pa.duration("s"), 5),
    (pa.decimal128(38, 2), decimal.Decimal("1.25")), (pa.decimal256(70, 2), decimal.Decimal(10**60)),
    (pa.struct([("a", pa.int64())]), {"a": 1}), (pa.list_(pa.int64()), [0]), (pa.list_(pa.float64()), [0.5, None]),
    (pa.list_(pa.string()), ["0", None, "x"]), (pa.list_(pa.list_(pa.int64())), [[0]]),
    (pa.list_(pa.struct([("a", pa.int8())])), [{"a": 1}]),
    (pa.large_list(pa.int32()), [1]), (pa.list_(pa.int64(), 2), [0, 1]), (pa.map_(pa.string(), pa.int64()), [("a", 1)]),
    (pa.dictionary(pa.int8(), pa.string()), "0.5"), (pa.dictionary(pa.int32(), pa.float64()), 0.5),
]  # fmt: skip


def odd_table(source: Path, chance: random.Random, path: Path) -> None:
    """Write the table at `source` to `path` with columns of other types, without some, under other names, or without rows."""
    table = pq.read_table(source)
    for _ in range(chance.choice((1, 1, 2, 3))):
        n = chance.randrange(table.num_columns)
        name = table.column_names[n]
        change = chance.random()
        if change < 0.7:
            type_, value = chance.choice(VALUES)
            rows = [None if chance.random() < 0.2 else value for _ in range(table.num_rows)]
            table = table.set_column(n, name, pa.array(rows, type_))
        elif change < 0.8 and table.num_columns > 1:
            table = table.remove_column(n)
        elif change < 0.9:
            table = table.append_column(chance.choice(("", "priority", "id", "phase", "job", "home", "size", name)), table[n])
        else:
            table = table.slice(0, chance.choice((0, 1)))
    pq.write_table(table, path)
