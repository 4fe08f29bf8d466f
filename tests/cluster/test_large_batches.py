"""Clusters so large that whole batches are sorted at once: the orders are as if each entry had moved alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import packenv
from packenv.cluster.build import build
from packenv.cluster.fields import allocate
from packenv.cluster.loop import runner_for
from packenv.cluster.servers import refresh
from packenv.cluster.sorted_keys import LARGE, WIDTH, SortedKeys, Sorting, sort_by_high_half, sorting_sizes
from packenv.cluster.state import NONE, TASK, Cluster
from packenv.compiled.decorators import compiled
from packenv.policy import find_policy, initial_state_of, needs_of
from packenv.simulation import setting_of
from packenv.workloads.laws import Exponential, Geometric


@compiled
def bring_up_to_date(c: Cluster) -> None:
    refresh(c)


@compiled
def sort_words(s: Any, n: int) -> None:
    sort_by_high_half(s, 0, n)


def contents(s: SortedKeys) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """All keys and items in the order of the list."""
    blocks = s.block[0][s.block["count"][0] > 0]
    used = np.arange(WIDTH) < blocks["count"][:, None]
    return s.keys[0, blocks["storage"]][used], s.items[0, blocks["storage"]][used]


@pytest.mark.parametrize("bits", [1, 21, 23, 31])
def test_words_are_sorted_by_their_high_half_and_equal_ones_keep_their_order(bits: int) -> None:
    high = np.random.default_rng(bits).integers(0, 2**bits, 3000)
    scratch = allocate(Sorting, sorting_sizes(1, 3000))
    scratch.words[0] = (high << 32) | np.arange(3000)
    expected = scratch.words[0][np.argsort(high, kind="stable")]
    sort_words(scratch, 3000)
    assert (scratch.words[0] == expected).all()


@pytest.mark.parametrize("intensity", [0.9, 1.1])
@pytest.mark.parametrize("capacity", [1, 2])
def test_orders_after_every_slot(intensity: float, capacity: int) -> None:
    servers = 1500
    workload = packenv.Workload(
        sizes=Exponential(0.05), service=Geometric(10), servers=np.full(servers, float(capacity)), intensity=intensity
    )
    policy, setting = find_policy("bf-js"), setting_of(workload)
    c = build(workload.source([1]), setting.capacity, needs_of(policy, setting), places=200_000)
    run = runner_for(policy)
    batches = 0
    for _ in range(60):
        run(policy, c, initial_state_of(policy, setting, 0), 1000, 1)
        bring_up_to_date(c)
        batches += int(c.head["fresh"][0] > LARGE) + int(c.head["freed"][0] > LARGE)

        keys, items = contents(c.rooms)
        assert (keys == np.sort((c.server["room"][0].astype(np.int64) << 32) | np.arange(servers))).all()
        assert (items == (keys & 0xFFFFFFFF)).all()

        tasks = c.task[0]
        waiting = np.flatnonzero((tasks["kind"] == TASK) & (tasks["server"] == NONE))
        expected = (tasks["size"][waiting] << 32) | (0xFFFFFFFF - tasks["row"][waiting])
        keys, items = contents(c.sizes)
        assert (keys == np.sort(expected)).all()
        assert (items == waiting[np.argsort(expected)]).all()
    assert batches > 60  # both kinds of batch were large
    assert (len(waiting) > 1000) == (intensity > 1)
