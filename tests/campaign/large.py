"""Inputs that are small files and large contents: endless lines, tables beyond memory, JSON without end."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaign.failures import Failures
from tests.campaign.processes import problems, run

ROWS = 63_000_000
LINE = 10**10  # bytes of one line, 10 MB when compressed


def read_large(out: Path, size: float = 1.0) -> Counter[str]:
    """Read each of them, at `size` of its full size, with 1 GB for reading. Returns counts."""
    folder, failures, counts = out / "large", Failures(out / "large-failures"), Counter[str]()
    folder.mkdir(parents=True, exist_ok=True)
    lines = {name: f"trace describe {name}" for name in ("line.csv.gz", "line.swf.gz", "line.tr.gz", "line.tsv.gz")}
    for name in lines:
        _endless(folder / name, b"1 " if name != "line.csv.gz" else b"arrival", int(LINE * size))
    _endless(folder / "rows.csv.gz", b"0,0.5,1\n", int(LINE * size), head=b"arrival,size,service\n")
    _rows(folder / "rows.parquet", int(ROWS * size))
    (folder / "deep.json").write_text("[" * 10**5 + "]" * 10**5)
    (folder / "laws.json").write_text(json.dumps({"servers": [1] * int(5_000_000 * size), "sizes": 1}))
    tables = {name: f"trace describe {name}" for name in ("rows.csv.gz", "rows.parquet")}
    texts = {name: f"evaluate {name} -p bf-js" for name in ("deep.json", "laws.json")}
    for name, words in {**lines, **tables, **texts}.items():
        ended = run(words.split(), folder, 300)
        counts[f"status {ended.status}"] += 1
        for problem in [*problems(ended), *(["was read"] if ended.status == 0 and size == 1 else [])]:
            counts["failures"] += 1
            failures.add(f"{name}: {problem}", f"packenv {words}", ended.said[-3000:])
    return counts


def _endless(path: Path, piece: bytes, length: int, head: bytes = b"") -> None:
    block = piece * (2**20 // len(piece))
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(max(length // len(block), 1)):
            file.write(block)


def _rows(path: Path, rows: int) -> None:
    block = pa.table({"arrival": np.zeros(10**6, np.int64), "size": np.full(10**6, 0.5), "service": np.ones(10**6, np.int64)})
    with pq.ParquetWriter(path, block.schema) as file:
        for _ in range(max(rows // 10**6, 1)):
            file.write_table(block)
