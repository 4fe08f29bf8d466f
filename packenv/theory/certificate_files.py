"""Certificates of bounds, as plain JSON files."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from packenv.errors import InputError
from packenv.files import write_json
from packenv.inputs.json_files import finite_number, read_json, whole_number
from packenv.theory.capacity.bracket import AttainedProof, BoundedProof, Bracket, place_of
from packenv.theory.capacity.one_resource.certificate import Attained, Bounded, Refuted, ServerConfiguration
from packenv.theory.capacity.several_resources.certificate import Boxes, Priced, Scalarised
from packenv.theory.queue_bound.bound import Counted, Pooled, Proved, QueueBound, QueueProof
from packenv.theory.queue_bound.prices import Prices
from packenv.workloads.workload import Workload

MOST_LETTERS = 200  # of a line on whose proof it is
MOST_DIGITS = 100  # of the whole numbers in a proof


def save_certificate(bracket: Bracket, path: str | Path) -> None:
    """Write bounds, proofs and workload name as JSON, atomically."""
    whose = bracket.proved_for if bracket.workload is None else place_of(bracket.workload)
    write_json(path, plain_of(bracket) | {PROVED_FOR: whose})


def plain_of(bracket: Bracket) -> dict[str, Any]:
    """Return both bounds and their proofs in JSON's types."""
    plain = asdict(replace(bracket, workload=None))
    for key in ("workload", PROVED_FOR):
        del plain[key]
    return plain


def load_certificate(path: str | Path) -> Bracket:
    """Read a certificate, unchecked (see `Bracket.verify`). Raises InputError for other files."""
    try:
        plain = _with_key("attained", read_json(path, digits=MOST_DIGITS))
        low, high = _attained(plain.pop("attained")), _bounded(plain.pop("bounded"))
        history = tuple((finite_number(a), finite_number(b)) for a, b in plain.pop("history"))
        ends: dict[str, Any] = {key: finite_number(plain[key]) for key in ("lower", "upper", "area_bound", "seconds")}
        ends[PROVED_FOR] = _whose(plain)
        return Bracket(attained=low, bounded=high, reached=_boolean(plain["reached"]), history=history, **ends)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise InputError(f"{path}: not a certificate: {_what(problem, path)}") from None


def check_certificate(path: str | Path, proof: Bracket | QueueBound, workload: Workload) -> None:
    """Check a certificate from `path`. Raises InputError."""
    try:
        proof.verify(workload)
    except Refuted as refuted:
        of_queue = isinstance(proof, QueueBound)
        where, whose = place_of(workload, of_queue), proof.proved_for
        if whose == where:
            raise InputError(f"{path}: its proof for {where} is wrong: {refuted}") from None
        others = "for another workload, intensity or other servers" if of_queue else "for another workload or other servers"
        reason = f"it may be {others}" if whose is None else f"it is for {whose}"
        raise InputError(f"{path}: not proved for {where}; {reason} ({refuted})") from None


PROVED_FOR = "proved_for"
"""Key of what a file says that its proof is of (`place_of`); files of earlier versions do not say it."""


def _whose(plain: dict[str, Any]) -> str | None:
    text = plain.get(PROVED_FOR)
    if text is not None and not (isinstance(text, str) and text.isprintable() and len(text) <= MOST_LETTERS):
        raise ValueError(f"{PROVED_FOR} is not a line of text")
    return text


WRITTEN_BY = {
    "attained": "of bounds on ρ*, which `packenv capacity --check` reads",
    "proved": "of a bound on the queue, which `packenv bound --check` reads",
}
"""The proofs in files, by a key that only they have."""


def _with_key(key: str, plain: Any) -> dict[str, Any]:
    """Return the object with this key, or raise InputError."""
    if not isinstance(plain, dict):
        raise InputError("no object with names")
    if "workload" in plain:
        raise InputError("it has the numbers that --json writes; --certificate writes their proof")
    for other, description in WRITTEN_BY.items():
        if key not in plain and other in plain:
            raise InputError(f"it has the proof {description}")
    return plain


def _what(problem: Exception, path: str | Path) -> str:
    return f"no {problem}" if isinstance(problem, KeyError) else str(problem).removeprefix(f"{path}: ")


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
    """Write the bound and its proof as JSON, atomically."""
    write_json(path, asdict(bound))


def load_queue_bound(path: str | Path) -> QueueBound:
    """Read a certificate, unchecked (see `QueueBound.verify`). Raises InputError for other files."""
    try:
        plain = _with_key("proved", read_json(path, digits=QUEUE_DIGITS))
        proved = tuple(Proved(finite_number(proof["value"]), _proof(proof["proof"])) for proof in plain["proved"])
        return QueueBound(proved, finite_number(plain["seconds"]), _whose(plain))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise InputError(f"{path}: not a bound on the queue: {_what(problem, path)}") from None


def _proof(plain: dict[str, Any]) -> QueueProof:
    plain_prices = plain["prices"]
    prices = Prices(_integers(plain_prices["thresholds"]), _integers(plain_prices["prices"]), _integers(plain_prices["weights"]))
    if "values" not in plain:
        return Pooled(prices)
    return Counted(prices, _integers(plain["values"]), *(whole_number(plain[key]) for key in ("slope", "bend", "parts")))
