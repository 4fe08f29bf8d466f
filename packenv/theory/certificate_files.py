"""Certificates as JSON: plain numbers, so that anybody can check them with tools of their own."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from packenv.errors import InputError
from packenv.files import write_json
from packenv.theory.bracket import Bracket
from packenv.theory.certificate import Attained, Bounded, Configuration


def save_certificate(bracket: Bracket, path: str | Path) -> None:
    """Write both ends and their proofs; the file appears whole or not at all."""
    write_json(path, asdict(bracket))


def load_certificate(path: str | Path) -> Bracket:
    """What `save_certificate` wrote. Raises InputError for anything else; `Bracket.verify` says whether it proves anything."""
    try:
        plain: dict[str, Any] = json.loads(Path(path).read_text())
        attained, bounded = plain.pop("attained"), plain.pop("bounded")
        configurations = tuple(
            Configuration(int(one["kind"]), tuple((int(j), int(n)) for j, n in one["held"]), int(one["servers"]))
            for one in attained["configurations"]
        )
        low = Attained(tuple(map(int, attained["edges"])), configurations, int(attained["parts"]))
        points, prices = (tuple(map(int, bounded[key])) for key in ("points", "prices"))
        high = Bounded(points, prices, tuple(map(bool, bounded["split"])))
        history = tuple((float(a), float(b)) for a, b in plain.pop("history"))
        ends = {key: float(plain[key]) for key in ("lower", "upper", "area_bound", "seconds")}
        return Bracket(attained=low, bounded=high, reached=bool(plain["reached"]), history=history, **ends)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"{path}: not a certificate: {problem}") from None
