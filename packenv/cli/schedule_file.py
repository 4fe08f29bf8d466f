"""The Parquet file that `--schedule` writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from packenv.files import atomic_path
from packenv.results.result import Result


def write_schedule(path: str, results: list[Result]) -> None:
    """Columns job (row), start (slot), server, null where a task never started; policy and seed if there are several."""
    import pyarrow as pa
    import pyarrow.parquet

    tables = []
    for result in results:
        assert result.schedule is not None
        start, server, _ = result.schedule
        never = start < 0
        columns: dict[str, Any] = {
            "job": np.arange(len(start)),
            "start": pa.array(start, mask=never),
            "server": pa.array(server, mask=never),
        }
        if len(results) > 1:
            columns["policy"] = pa.array([result.policy] * len(start)).dictionary_encode()
            columns["seed"] = np.full(len(start), result.seed)
        tables.append(pa.table(columns))
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(pa.concat_tables(tables), temporary)
