"""Bounds on the queue as JSON files of plain numbers, so that anybody can check them with tools of their own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from packenv.errors import InputError
from packenv.files import write_json
from packenv.inputs.json_files import finite_number, read_json, whole_number
from packenv.theory.queue_bound.bound import Proved, QueueBound, QueueProof
from packenv.theory.queue_bound.counted import Counted
from packenv.theory.queue_bound.pooled import Pooled
from packenv.theory.queue_bound.prices import Prices

MOST_DIGITS = 70  # of the whole numbers in a proof


def save_queue_bound(bound: QueueBound, path: str | Path) -> None:
    """Write the bound and its proof as JSON; the file appears whole or not at all."""
    write_json(path, asdict(bound))


def load_queue_bound(path: str | Path) -> QueueBound:
    """Read what `save_queue_bound` wrote, without checking the proof: `QueueBound.verify` does that.

    Raises InputError for any other file.
    """
    try:
        plain: dict[str, Any] = read_json(path, digits=MOST_DIGITS)
        proved = tuple(Proved(finite_number(one["value"]), _proof(one["proof"])) for one in plain["proved"])
        return QueueBound(proved, finite_number(plain["seconds"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise InputError(f"{path}: not a bound on the queue: {str(problem).removeprefix(f'{path}: ')}") from None


def _proof(plain: dict[str, Any]) -> QueueProof:
    said = plain["prices"]
    prices = Prices(_integers(said["thresholds"]), _integers(said["prices"]), _integers(said["weights"]))
    if "values" not in plain:
        return Pooled(prices)
    return Counted(prices, _integers(plain["values"]), *(whole_number(plain[key]) for key in ("slope", "bend", "parts")))


def _integers(values: list[Any]) -> tuple[int, ...]:
    return tuple(map(whole_number, values))
