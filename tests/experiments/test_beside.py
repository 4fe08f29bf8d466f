"""What studies of whole jobs say of packing alone and of the lower bound: on numbers by hand; and that each has them."""

from __future__ import annotations

import numpy as np
import pytest

import packenv
from experiments.comparators import BESIDE, PACKING, completion_bounds, note_on_bound, note_on_packing
from experiments.delay import runs as delay
from experiments.price import runs as price
from experiments.tetris import runs as tetris
from packenv import Jobs, Workload


@pytest.mark.parametrize(
    ("makespans", "said"),
    [
        (
            {"price": [20.0, 22.0], PACKING: [10.0, 11.0], "fifo": [30.0, 33.0]},
            "s: packing alone (tetris:m=0,f=0) has the shortest makespan, 10.5 slots; price 21.0, 2 [2, 2] times as long; "
            "fifo 31.5, 3 [3, 3] times as long",
        ),
        (
            {"price": [20.0, 22.0], PACKING: [40.0, 44.0], "fifo": [10.0, 11.0]},
            "s: fifo has the shortest makespan, 10.5 slots; packing alone (tetris:m=0,f=0) 42.0, 4 [4, 4] times as long; "
            "price 21.0, 2 [2, 2] times as long",
        ),
        (
            {"price": [10.0, 11.0], PACKING: [40.0, 44.0]},
            "s: price has the shortest makespan, 10.5 slots; packing alone (tetris:m=0,f=0) 42.0, 4 [4, 4] times as long",
        ),
        ({"price": [7.0], PACKING: [7.0]}, "s: makespan: every policy takes 7 slots, packing alone too"),
    ],
    ids=["packing alone", "another", "the paper's", "nothing binds"],
)
def test_packing_alone(makespans: dict[str, list[float | None]], said: str) -> None:
    assert note_on_packing("s", makespans, "price", "slots") == said


def test_the_bound() -> None:
    found = note_on_bound("s", {"price": [20.0, 40.0], PACKING: [30.0, 60.0], "fifo": [80.0, 80.0]}, [10.0, 20.0], "slots")
    least = "s: no mean completion time is below 15 slots, even if all is known beforehand; price 30.0, 2 [2, 2] times that; "
    assert found == least + "packing alone (tetris:m=0,f=0) 45.0, 3 [3, 3] times that"


def test_bounds_by_seed() -> None:
    """Jobs of 2 and 4 + seed slots, one after the other: ends 2 and 6 + seed."""
    setting = Workload(jobs=lambda seed: Jobs.of([0, 0], [1, 1], [4 + seed, 2], job=np.array([0, 1])), servers=1)
    assert completion_bounds(setting, 3) == [4, 4.5, 5]
    assert packenv.simulate(setting, "srpt", seed=2, drain=True).jobs.mean == 5


def test_every_study_has_them() -> None:
    for compared in (price.POLICIES, tetris.COMPARED, delay.COMPARED):
        assert set(BESIDE) <= set(compared) and len(set(compared)) == len(compared)
