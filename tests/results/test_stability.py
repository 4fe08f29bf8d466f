"""Verdicts: the law at the edge of stability, known runs on either side of it, and runs that say nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

import packenv
from packenv.jobs import Jobs
from packenv.results import stability
from packenv.results.stability import (
    QUEUE,
    SHARES,
    STABLE,
    SYSTEM,
    UNDECIDED,
    UNSTABLE,
    above,
    below,
    combine,
    fisher,
    judge_run,
    longer,
)
from packenv.workloads.laws import Constant, Fixed, Geometric, LogNormal, Pareto

BINS = 1024


def walk(rng: np.random.Generator, drift: float, bins: int = BINS, fine: int = 8) -> np.ndarray:
    """Bin means of a random walk with this drift and variance 1 per bin, reflected at 0."""
    free = np.cumsum(rng.normal(drift / fine, fine**-0.5, bins * fine))
    return (free - np.minimum.accumulate(np.minimum(free, 0.0))).reshape(bins, fine).mean(axis=1)


def test_the_tables_are_laws_of_reflected_brownian_motion() -> None:
    rng = np.random.default_rng(7)
    steps, paths = 512, 20_000
    half = np.abs(np.cumsum(rng.normal(0, steps**-0.5, (paths, steps)), axis=1)[:, steps // 2 :])
    for edge, ends in ((QUEUE, half.mean(axis=1)), (SYSTEM, half.mean(axis=1) - half.min(axis=1))):
        for share, level in zip(SHARES, edge.levels, strict=True):
            if 0.003 <= share <= 0.997:
                found = float((ends <= level).mean())
                assert found == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / paths) + 0.006)


@pytest.mark.parametrize("edge", [QUEUE, SYSTEM])
def test_tails_continue_the_table(edge: stability.Edge) -> None:
    levels = np.geomspace(0.02, 8, 400)
    assert (np.diff([below(level, edge) for level in levels]) >= 0).all()
    assert (np.diff([above(level, edge) for level in levels]) <= 0).all()
    assert below(edge.levels[0] * 0.999, edge) == pytest.approx(SHARES[0], rel=0.1)
    assert above(edge.levels[-1] * 1.001, edge) == pytest.approx(1 - SHARES[-1], rel=0.15)
    assert below(0.0, edge) > 0
    assert above(1e9, edge) > 0


def test_fishers_method() -> None:
    assert fisher([0.3]) == pytest.approx(0.3)
    assert fisher([0.1, 0.1]) == pytest.approx(0.01 * (1 - math.log(0.01)))  # closed form for two


def test_the_edge_is_hardly_ever_decided() -> None:
    """What is called stable or unstable there is wrong: at most DOUBT each; a variance that is estimated adds a little."""
    rng = np.random.default_rng(1)
    kinds = [judge_run(walk(rng, 0.0), 100, 200, 0.9).kind for _ in range(2_000)]
    assert kinds.count(STABLE) <= 8
    assert kinds.count(UNSTABLE) <= 8


@pytest.mark.parametrize("drift, kind", [(-0.3, STABLE), (0.3, UNSTABLE)])
def test_clear_drifts_are_seen(drift: float, kind: str) -> None:
    """T = 92 (σ/δ)²."""
    rng = np.random.default_rng(2)
    kinds = [judge_run(walk(rng, drift), 100, 200, 0.9).kind for _ in range(200)]
    assert kinds.count(kind) >= 190
    assert set(kinds) <= {kind, UNDECIDED}


@pytest.mark.parametrize("drift, kind", [(-0.12, STABLE), (0.12, UNSTABLE)])
def test_several_runs_decide_what_one_does_not(drift: float, kind: str) -> None:
    rng = np.random.default_rng(3)
    runs = [judge_run(walk(rng, drift), 100, 200, 0.9) for _ in range(8)]
    assert combine(runs).kind == kind
    assert [run.kind for run in runs].count(UNDECIDED) >= 2
    assert combine(runs).confidence > 0.999


def test_one_run_that_locks_up_makes_all_unstable() -> None:
    rng = np.random.default_rng(4)
    quiet = [judge_run(walk(rng, -0.5), 100, 200, 0.9) for _ in range(7)]
    locked = judge_run(walk(rng, 0.5), 100, 200, 0.9)
    assert combine(quiet).kind == STABLE
    assert combine([*quiet, locked]).kind == UNSTABLE
    slow = judge_run(walk(rng, 0.03), 100, 200, 0.9)
    assert slow.kind == UNDECIDED
    assert combine([*quiet, slow]).kind == UNDECIDED  # stable only if each looks like it


def test_a_queue_that_settles_at_a_high_level_is_not_unstable() -> None:
    """A rise to 60 σ within a third of the run, as of VQS near its limit: runs of that length were called unstable."""
    rng = np.random.default_rng(8)
    rise = 60 * -np.expm1(-np.arange(BINS) / (BINS / 3))
    runs = [judge_run(rise + 0.5 * np.cumsum(rng.normal(size=BINS)) * 0.3, 100, 200, 0.9) for _ in range(8)]
    assert all(run.level > QUEUE.ends[1] for run in runs)
    assert combine(runs).kind == UNDECIDED
    assert combine([judge_run(walk(rng, 0.15), 100, 200, 0.9) for _ in range(8)]).kind == UNSTABLE


def test_a_variance_that_grows_with_the_blocks_decides_nothing() -> None:
    """A queue that goes up and down once in the run has no more to show than one change."""
    slow = 20 * (1 - np.cos(np.arange(BINS) * 6 * np.pi / BINS)) + np.arange(BINS) * 0.2
    assert stability.is_rough(stability.variance_rates(slow))
    assert judge_run(slow, 100, 200, 0.9).kind == UNDECIDED


def test_residual_services_settle_a_run() -> None:
    heavy = packenv.Workload(sizes=Constant(0.5), service=LogNormal(100, cv=10), servers=3, intensity=0.5)
    assert heavy.mean_residual == pytest.approx(100 * 101 / 2, rel=0.02)
    assert EQUAL.mean_residual == pytest.approx(99.5, rel=0.001)
    assert Fixed(7).mean_square() == 49
    assert Pareto(1.5, 1, math.inf).mean_square() == math.inf
    assert Pareto(2.5, 1, math.inf).mean_square() == pytest.approx(5, rel=0.01)
    assert stability.settling_time(100, math.inf) == math.inf
    table = packenv.Workload(jobs=Jobs.of([0, 1], [[0.5], [0.5]], [1, 3]), servers=1)
    assert table.mean_residual == 10 / 4 / 2


def test_what_says_nothing() -> None:
    rng = np.random.default_rng(5)
    quiet = walk(rng, -0.5)
    assert judge_run(quiet, 100, 200, 0.9).kind == STABLE
    assert judge_run(quiet, 100, 200_000, 0.9).kind == UNDECIDED  # the servers are still filling
    assert judge_run(quiet, 100, 200, 1.0).kind == UNDECIDED  # no policy is stable at intensity 1
    assert judge_run(quiet[:50], 100, 200, 0.9).kind == UNDECIDED
    assert judge_run(np.zeros(BINS), 100, 200, 0.9).kind == STABLE
    assert judge_run(np.full(BINS, 3.0), 100, 200, 0.9).kind == UNDECIDED  # something waits for ever
    assert judge_run(np.arange(BINS) * 1.0, 100, 200, 0.9).kind == UNSTABLE
    assert judge_run(np.arange(BINS) * 1.0, 100, 200, 0.9).drift == pytest.approx(0.01)


def test_how_much_longer() -> None:
    rng = np.random.default_rng(6)
    weak = judge_run(walk(rng, -0.08), 100, 200, 0.9)
    assert weak.kind == UNDECIDED
    assert 1 < longer(weak) < 40
    assert longer(stability.NOTHING) == math.inf


EQUAL = packenv.Workload(sizes=Constant(0.3), service=Geometric(100), servers=3, rate=0.01, name="equal")
KNOWN = [  # policy, workload, the rate at which it stops being stable
    ("vqs", packenv.workload("paper/fig3a"), 0.02 * 2 / 3),
    ("bf-js", packenv.workload("paper/fig3a"), 0.02),
    ("bf-js", packenv.workload("paper/fig3b"), 0.03),
    ("vqs", packenv.workload("paper/fig3b"), 1 / 30),
    *((policy, EQUAL, 0.09) for policy in ("bf-js", "vqs", "vqs-bf", "fifo-ff")),
]


def verdicts(seeds: range) -> list[tuple[str, str]]:
    """Expected and found, a tenth below and above each known limit; undecided runs are extended to 10^7 slots."""
    found = []
    for policy, workload, limit in KNOWN:
        for share, expected in ((0.9, STABLE), (1.1, UNSTABLE)):
            at = workload.with_(rate=share * limit)
            for seed in seeds:
                run = packenv.simulate(at, policy, 2_000_000, seed)
                if run.verdict.kind == UNDECIDED:
                    run = packenv.simulate(at, policy, 10_000_000, seed)
                found.append((expected, run.verdict.kind))
    return found


def test_known_limits() -> None:
    found = verdicts(range(2))
    assert all(kind in (expected, UNDECIDED) for expected, kind in found)
    assert sum(kind == UNDECIDED for _, kind in found) <= 0.05 * len(found)


@pytest.mark.slow
def test_known_limits_on_200_runs() -> None:
    found = verdicts(range(100, 113))
    assert len(found) >= 200
    assert all(kind in (expected, UNDECIDED) for expected, kind in found)
    assert sum(kind == UNDECIDED for _, kind in found) <= 0.05 * len(found)


def test_fixed_service_in_lock_step() -> None:
    """A queue that grows in a straight line has no variance to be measured by."""
    workload = packenv.Workload(sizes=Constant(0.6), service=Fixed(100), servers=1, rate=0.012)
    assert packenv.simulate(workload, "bf-js", 500_000).verdict.kind == UNSTABLE


@pytest.mark.parametrize("unit", [1, 2.0**-4, 2.0**6, 2.0**37])
def test_verdicts_in_any_unit(unit: float) -> None:
    """Of tasks in another unit, such as bytes, the verdict is the same, to the last digit where powers of 2 are."""
    arrival = np.sort(np.random.default_rng(1).integers(0, 24_000, 300))
    demand = np.column_stack([np.full(300, 0.25), np.tile([0.5, 0.75], 150)])
    verdicts = []
    for largest in (1, unit):
        workload = packenv.Workload(jobs=Jobs.of(arrival, demand * [1, largest], [70] * 300), servers=[[1, largest]] * 2)
        verdicts.append(packenv.simulate(workload, "bf-js", 24_000).verdict)
    assert verdicts[0].drift != 0 and verdicts[0] == verdicts[1]
