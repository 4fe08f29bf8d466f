"""Plans: against queues with formulas, against trying every number, and against the least number of any policy."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import Jobs, Workload
from packenv.cli.main import main
from packenv.planning import search as search_module
from packenv.planning.goals import Goal, parse_goal
from packenv.planning.lower_bounds.cost_proof import WaitLimit, fewest
from packenv.planning.lower_bounds.fewest_servers import fewest_servers
from packenv.planning.lower_bounds.table_cost import TableCost
from packenv.planning.request import PlanRequest
from packenv.planning.search import NoneMeets, Plan, Search, with_servers
from packenv.planning.server_plans import in_the_noise
from packenv.policies import FifoFirstFit
from packenv.results.result import Result
from packenv.runs.run import Run, make
from packenv.simulation import simulate
from packenv.units import UNIT
from packenv.workloads.laws import Constant, Geometric, Uniform
from packenv.workloads.laws.arrivals import Poisson
from tests.seeds import seeds


def ask(runs: Sequence[Run], extract: Callable[[Workload, Result], Any]) -> list[Any]:
    return [make(run, extract) for run in runs]


def planned(workload: Workload, policy: str, *goals: str, seeds: int = 2, slots: int | None = None) -> Plan:
    wanted = [parse_goal(text, workload.slot_seconds) for text in goals]
    options = {"drain": True} if workload.jobs is not None else {}
    return Search(workload, policy, wanted, seeds, slots, options).run(fewest_servers(workload, wanted, 0.001, 20.0), ask)


def erlang_c_wait(offered: float, servers: int, service: float) -> float:
    """Mean wait of M/M/k: C(k, a) · service / (k − a)."""
    terms = [offered**n / math.factorial(n) for n in range(servers)]
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    return last / (sum(terms) + last) * service / (servers - offered)


@pytest.mark.parametrize("least", [10, 11, 13])
def test_the_least_number_of_an_erlang_queue(least: int) -> None:
    """Tasks that need a whole server, Poisson, geometric service of 200 slots on average: nearly M/M/k with a = 8."""
    workload = Workload(sizes=Constant(1), service=Geometric(200), rate=8 / 200, servers=1, arrivals=Poisson())
    limit = math.sqrt(erlang_c_wait(8, least, 200) * erlang_c_wait(8, least - 1, 200))
    plan = planned(workload, "fifo-ff", f"mean wait <= {limit}", seeds=4, slots=1_000_000)
    assert plan.servers == least and plan.fresh
    assert plan.at.meets and plan.below is not None and not plan.below.meets


def test_the_median_of_all_seeds_together() -> None:
    """M/M/22 with geometric service of 20 slots and a task a slot: 58 % wait for a slot at most; with 21 servers 32 % do.

    The medians of four seeds are whole slots, and their mean is above 1 as soon as one of them is 2.
    """
    workload = Workload(sizes=Constant(1), service=Geometric(20), rate=1, servers=1)
    plan = planned(workload, "fifo-ff", "p50 wait <= 1", seeds=4, slots=50_000)
    assert plan.servers == 22 and plan.between is None


CENTRE = Workload(sizes=Constant(1), service=Geometric(240), rate=0.2, servers=1, slot_seconds=1.0, name="call centre")
"""720 calls an hour of 240 s each: 48 Erlangs."""


@pytest.mark.parametrize("limit, slots", [("9.5s", 100_000), pytest.param("9s", 200_000, marks=pytest.mark.slow)])
def test_a_plan_runs_on_until_it_is_decided(limit: str, slots: int) -> None:
    """The mean wait with 55 servers is 8.18 s, which four seeds of 200,000 slots know to within some 3 s; with 54 it is 12.05."""
    assert erlang_c_wait(48, 55, 240) == pytest.approx(8.18, abs=0.01) and erlang_c_wait(48, 54, 240) > 12
    plan = planned(CENTRE, "fifo-ff", f"mean wait <= {limit}", seeds=4, slots=slots)
    assert plan.servers == 55 and plan.between is None and len(plan.at.values[0]) >= 8


def test_a_plan_that_noise_leaves_open_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """With runs this short it can't be decided, and the answer lies between the numbers of which it can be."""
    monkeypatch.setattr(search_module, "MOST_TASKS", 0)
    plan = planned(CENTRE, "fifo-ff", "mean wait <= 9s", seeds=2, slots=20_000)
    assert plan.between is not None and plan.between[0] <= 55 <= plan.between[1] and plan.between[0] <= plan.servers
    line = in_the_noise(PlanRequest(CENTRE, [parse_goal("mean wait <= 9s", 1.0)], ["fifo-ff"], 2, 20_000), plan)
    assert line.startswith(f"fifo-ff: not decided between {plan.between[0]} and {plan.between[1]} servers: the mean wait is ")


def test_eighty_in_twenty() -> None:
    """P(W <= 20 s) = 1 - C(k, 48) exp(-(k - 48) 20 / 240): 75.6 % with 53 servers, 81.7 % with 54."""

    def within(servers: int) -> float:
        above = servers - 48
        return 1 - erlang_c_wait(48, servers, 240) * above / 240 * math.exp(-above * 20 / 240)

    assert within(53) < 0.8 < within(54)
    assert planned(CENTRE, "fifo-ff", "p80 wait <= 20s", seeds=4, slots=100_000).servers == 54


def test_stability_alone() -> None:
    """Each task needs more than half of a server: as many servers as tasks in service, and a part of one."""
    for offered, least in ((5.2, 6), (4.5, 5)):
        workload = Workload(sizes=Uniform(0.6, 0.9), service=Geometric(50), rate=offered / 50, servers=1)
        assert fewest_servers(workload, [], 0.001, 20.0) == least
        assert planned(workload, "bf-js", seeds=2, slots=400_000).servers == least


def random_table(rng: np.random.Generator, tasks: int = 60) -> Jobs:
    return Jobs.of(np.sort(rng.integers(0, 60, tasks)), rng.uniform(0.05, 1, tasks), rng.integers(1, 40, tasks))


@pytest.mark.parametrize("seed", seeds(1, 6))
@pytest.mark.parametrize("goal", ["p95 wait <= 3", "max wait <= 5", "mean wait <= 2", "max queue <= 4", "p50 wait <= 0"])
def test_against_every_number(seed: int, goal: str) -> None:
    """The least number with which the goal is met, found one by one from 1 on, where more servers never harm here."""
    workload = Workload(jobs=random_table(np.random.default_rng(seed)), servers=1)
    wanted = parse_goal(goal, None)
    met = [wanted.met(wanted.value(simulate(with_servers(workload, n), "bf-js", drain=True))) for n in range(1, 70)]
    plan = planned(workload, "bf-js", goal)
    assert met[plan.servers - 1] and (plan.servers == 1 or not met[plan.servers - 2])
    if all(met[met.index(True) :]):
        assert plan.servers == met.index(True) + 1
    assert fewest_servers(workload, [wanted], 0.001, 20.0) <= met.index(True) + 1


def bound(jobs: Jobs, limit: WaitLimit, capacity: int = 1) -> int:
    search = TableCost(jobs, np.array([[capacity * UNIT]]), (Fraction(1),), limit)
    search.run(0.001, 5.0)
    return fewest(search.value)


def test_a_window_by_hand() -> None:
    """Four tasks in slot 0, each a whole server for 10 slots; a fifth in slot 9, so that the arrivals take 10 slots.

    Without a wait slot 9 sees all five. With up to 9 slots of wait the first four are still in service in slot 9, with 10 not. If
    two of the five may wait for ever, three are left.
    """
    jobs = Jobs.of([0, 0, 0, 0, 9], [1] * 5, [10] * 5)
    assert [bound(jobs, WaitLimit(wait, 0)) for wait in (0, 1, 9, 10)] == [5, 4, 4, 1]
    assert bound(jobs, WaitLimit(0, 2)) == 3
    assert bound(jobs, WaitLimit(0, 0), capacity=2) == 3
    assert bound(jobs.first(4), WaitLimit(0, 0)) == 4


def test_a_mean_by_hand() -> None:
    """Eight tasks in slot 0, each half a server for 10 slots, and a last one in slot 9 for 1: 40 whole slots and a half in 10.

    A mean wait of 1 slot is 9 slots of wait, which take 4 1/2 of the 40 1/2 out of the window: 36 are left for 10 slots.
    """
    jobs = Jobs.of([0] * 8 + [9], [0.5] * 9, [10] * 8 + [1])
    assert [bound(jobs, WaitLimit(wait, None)) for wait in (0, 9, 900)] == [5, 4, 1]


@pytest.mark.parametrize("seed", seeds(1, 8))
def test_the_bound_holds_for_every_policy(seed: int) -> None:
    """On one server less than the bound every policy breaks the goal."""
    rng = np.random.default_rng(100 + seed)
    workload = Workload(jobs=random_table(rng, 40), servers=1)
    broken = 0
    for limit, statistic in itertools.product((0, 2, 8, 25), ("mean", "p50", "p90", "p95", "max")):
        goal = Goal(f"{statistic} wait <= {limit}", statistic, "wait", limit)
        bound = fewest_servers(workload, [goal], 0.001, 20.0)
        for policy in ("bf-js", "fifo-ff", "vqs", "vqs-bf", "conservative", "easy") if bound > 1 else ():
            assert not goal.met(goal.value(simulate(with_servers(workload, bound - 1), policy, drain=True)))
            broken += 1
    assert broken > 6


def test_goals_that_nothing_meets() -> None:
    jobs = Jobs.of([0, 0], [0.5, 0.5], [50, 60], job=np.arange(2))
    longest = r"'max completion <= 20'. With 1 server the max completion is 60 slots. No task waits"
    with pytest.raises(NoneMeets, match=longest):
        planned(Workload(jobs=jobs, servers=1), "bf-js", "max completion <= 20")
    workload = Workload(sizes=Uniform(0.6, 0.9), service=Geometric(50), rate=0.09, servers=1)
    low = r"'utilisation >= 0.99'. With 5 servers the utilisation is 0.6.*. Fewer servers miss other goals"
    with pytest.raises(NoneMeets, match=low):
        planned(workload, "bf-js", "utilisation >= 0.99", slots=400_000)


def test_from_python() -> None:
    workload = Workload(sizes=Uniform(0.6, 0.9), service=Geometric(50), load=0.9, servers=5)
    plan = packenv.plan_servers(workload, FifoFirstFit(), "mean wait <= 100", seeds=2, slots=50_000)
    assert plan.policy == "fifo-ff" and plan.servers >= 5 and plan.at.meets
    table = Workload(jobs=random_table(np.random.default_rng(0)), servers="1x1,1x0.5")
    drawn = packenv.workload("analytics")
    for bad, why in (
        (table, "2 kinds"),
        (drawn, "draws its tables of jobs"),
        (Workload(jobs=table.jobs, servers=1), "give a --goal"),
    ):
        with pytest.raises(packenv.InputError, match=why):
            packenv.plan_servers(bad, "bf-js")


def test_several_policies_from_python(tmp_path: Path) -> None:
    """Three tasks of half a server at the same time: on one server the third waits 10 slots."""
    table = {"arrival": [0, 0, 0], "size": [0.5, 0.5, 0.5], "service": [10, 10, 10]}
    log = tmp_path / "log.jsonl"
    plans = packenv.plan(table, "max wait <= 0", policies=["bf-js", FifoFirstFit()], log=log)
    assert (plans.servers, plans.bound.servers, [*plans.plans]) == (2, 2, ["bf-js", "fifo-ff"])
    below = plans.plans["fifo-ff"].below
    assert below is None or not below.meets
    frame = plans.to_frame().to_pylist()
    assert [(row["policy"], row["servers"], row["max wait"]) for row in frame] == [("bf-js", 2, 0.0), ("fifo-ff", 2, 0.0)]
    plain = json.loads(json.dumps(plans.to_dict()))
    assert plain["plans"] == plans.records and plain["servers"] == 2 and plain["refusals"] == []
    assert str(plans.table()).endswith("2 servers are enough with bf-js or fifo-ff for max wait <= 0. No policy needs fewer.")
    assert repr(plans).splitlines()[1:] == [
        "  bf-js: 2 servers, max wait 0 slots",
        "  fifo-ff: 2 servers, max wait 0 slots",
        "  any policy: at least 2 servers",
    ]
    assert "<table>" in plans._repr_html_()
    kept = log.read_text()
    assert packenv.plan(table, "max wait <= 0", policies=["bf-js"], log=log).servers == 2 and log.read_text() == kept


def test_what_has_no_plan_from_python() -> None:
    table = {"arrival": [0, 0], "size": [0.5, 0.5], "service": [50, 60]}
    for arguments, options, why in (
        ((table,), {}, "give a --goal"),
        ((table, "max wait <= 0"), {"slots": 10}, "`slots` is for workloads"),
        (("paper/fig3a",), {"max_demand": 0.5}, "`max_demand` is for traces"),
        (("paper/fig3a",), {"policies": ["bf-js", "bf-js"]}, "two policies have the same name"),
        (("paper/fig3a",), {"policies": []}, "no policy: name one in `policies`"),
        (("paper/fig3a",), {"policies": ["bf-jz"]}, "bf-jz"),
        ((table, "utilisation >= 99%"), {"policies": ["bf-js", "vqs"]}, "bf-js: no number .* vqs: no number"),
    ):
        with pytest.raises(packenv.InputError, match=why):
            packenv.plan(*arguments, **options)


def test_much_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """2 of 42 tasks with nearly all of the work fit nowhere: no question of a plan meets a goal, or bounds anything."""
    file = tmp_path / "large.csv"
    file.write_text("arrival,size,service\n0,9,10000\n0,9,10000\n" + "".join(f"{n},1,1\n" for n in range(40)))
    words = ["plan", str(file), "-g", "max wait <= 5", "-p", "bf-js"]
    for question in (
        ["--servers", "1x2"],
        ["--servers", "1x1", "--add", "2"],
        ["--servers", "3x2", "--without", "0"],
        ["--types", "2=3,1=2"],
    ):
        out = tmp_path / "plan.json"
        main([*words, *question, "--json", str(out)])
        answer = " ".join(capsys.readouterr().out.split())
        assert "no goal is met for the tasks that are left out" in answer
        for claim in ("no policy", "any policy", "no mix", "all goals are met", "will do", "fewer"):
            assert claim not in answer, (question, claim)
    main(["evaluate", str(file), "--servers", "400x2", "-p", "bf-js"])
    assert "too many" not in capsys.readouterr().out
