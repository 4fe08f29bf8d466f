"""Published claims, repeated."""

from __future__ import annotations

from collections.abc import Callable

from packenv.content.showable import Answer
from packenv.errors import InputError, nearest

STUDIES: dict[str, Callable[[int, str | None], Answer]] = {}


def reproduce(name: str | None, seeds: int, traces: str | None) -> Answer:
    if name not in STUDIES:
        raise InputError(f"unknown study {name!r}{nearest(name or '', ['vllm-44594'])}")
    return STUDIES[name](seeds, traces)
