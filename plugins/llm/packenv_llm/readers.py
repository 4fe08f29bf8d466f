"""Readers of request tables: CSV, JSON lines, JSON and Parquet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.extend import Columns, InputError, counted, parse_json, read_text, reading
from packenv_llm.requests import Requests

ARRIVALS = {"arrival_s": 1.0, "timestamp": 1e-3, "TIMESTAMP": 1.0, "Timestamp": 1.0}
"""Columns of arrivals and the seconds of their unit. `timestamp` is Mooncake's, in milliseconds."""

PROMPTS = ("prompt_tokens", "ContextTokens", "input_length", "Request tokens", "prompt_tokens_count", "prompt_len", "input_len")
OUTPUTS = ("output_tokens", "GeneratedTokens", "output_length", "Response tokens", "output_tokens_count", "output_len")
"""Ours, Azure's, Mooncake's, BurstGPT's, GuideLLM's, vLLM's (two)."""

LIMITS = ("limit", "max_tokens")
KNOWN = {*ARRIVALS, *PROMPTS, *OUTPUTS, *LIMITS, "priority"}


def read_requests(path: Path) -> Requests:
    """Read requests. Without arrivals, one request comes each second.

    Rows without lengths are left out, and counted on standard error. Raises InputError, with the file and the row.
    """
    columns = Columns.read(path) if path.suffix in (".csv", ".parquet") else _of_json(path)
    prompt, output, arrival = _lengths(columns, PROMPTS), _lengths(columns, OUTPUTS), _arrivals(columns)
    kept = (prompt > 0) & (output > 0)
    if not kept.all():
        print(f"packenv: {path}: left out {counted(int((~kept).sum()), 'request')} without prompt or output", file=sys.stderr)
    if "hash_ids" in columns:
        print(f"packenv: {path}: prefixes are not shared, so this is a heavier load than with a prefix cache", file=sys.stderr)
    limit = _lengths(columns, LIMITS)[kept] if any(name in columns for name in LIMITS) else None
    priority = columns.numbers("priority")[kept] if "priority" in columns else None
    begin = arrival[kept][:1].sum()
    return Requests(arrival[kept] - begin, prompt[kept], output[kept], limit, priority=priority, name=path.name)


def _lengths(columns: Columns, names: tuple[str, ...]) -> NDArray[np.int64]:
    for name in names:
        if name in columns:
            return columns.whole(name)
    texts = "; texts without numbers of tokens are not read" if "prompt" in columns else ""
    raise InputError(f"{columns.path}: no column {names[0]} (or {', '.join(names[1:])}){texts}")


def _arrivals(columns: Columns) -> NDArray[np.float64]:
    name = next((name for name in ARRIVALS if name in columns), None)
    if name is None:
        return np.arange(len(columns), dtype=np.float64)
    dates = columns.instants(name)
    seconds = columns.numbers(name) * ARRIVALS[name] if dates is None else (dates[0] - dates[0][:1]) / 1e6
    late = np.diff(seconds) < 0
    if late.any():
        row = int(late.argmax()) + 2
        raise InputError(f"{columns.path}: row {row} arrives before the one above it: sort the table by {name}")
    return seconds


def _of_json(path: Path) -> Columns:
    """Read JSON lines, or one JSON list of objects."""
    import pyarrow as pa

    with reading(path, pa.ArrowException):
        text = read_text(path)
        if text.lstrip()[:1] == "[":
            records = _parsed(str(path), text)
        else:
            records = [_parsed(f"{path}: line {n}", line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        if not records or not all(isinstance(record, dict) for record in records):
            raise InputError(f'{path}: every line must be an object, such as {{"prompt_tokens": 100, "output_tokens": 20}}')
        names = dict.fromkeys(key for record in records for key in record)
        return Columns(
            path, pa.table({name: [record.get(name) if name in KNOWN else None for record in records] for name in names})
        )


def _parsed(place: str, text: str) -> Any:
    try:
        return parse_json(text)
    except InputError as problem:
        raise InputError(f"{place}: {problem}") from None
