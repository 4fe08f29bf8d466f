"""Judgments: the search on made-up verdicts, known limits, guarantees and where they are claimed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policies.random_requirements.best_fit import BestFit, BestFitJobs
from packenv.policies.random_requirements.virtual_queues import VQS, VQSBestFit
from packenv.policy import guarantee_of
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, Verdict
from packenv.simulation import setting_of
from packenv.theory.stability.judge import PlannedRun, RunOutcome, judge, run_here, status
from packenv.theory.stability.judgment import BROKEN, HELD, NOT_CLAIMED
from packenv.workloads.laws import Constant, Discrete, Exponential, Fixed, Geometric, Uniform
from packenv.workloads.laws.arrivals import Modulated

EQUAL = packenv.Workload(sizes=Constant(0.3), service=Geometric(100), servers=3, rate=0.01, name="equal")
SAID = {
    STABLE: Verdict(STABLE, 0, 0.05, 1e-6, 1),
    UNSTABLE: Verdict(UNSTABLE, 1, 5, 1, 1e-9),
    UNDECIDED: Verdict(UNDECIDED, 0, 0.6, 0.5, 0.5),
}


def oracle(limit: float, doubt: float = 0.0, patience: int = 0):
    """A runner that knows the limit; loads within `doubt` of it stay undecided, but for runs above `patience` slots."""

    def run(runs: Sequence[PlannedRun]) -> list[RunOutcome]:
        load = runs[0].workload.load
        assert load is not None
        unclear = abs(load - limit) < doubt and not 0 < patience < runs[0].slots
        return [RunOutcome(SAID[UNDECIDED if unclear else STABLE if load < limit else UNSTABLE], 1.0) for _ in runs]

    return run


@pytest.mark.parametrize("limit", [0.001, 0.2499, 0.5, 0.6667, 0.97, 2.0])
def test_bisection_finds_the_limit(limit: float) -> None:
    found = judge(EQUAL, "bf-js", run=oracle(limit))
    assert found.low <= limit
    assert limit <= found.high or found.high == 1
    assert found.high - found.low <= 0.011
    assert len(found.evidence) <= 8


def test_doubtful_loads_widen_the_interval_and_no_more() -> None:
    found = judge(EQUAL, "bf-js", run=oracle(0.6, doubt=0.03))
    assert found.low == pytest.approx(0.57, abs=0.006)
    assert found.high == pytest.approx(0.63, abs=0.006)
    assert found.low < 0.6 < found.high
    assert found.needed is not None


def test_longer_runs_settle_doubts() -> None:
    found = judge(EQUAL, "bf-js", run=oracle(0.6, doubt=0.03, patience=4_000_000))
    assert found.high - found.low <= 0.011
    assert found.needed is None
    assert max(seen.slots for seen in found.evidence) > 4_000_000


def test_tasks_of_the_longest_and_of_the_first_runs() -> None:
    """A queue that grows for four million slots and settles then: shorter runs call it unstable, longer ones do not."""

    def run(runs: Sequence[PlannedRun]) -> list[RunOutcome]:
        lengths.append(round(runs[0].slots * runs[0].workload.rate))
        return [RunOutcome(SAID[UNSTABLE if runs[0].slots < 4_000_000 else STABLE], 1.0) for _ in runs]

    lengths: list[int] = []
    assert judge(EQUAL, "bf-js", run=run).high == pytest.approx(
        40_000 / 4_000_000 * 100 / 9, abs=0.01
    )  # ρ*: 9 tasks of 100 slots
    assert min(lengths) == 40_000
    lengths.clear()
    found = judge(EQUAL, "bf-js", tasks=64 * 500_000, run=run)
    assert (found.low, found.high) == (0.99, 1.0)
    assert set(lengths) == {500_000}


def test_status() -> None:
    assert status(1 / 2, 0.6, 0.7, claimed=2 / 3) == HELD
    assert status(2 / 3, 0.6, 0.7, claimed=2 / 3) == UNDECIDED
    assert status(2 / 3, 0.6, 0.65, claimed=2 / 3) == BROKEN
    assert status(2 / 3, 0.9, 1.0, claimed=1 / 2) == NOT_CLAIMED


def claimed(policy: object, **changes: object) -> float:
    base = {"sizes": Uniform(0.1, 0.9), "service": Geometric(100), "servers": 2, "intensity": 0.5}
    return guarantee_of(policy, setting_of(packenv.Workload(**(base | changes))))


def test_where_guarantees_are_claimed() -> None:
    """PAPERS §1.5."""
    assert claimed(BestFit()) == 1 / 2
    assert claimed(BestFitJobs()) == 0
    assert claimed(VQS()) == claimed(VQSBestFit()) == pytest.approx(2 / 3)
    for policy in (BestFit(), VQS(), VQSBestFit()):
        assert claimed(policy, service=Fixed(100)) == 0
        assert claimed(policy._replace(stall=True), service=Fixed(100)) == pytest.approx(claimed(policy))
        assert claimed(policy, servers="1x1,1x0.5", sizes=Uniform(0.1, 0.4)) == 0
        assert claimed(policy, arrivals=Modulated([0.5, 1.5], [100, 100])) == 0
        assert claimed(policy, sizes=(Uniform(0.1, 0.4), Uniform(0.1, 0.4)), servers="2x1:1") == 0
    assert claimed(BestFit(), sizes=Exponential(0.05)) == 0  # sizes come as close to 0 as one likes
    small = Discrete([0.1, 0.5], [0.25, 0.75])
    assert claimed(VQS(J=2), sizes=small) == pytest.approx(0.75 * 2 / 3)
    assert claimed(VQS(J=4), sizes=small) == pytest.approx(2 / 3)
    assert claimed(VQS(adaptive=True), sizes=small) == 0


@pytest.mark.parametrize("policy", ["bf-js", "fifo-ff"])
def test_equal_sizes(policy: str) -> None:
    """Any of these policies supports all of ρ*; to a coarse width here, as long runs are needed near 1."""
    found = judge(EQUAL, policy, seeds=2, width=0.1)
    assert found.low >= 0.9
    assert found.rho[0] == pytest.approx(9)
    assert found.half == (HELD if policy == "bf-js" else NOT_CLAIMED)


def test_vqs_on_figure_3a() -> None:
    found = judge(packenv.workload("paper/fig3a"), "vqs", seeds=4, width=0.04)
    assert found.low - 1e-9 <= 2 / 3 <= found.high
    assert found.high - found.low <= 0.05
    assert found.half == HELD


def test_same_answer_again() -> None:
    first, second = (judge(EQUAL, "bf-js", seeds=2, width=0.2, run=run_here) for _ in range(2))
    assert first == second


def test_a_table_too_short_says_how_long_it_would_have_to_be() -> None:
    jobs = packenv.workload("paper/fig3a", load=0.5)
    table = packenv.resolved(jobs).jobs_table(0, 2_000)
    found = judge(packenv.Workload(jobs=table, servers=1, name="short"), "vqs")
    assert found.high - found.low > 0.1
    assert found.needed is not None
    assert found.needed > table.arrival[-1]


def test_runs_without_a_queue_tell_no_length() -> None:
    """Undecided since they are shorter than a service, and nothing waits: no length follows."""
    jobs = Jobs.of(range(0, 2000, 50), [0.01] * 40, [3000] * 40)
    found = judge(packenv.Workload(jobs=jobs, servers=1, name="idle"), "bf-js")
    assert found.needed is None and found.high - found.low > 0.1
    assert found.remarks[0].startswith("bf-js on idle: some loads stay undecided, longer runs would decide")


def test_a_long_table_is_judged() -> None:
    table = packenv.resolved(packenv.workload("paper/fig3a", load=0.5)).jobs_table(0, 200_000)
    found = judge(packenv.Workload(jobs=table, servers=1, name="long"), "vqs", width=0.1)
    assert found.low < 0.68
    assert found.high > 0.65
    assert found.high - found.low < 0.2
    assert np.isclose(found.rho[0], 2, rtol=0.02)


def test_bad_arguments() -> None:
    for changes in ({"width": 0.0}, {"width": 1.5}, {"seeds": 0}):
        with pytest.raises(InputError, match=r"`width` of the interval must lie|`seeds` must be a whole number"):
            judge(EQUAL, "bf-js", **changes)
    with pytest.raises(InputError, match=r"`tasks` must be at least 2,560,000, .* not 1,000; .* `width`"):
        judge(EQUAL, "bf-js", tasks=1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "workload, policy, least, most",
    [
        ("paper/fig3a", "vqs", 2 / 3 - 0.01, 2 / 3 + 0.01),
        ("paper/fig3b", "bf-js", 0.89, 0.91),
        ("paper/fig3b", "vqs", 0.97, 1.01),
        ("paper/fig3a", "bf-js", 0.97, 1.01),
        *(("equal", policy, 0.98, 1.01) for policy in ("bf-js", "vqs", "vqs-bf", "fifo-ff")),
    ],
)
def test_known_answers(workload: str, policy: str, least: float, most: float) -> None:
    """To within 0.01 of ρ* (PAPERS §1.6)."""
    found = judge(EQUAL if workload == "equal" else packenv.workload(workload), policy)
    assert found.low >= least - 1e-9
    assert found.high <= most + 1e-9


class Alternating(NamedTuple):
    """A stream of which tables are drawn: with an odd seed tasks take half as much."""

    jobs: int

    def __call__(self, seed: int) -> packenv.Jobs:
        return packenv.Jobs.of(np.arange(self.jobs) * 10, np.full(self.jobs, 0.25 / (1 + seed % 2)), np.full(self.jobs, 20))

    def longer(self, times: int) -> Alternating:
        return Alternating(times * self.jobs)


def test_tables_that_are_drawn() -> None:
    """Each seed has its table, at the same share of what it could carry: four, or eight, tasks in service on a server. Where
    verdicts are open they are four times as long, and then sixteen times."""
    workload = packenv.Workload(jobs=Alternating(100), servers=1, name="alternating")
    lengths = []

    def run(runs: Sequence[PlannedRun]) -> list[RunOutcome]:
        tables = [run.workload for run in runs]
        assert [run.seed for run in runs] == [0, 1, 2]
        assert tables[1].rate == pytest.approx(2 * tables[0].rate, rel=0.01) and tables[0].jobs is not tables[2].jobs
        lengths.append([len(table.jobs or ()) for table in tables])
        load = tables[0].rate * 20 / 4
        return [RunOutcome(SAID[STABLE if load < 0.6 else UNSTABLE if load > 0.65 else UNDECIDED], 1.0) for _ in runs]

    found = judge(workload, "bf-js", seeds=3, run=run)
    assert found.low == pytest.approx(0.6, abs=0.01) and found.high == pytest.approx(0.65, abs=0.01)
    assert {tuple(length) for length in lengths} == {(100,) * 3, (400,) * 3, (1600,) * 3}
    assert "more --seeds may do it too" in found.notices[0]
