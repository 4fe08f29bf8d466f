"""Readers of request tables: CSV, JSON lines, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.extend import InputError, counted, read_text, reading
from packenv_llm.requests import Requests

ARRIVALS = {"arrival_s": 1.0, "timestamp": 1e-3, "TIMESTAMP": 1.0, "Timestamp": 1.0}
"""Columns of arrivals and the seconds of their unit. `timestamp` is Mooncake's, in milliseconds."""

PROMPTS = ("prompt_tokens", "ContextTokens", "input_length", "Request tokens", "prompt_tokens_count", "prompt_len", "input_len")
OUTPUTS = ("output_tokens", "GeneratedTokens", "output_length", "Response tokens", "output_tokens_count", "output_len")
"""Ours, Azure's, Mooncake's, BurstGPT's, GuideLLM's, vLLM's (two)."""

LIMITS, PRIORITIES = ("limit", "max_tokens"), ("priority",)


def read_requests(path: Path) -> Requests:
    """Read requests. Count rows without lengths on standard error.

    These rows are left out. Without arrivals, one request comes each second. Raises InputError, with the file and the row.
    """
    table = columns_of(path)
    prompt, output = (_numbers(path, table, names) for names in (PROMPTS, OUTPUTS))
    for column, names in ((prompt, PROMPTS), (output, OUTPUTS)):
        if column is None:
            texts = "; texts without numbers of tokens are not read" if "prompt" in table else ""
            raise InputError(f"{path}: no column {names[0]} (or {', '.join(names[1:])}){texts}")
    assert prompt is not None and output is not None
    arrival = _arrivals(path, table, len(prompt))
    kept = (prompt > 0) & (output > 0)
    if not kept.all():
        print(f"packenv: {path}: left out {counted(int((~kept).sum()), 'request')} without prompt or output", file=sys.stderr)
    if "hash_ids" in table:
        print(f"packenv: {path}: prefixes are not shared, so this is a heavier load than with a prefix cache", file=sys.stderr)
    limit, priority = (_numbers(path, table, names) for names in (LIMITS, PRIORITIES))
    return Requests(
        arrival[kept] - arrival[kept][0] if kept.any() else arrival[kept],
        prompt[kept].astype(np.int64),
        output[kept].astype(np.int64),
        None if limit is None else limit[kept].astype(np.int64),
        priority=None if priority is None else priority[kept],
        name=path.name,
    )


def columns_of(path: Path, needed: Sequence[str] = ()) -> dict[str, Any]:
    """Read a table's columns. Raises InputError without the `needed` ones."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        try:
            frame = parquet.read_table(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {str(error).splitlines()[0]}") from None
        table: dict[str, Any] = {name: frame[name].to_numpy() for name in frame.column_names}
    else:
        with reading(str(path)):
            text = read_text(path)
        table = _of_csv(path, text) if path.suffix == ".csv" else _of_json(path, text)
    if missing := [name for name in needed if name not in table]:
        raise InputError(f"{path}: no column {', '.join(missing)}; its columns: {', '.join(table)}")
    return table


def _of_csv(path: Path, text: str) -> dict[str, Any]:
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    head = next(rows, None)
    if head is None:
        raise InputError(f"{path}: the file is empty")
    if len(set(head)) < len(head):
        raise InputError(f"{path}: two columns have one name")
    body = []
    for number, row in enumerate(rows, 2):
        if row and len(row) != len(head):
            raise InputError(f"{path}: line {number}: {len(row)} values for {len(head)} columns")
        if row:
            body.append(row)
    return {name: [row[k] for row in body] for k, name in enumerate(head)}


def _of_json(path: Path, text: str) -> dict[str, Any]:
    """Read JSON lines, or one JSON list of objects."""
    if text.lstrip()[:1] == "[":
        records = _loaded(path, "", text)
    else:
        lines = enumerate(text.splitlines(), 1)
        records = [_loaded(path, f"line {number}: ", line) for number, line in lines if line.strip()]
    if not all(isinstance(record, dict) for record in records):
        raise InputError(f'{path}: every line must be an object, such as {{"prompt_tokens": 100, "output_tokens": 20}}')
    names = dict.fromkeys(key for record in records for key in record)
    return {name: [record.get(name) for record in records] for name in names}


def _loaded(path: Path, where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {where}not JSON: {str(error).splitlines()[0]}") from None


def _numbers(path: Path, table: dict[str, Any], names: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the first existing column as numbers, or None."""
    name = next((name for name in names if name in table), None)
    if name is None:
        return None
    return _as_numbers(path, name, table[name])


def _as_numbers(path: Path, name: str, column: Any) -> NDArray[np.float64]:
    try:
        values = np.asarray(column, np.float64)
        if np.isfinite(values).all() and (abs(values) < 2**53).all():
            return values
    except (TypeError, ValueError, OverflowError):
        pass
    for row, value in enumerate(column, 1):
        try:
            if abs(float(value)) < 2**53:
                continue
        except (TypeError, ValueError, OverflowError):
            pass
        raise InputError(f"{path}: row {row}: {name} {str(value)[:40]!r} is no number up to 2^53")
    raise InputError(f"{path}: {name} holds no numbers")


def _arrivals(path: Path, table: dict[str, Any], n: int) -> NDArray[np.float64]:
    name = next((name for name in ARRIVALS if name in table), None)
    if name is None:
        return np.arange(n, dtype=np.float64)
    column = table[name]
    if len(column) and isinstance(column[0], str) and ("-" in column[0][1:] or ":" in column[0]):
        try:
            times = np.array([np.datetime64(text.strip().replace(" ", "T").rstrip("Z"), "ns") for text in column])
        except ValueError as error:
            raise InputError(f"{path}: {name}: {error}") from None
        seconds: NDArray[np.float64] = (times - times[0]).astype(np.int64) / 1e9
    else:
        seconds = _as_numbers(path, name, column) * ARRIVALS[name]
    if (np.diff(seconds) < 0).any():
        row = int((np.diff(seconds) < 0).argmax()) + 2
        raise InputError(f"{path}: row {row} arrives before the one above it: sort the table by {name}")
    return seconds
