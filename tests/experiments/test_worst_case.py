"""Locked configurations, the program that finds the mix they starve, and the search."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import packenv
from experiments.worst_case import Instance, WorstCaseSearch, locked, main, worst_case, worst_lock
from packenv.errors import InputError
from packenv.results.stability import UNSTABLE, Verdict
from packenv.theory.stability.judge import RunOutcome
from packenv.workloads.laws import Fixed, Geometric


def is_locked(sizes: tuple[int, ...], capacity: int, counts: tuple[int, ...]) -> bool:
    """Word for word: refill every hole with the largest size that fits, as long as all sizes wait."""
    left = capacity - sum(size * count for size, count in zip(sizes, counts, strict=True))
    if left < 0 or sum(counts) == 0 or any(size <= left for size in sizes):
        return False
    return all(
        max(other for other in sizes if other <= left + size) == size for size, count in zip(sizes, counts, strict=True) if count
    )


@pytest.mark.parametrize("sizes, capacity", [((5, 2), 10), ((34, 20, 15), 64), ((7, 5, 3), 11), ((10,), 10), ((9, 4), 8)])
def test_locked_configurations(sizes: tuple[int, ...], capacity: int) -> None:
    expected = {k for k in product(*(range(capacity // size + 1) for size in sizes)) if is_locked(sizes, capacity, k)}
    assert {tuple(row) for row in locked(sizes, capacity).tolist()} == expected


def test_the_lock_of_figure_3b() -> None:
    """(2, 1) of sizes 2 and 5 in 10 serves 0.9 of ρ*."""
    share, instance = worst_lock((5, 2), 10, Fixed(100))
    assert share == pytest.approx(0.9)
    assert (instance.sizes, instance.weights, instance.servers) == ((5, 2), (1, 2), 1)
    assert instance.rho() == pytest.approx(10 / 3)


def test_three_servers_lock_at_eight_ninths() -> None:
    """Two servers on 20 + 34, one on 4 × 15 of 64: 34 + 2 × 15 and 3 × 20 need only 8 servers where they take 9."""
    share, instance = worst_lock((34, 20, 15), 64, Geometric(100))
    assert share == pytest.approx(8 / 9)
    assert (instance.weights, instance.servers) == ((2, 2, 4), 3)
    assert instance.rho() == pytest.approx(9)


def test_no_lock_where_nothing_is_wasted() -> None:
    assert worst_lock((6, 4), 10, Fixed(100)) is None


def test_rho_of_an_instance() -> None:
    instance = Instance((6, 4), 10, (1, 1), 2, Geometric(100))
    assert instance.rho() == pytest.approx(4)
    assert instance.workload(0.5).rate == pytest.approx(4 * 0.5 / 100)


def test_candidates_are_instances() -> None:
    search = WorstCaseSearch("bf-js", [Geometric(100), Fixed(50)], random.Random(3))
    for _ in range(30):
        made = search.candidate()
        assert list(made.sizes) == sorted(set(made.sizes), reverse=True)
        assert 0 < made.sizes[-1] <= made.sizes[0] <= made.capacity
        assert np.isclose(made.shares().sum(), 1)


def test_the_search_is_repeatable_and_finds_something() -> None:
    def run(runs):
        return [RunOutcome(Verdict(UNSTABLE, 1, 9, 1, 1e-9), 1.0) for _ in runs]

    first, second = (worst_case("bf-js", [Fixed(100)], tries=20, seed=1, run=run) for _ in range(2))
    assert [one.workload for one in first] == [one.workload for one in second]
    assert first[0].judgment.high < 0.05  # as the runner says


def test_how_candidates_are_judged() -> None:
    made = []

    def run(runs):
        made.append(len(runs))
        return [RunOutcome(Verdict(UNSTABLE, 1, 9, 1, 1e-9), 1.0) for _ in runs]

    found = worst_case("bf-js", [Fixed(100)], tries=3, seed=1, run=run, seeds=3, width=0.25)
    assert made == [3, 3] * len(found)  # 3 seeds at each load, and the loads 0.5 and 0.25
    assert {one.judgment.high for one in found} == {0.25}


@pytest.mark.slow  # judges what it finds
def test_the_script_writes_a_workload_that_judge_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "worst.json"
    main(["-p", "bf-js", "--service", "fixed:100", "--tries", "5", "--processes", "1", "--out", str(out)])
    assert "| worst-1 |" in capsys.readouterr().out
    assert packenv.workload(out).load == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("-p", "vqz"), "unknown policy"), (("-p", "bf-js", "--service", "sometimes"), "--service")],
)
def test_bad_input(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        main(arguments)
