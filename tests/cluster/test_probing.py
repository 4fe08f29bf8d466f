"""Sparrow, Hawk, Eagle, LWL and Yaq: fast = reference, limits that are exact, and bad input."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.cluster.test_against_reference import compare
from tests.reference.probing_instances import probing_instance, probing_options

NAMES = ("sparrow", "hawk", "eagle", "lwl", "yaq")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(100))
def test_fast_is_reference(name: str, seed: int) -> None:
    rng = random.Random(f"{name}{seed}")
    for _ in range(3):
        instance = probing_instance(rng, resources=rng.choice([1, 1, 2, 3]))
        options = probing_options(rng, name, len(instance.capacities))
        compare(instance, name, options, seed)
