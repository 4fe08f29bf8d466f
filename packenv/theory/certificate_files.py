"""Certificates of bounds on ρ* and on the queue: JSON files of plain numbers, which anybody can check with tools of their own."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from packenv.errors import InputError
from packenv.files import write_json
from packenv.inputs.json_files import finite_number, read_json, whole_number
from packenv.theory.capacity.bracket import AttainedProof, BoundedProof, Bracket
from packenv.theory.capacity.one_resource.certificate import Attained, Bounded, ServerConfiguration
from packenv.theory.capacity.several_resources.certificate import Boxes, Priced, Scalarised
from packenv.theory.queue_bound.bound import Proved, QueueBound, QueueProof
from packenv.theory.queue_bound.counted import Counted
from packenv.theory.queue_bound.pooled import Pooled
from packenv.theory.queue_bound.prices import Prices

MOST_DIGITS = 100  # of the whole numbers in a proof


def save_certificate(bracket: Bracket, path: str | Path) -> None:
    """Write both bounds and their proofs as JSON; the file appears whole or not at all."""
    write_json(path, plain_of(bracket))


def plain_of(bracket: Bracket) -> dict[str, Any]:
    """Both bounds and their proofs in JSON's types, without the workload."""
    plain = asdict(replace(bracket, workload=None))
    del plain["workload"]
    return plain


def load_certificate(path: str | Path) -> Bracket:
    """Read what `save_certificate` wrote, without checking the proofs: `Bracket.verify` does that.

    Raises InputError for any other file.
    """
    try:
        plain: dict[str, Any] = read_json(path, digits=MOST_DIGITS)
        low, high = _attained(plain.pop("attained")), _bounded(plain.pop("bounded"))
        history = tuple((finite_number(a), finite_number(b)) for a, b in plain.pop("history"))
        ends: dict[str, Any] = {key: finite_number(plain[key]) for key in ("lower", "upper", "area_bound", "seconds")}
        return Bracket(attained=low, bounded=high, reached=_boolean(plain["reached"]), history=history, **ends)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise InputError(f"{path}: not a certificate: {str(problem).removeprefix(f'{path}: ')}") from None


def _attained(plain: dict[str, Any]) -> AttainedProof:
    configurations = tuple(
        ServerConfiguration(
            whole_number(configuration["kind"]),
            tuple((whole_number(j), whole_number(n)) for j, n in configuration["held"]),
            whole_number(configuration["servers"]),
        )
        for configuration in plain["configurations"]
    )
    if "boxes" in plain:
        return Boxes(_vectors(plain["boxes"]), configurations, whole_number(plain["parts"]))
    return Attained(_integers(plain["edges"]), configurations, whole_number(plain["parts"]))


def _bounded(plain: dict[str, Any]) -> BoundedProof:
    if "weights" in plain:
        return Scalarised(_integers(plain["weights"]), _one_resource(plain["bounded"]))
    if "vectors" in plain:
        return Priced(_vectors(plain["vectors"]), _integers(plain["prices"]))
    return _one_resource(plain)


def _one_resource(plain: dict[str, Any]) -> Bounded:
    return Bounded(_integers(plain["points"]), _integers(plain["prices"]), tuple(map(_boolean, plain["split"])))


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _integers(values: Any) -> tuple[int, ...]:
    return tuple(map(whole_number, values))


def _vectors(values: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(map(_integers, values))


QUEUE_DIGITS = 70  # of the whole numbers in a proof


def save_queue_bound(bound: QueueBound, path: str | Path) -> None:
    """Write the bound and its proof as JSON; the file appears whole or not at all."""
    write_json(path, asdict(bound))


def load_queue_bound(path: str | Path) -> QueueBound:
    """Read what `save_queue_bound` wrote, without checking the proof: `QueueBound.verify` does that.

    Raises InputError for any other file.
    """
    try:
        plain: dict[str, Any] = read_json(path, digits=QUEUE_DIGITS)
        proved = tuple(Proved(finite_number(proof["value"]), _proof(proof["proof"])) for proof in plain["proved"])
        return QueueBound(proved, finite_number(plain["seconds"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise InputError(f"{path}: not a bound on the queue: {str(problem).removeprefix(f'{path}: ')}") from None


def _proof(plain: dict[str, Any]) -> QueueProof:
    plain_prices = plain["prices"]
    prices = Prices(_integers(plain_prices["thresholds"]), _integers(plain_prices["prices"]), _integers(plain_prices["weights"]))
    if "values" not in plain:
        return Pooled(prices)
    return Counted(prices, _integers(plain["values"]), *(whole_number(plain[key]) for key in ("slope", "bend", "parts")))
