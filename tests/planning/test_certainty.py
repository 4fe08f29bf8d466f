"""Draws of a trace's blocks of time, and the least numbers for them."""

from __future__ import annotations

import numpy as np

from packenv import Jobs, Workload
from packenv.planning.goals import parse_goal
from packenv.planning.search import Search
from packenv.planning.what_if import block_slots, certainty, redraw_blocks
from tests.planning.test_plans import ask


def test_blocks_are_drawn_whole() -> None:
    """Blocks of 10 slots hold sizes 0.1, 0.2 and 0.3; the last task of job 7 arrives in the next block, and goes with its job."""
    jobs = Jobs.of([5, 8, 16, 17, 33], [0.1, 0.1, 0.1, 0.2, 0.3], [1] * 5, job=np.array([1, 7, 7, 2, 3]))
    block_of = {0.1: (0, [0, 3, 11]), 0.2: (1, [2]), 0.3: (2, [8])}
    seen = set()
    for seed in range(20):
        drawn = redraw_blocks(jobs, 10, seed)
        sizes = np.round(drawn.demand[:, 0] / 3 / 2**20, 1)
        offsets = [offset for _, own in block_of.values() for offset in own]
        assert all(int(arrival) % 10 in {offset % 10 for offset in offsets} for arrival in drawn.arrival)
        assert (sizes == 0.1).sum() % 3 == 0 and len(drawn) >= 1
        assert drawn.job is not None and len(np.unique(drawn.job)) == len(drawn) - (sizes == 0.1).sum() // 3
        seen.add(tuple(sizes.tolist()))
    assert len(seen) > 5
    assert (redraw_blocks(jobs, 10, 3).arrival == redraw_blocks(jobs, 10, 3).arrival).all()


def test_days_where_there_are_enough() -> None:
    jobs = Jobs.of([0, 10 * 86_400], [0.5, 0.5], [1, 1])
    assert block_slots(Workload(jobs=jobs, servers=1, slot_seconds=1.0)) == 86_400
    assert block_slots(Workload(jobs=jobs, servers=1, slot_seconds=0.1)) == -(-(10 * 86_400 + 1) // 16)


def test_numbers_of_draws() -> None:
    """Half of the blocks hold one whole-server task, half hold three: draws need 1 or 3 servers, nearly always 3."""
    arrival = [slot for block in range(16) for slot in [100 * block] * (1 if block % 2 else 3)]
    jobs = Jobs.of([*arrival, 1599], [1.0] * (len(arrival) + 1), [10] * len(arrival) + [1])
    search = Search(Workload(jobs=jobs, servers=1), "bf-js", [parse_goal("mean wait <= 0", None)], 1, None, {"drain": True})
    found = certainty(search, 3, 6, ask)
    assert found.least == (3,) * 6 and found.interval(0.8) == (3, 3)
    assert found.block == 100
