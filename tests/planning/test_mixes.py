"""Mixes of machines: against trying every mix, against packings worked by hand, and the proofs of the bound on cost."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from packenv import Jobs, Workload
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.planning.goals import parse_goal
from packenv.planning.kinds import Kinds, check_kinds, one_for_each_task, parse_kinds, with_mix
from packenv.planning.lower_bounds.cost_bound import CostBound, CostRows, least_cost, whole_cost
from packenv.planning.lower_bounds.cost_proof import CostProof, TableTasks
from packenv.planning.lower_bounds.stream_cost import StreamCost
from packenv.planning.mixes import MixPlan, MixSearch
from packenv.planning.search import NoneMeets, Search
from packenv.planning.trials import RunValues
from packenv.results.stability import NOTHING
from packenv.runs.run import Run
from packenv.simulation import simulate
from packenv.theory.capacity.one_resource.certificate import Refuted
from packenv.workloads.laws import Constant, Fixed
from tests.planning.test_plans import ask


def planned(jobs: Jobs, types: str, goal: str) -> tuple[MixPlan, Kinds, Workload, CostBound]:
    kinds = parse_kinds(types)
    workload = Workload(jobs=jobs, servers=kinds.one_of_each)
    goals = [parse_goal(goal, None)]
    bound = least_cost(workload, goals, kinds, 0.001, 2.0)
    search = Search(workload, "bf-js", goals, 1, None, {"drain": True})
    return MixSearch(search, kinds, bound, ask).run(), kinds, workload, bound


def coarse_table(seed: int) -> Jobs:
    """Thirty tasks of 0.1, 0.2, … of a machine."""
    rng = np.random.default_rng(seed)
    return Jobs.of(np.sort(rng.integers(0, 60, 30)), rng.integers(1, 7, 30) / 10, rng.integers(1, 40, 30))


@pytest.mark.parametrize("seed, types", [(0, "1=1,0.6=0.5"), (1, "1=1,2=1.7"), (2, "1=1,1.5=1.2")])
def test_against_every_mix(seed: int, types: str) -> None:
    """No mix meets the goal for less than the bound; the plan's meets it, and no machine of it can go."""
    jobs = coarse_table(seed)
    goal = parse_goal("p95 wait <= 3", None)
    plan, kinds, workload, bound = planned(jobs, types, goal.text)
    costs = {}
    for counts in itertools.product(range(16), repeat=2):
        if 0 < kinds.total(counts) <= plan.at.cost:
            result = simulate(with_mix(workload, counts), "bf-js", drain=True)
            if goal.met(goal.value(result)):
                costs[counts] = kinds.total(counts)
    assert costs[plan.at.counts] == plan.at.cost and plan.at.trial.meets
    assert bound.value <= bound.of_integers <= min(costs.values())
    assert plan.at.cost <= min(costs.values()) * Fraction(11, 10)
    assert all(less is None or not less.trial.meets for less in plan.dropped)


@pytest.mark.parametrize("seed", [0, 1, 4, 5])
def test_no_kind_alone_is_cheaper(seed: int) -> None:
    """Small machines are cheaper by the room, but one task fills half of one: with every number of each kind alone."""
    rng = np.random.default_rng(seed)
    jobs = Jobs.of(np.sort(rng.integers(0, 60, 120)), rng.integers(13, 20, 120) / 100, rng.integers(1, 60, 120))
    goal = parse_goal("mean wait <= 2", None)
    plan, kinds, workload, bound = planned(jobs, "1=1,0.25=0.24", goal.text)
    alone = [tuple(n * int(kind == g) for g in range(2)) for kind in range(2) for n in range(1, 48)]
    cheaper = [counts for counts in alone if kinds.total(counts) < plan.at.cost and bound.rows.admit(counts)]
    results = [simulate(with_mix(workload, counts), "bf-js", drain=True) for counts in cheaper]
    assert cheaper and not any(goal.met(goal.value(result)) for result in results)


def test_by_hand() -> None:
    """Twelve tasks at once, each 0.4 of a machine: two on one of 1 for 1.00, five on one of 2 for 1.90. 5 + 5 + 2 is best."""
    jobs = Jobs.of([0] * 12, [0.4] * 12, [10] * 12)
    plan, kinds, _, bound = planned(jobs, "1=1,2=1.9", "p99 wait <= 0")
    assert kinds.as_servers(plan.at.counts) == "1x1,2x2" and plan.at.cost == Fraction("4.8")
    assert bound.value == pytest.approx(12 / 5 * 1.9, rel=1e-3)
    assert bound.of_integers == plan.at.cost
    assert [less is not None and less.trial.meets for less in plan.dropped] == [False, False]


@pytest.mark.parametrize("seed", range(12))
def test_whole_machines_against_every_mix(seed: int) -> None:
    """Random rows, some of which a kind does not help: the cheapest mix that satisfies all of them, by trying each."""
    rng = np.random.default_rng(seed)
    kinds = parse_kinds(("1=1,2=1.8", "1=1,2=1.9,0.5=0.55", "1=0.7")[seed % 3])
    held = rng.integers(0, 6, (4, len(kinds))) * 1.0
    held[:, rng.integers(len(kinds))] += 1.0  # some kind serves every row
    need = rng.uniform(0, 12, 4)
    every = itertools.product(range(14), repeat=len(kinds))
    rows = CostRows(held, need, np.ones(4))
    assert whole_cost(rows, kinds) == min(kinds.total(counts) for counts in every if (held @ counts >= need).all())


def test_kinds_that_some_tasks_need() -> None:
    """The large task comes first and fits the dear machine alone, the small ones are cheaper elsewhere; two resources."""
    jobs = Jobs.of([0, 1, 1], [[0.9, 0.9], [0.5, 0.1], [0.5, 0.1]], [10] * 3)
    plan, kinds, _, bound = planned(jobs, "1:1=9,1:0.2=1", "p99 wait <= 0")
    assert kinds.as_servers(plan.at.counts) == "1x1:1,1x1:0.2"
    assert bound.value <= bound.of_integers == plan.at.cost == 10


def test_a_proof_is_checked_apart_from_the_solver() -> None:
    jobs = coarse_table(5)
    kinds = parse_kinds("1=1,2=1.8")
    workload = Workload(jobs=jobs, servers=kinds.one_of_each)
    bound = least_cost(workload, [parse_goal("p95 wait <= 2", None)], kinds, 0.001, 2.0)
    assert isinstance(bound.proof, CostProof)
    units = workload.servers.units
    assert bound.proof.value(TableTasks(jobs), units, kinds.cost) == bound.value
    window = bound.proof.windows[0]
    with pytest.raises(Refuted, match="an empty window"):
        replace(bound.proof, windows=(replace(window, end=window.start),)).value(TableTasks(jobs), units, kinds.cost)


def test_a_stream_by_hand() -> None:
    """30 tasks of 0.6 in service: one on a machine of 1, three on one of 2. 10 machines of 2 cost 21, 30 of 1 cost 30."""
    workload = Workload(sizes=Constant(0.6), service=Fixed(100), rate=0.3, servers="1x1,1x2")
    search = StreamCost(workload, (Fraction(1), Fraction("2.1")))
    search.run(0.001, 5.0)
    assert float(search.value) == pytest.approx(21, rel=1e-6)
    dear = StreamCost(workload, (Fraction(1), Fraction("3.3")))
    dear.run(0.001, 5.0)
    assert float(dear.value) == pytest.approx(30, rel=1e-6)
    assert dear.best is not None and dear.best.value(workload, dear.cost) == dear.value


@pytest.mark.parametrize(
    "text, problem",
    [
        ("1", "'1': not of the form CAPACITY=COST"),
        ("1=1,1=2", "1 is given twice"),
        ("1=0", "the cost of 1 must be above 0"),
        ("1=x", "the cost of 1 'x' is not a decimal number"),
    ],
)
def test_types_that_cannot_be_read(text: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_kinds(text)
    assert problem in str(raised.value)


def test_a_type_on_which_nothing_fits() -> None:
    kinds = parse_kinds("1=1,0.3=0.1")
    workload = Workload(jobs=Jobs.of([0], [0.5], [1]), servers=kinds.one_of_each)
    with pytest.raises(InputError, match=r"--types 0\.3: no task of custom fits such a machine"):
        check_kinds(kinds, workload)


def test_a_machine_for_each_task_is_the_most() -> None:
    """Small tasks on the cheap kind. A goal that is never met while tasks wait: twelve machines, not a million."""
    kinds = parse_kinds("2=1.8,1=1")
    jobs = Jobs.of([0] * 12, [0.7] * 8 + [1.5] * 4, [5] * 12)
    assert one_for_each_task(kinds, Workload(jobs=jobs, servers=kinds.one_of_each)) == (4, 8)
    for queued in (True, False):
        asked: list[int] = []

        def ask(runs: Sequence[Run], extract: object, queued: bool = queued, asked: list[int] = asked) -> list[RunValues]:
            asked.extend(len(run.workload.servers) for run in runs)
            return [RunValues([9.0], NOTHING, None, int(queued)) for _ in runs]

        goals = [parse_goal("mean wait <= 3", None)]
        workload = Workload(jobs=jobs, servers=kinds.one_of_each)
        search = Search(workload, "bf-js", goals, 1, None, {"drain": True})
        mixes = MixSearch(search, kinds, least_cost(workload, goals, kinds, 0.001, 2.0), ask)
        each = "With 48 servers .* one machine of each kind for each task"  # 4 and 8, doubled until both are 12 at least
        with pytest.raises(NoneMeets, match=each if queued else "No task waits"):
            mixes.run()
        assert max(asked) <= 48
        asked.clear()
        equal = Search(Workload(jobs=jobs, servers="1x2"), "bf-js", goals, 1, None, {"drain": True})
        with pytest.raises(NoneMeets, match="With 12 servers .* That is one server for each task" if queued else "No task waits"):
            equal.run(1, ask)
        assert max(asked) <= 12


def test_a_goal_that_no_mix_meets() -> None:
    jobs = Jobs.of([0, 0], [0.5, 0.5], [50, 60], job=np.arange(2))
    with pytest.raises(NoneMeets, match="no number of servers meets 'max completion <= 20'"):
        planned(jobs, "1=1,2=1.5", "max completion <= 20")


@pytest.mark.parametrize("columns, cells", [("gang", "x"), ("gpu,gpu_kinds,gang", "1,A10,x")])
def test_gangs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], columns: str, cells: str) -> None:
    """In one line, also where one machine of each kind is too small for a gang, or only the second kind has its GPUs."""
    rows = [f"submit_time_s,duration_s,cpu,{columns}", *[f"0,100,4,{cells}"] * 3]
    (tmp_path / "jobs.csv").write_text("\n".join(rows))
    types = "8=1" if columns == "gang" else "8:0@V100=1,8:1@A10=2"
    with pytest.raises(SystemExit) as exit_:
        main(
            [
                "plan",
                str(tmp_path / "jobs.csv"),
                "--slot-seconds",
                "1",
                "-g",
                "max wait <= 5min",
                "-p",
                "fifo-ff",
                "--types",
                types,
            ]
        )
    assert exit_.value.code == 2
    assert "not planned for gangs; --one-by-one" in capsys.readouterr().err
