"""How many random instances a test plays: a few in `make test`, many in `make test-minutes`."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(few: int, many: int) -> list[Any]:
    """Seeds 0 to `many` - 1, of which those from `few` on are for `make test-minutes`."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.minutes) for seed in range(few, many))]
