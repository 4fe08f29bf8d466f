"""Each question of `plan` with gangs of unequal tasks, and with devices: against runs with every number, and every schedule."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import packenv
from packenv.cli.main import main
from packenv.executors.local import ThisProcess
from packenv.planning.failures import failure_plans
from packenv.planning.goals import parse_goal
from packenv.planning.kinds import Kinds, fits_somewhere, with_mix
from packenv.planning.lower_bounds.cost_bound import least_cost
from packenv.planning.mixes import MixSearch
from packenv.planning.plan import server_plans
from packenv.planning.request import PlanRequest
from packenv.planning.search import Search
from packenv.runs.runner import RunOptions
from packenv.workloads.gangs import which_fit
from tests.planning.every_schedule import (
    GOALS,
    on_servers,
    policy_meets,
    servers_of,
    some_schedule,
    unequal_gangs,
    waits_of,
)
from tests.planning.test_plans import ask
from tests.reference.instances import Instance, to_jobs, to_servers
from tests.seeds import seeds

CASES = Path(__file__).parents[1] / "cases"
POLICIES = ("fifo-ff", "bf-js")
AT_ONCE = parse_goal("max wait <= 0", None)
HERE = RunOptions(fail_fast=True, executor=ThisProcess())


def check_plan(instance: Instance, goal_text: str, there: int) -> None:
    """The servers of `instance` are those that are there, and one of the kind of which there may be more."""
    goal, rows = parse_goal(goal_text, None), len(instance.tasks)
    numbers = range(max(there, 1), there + rows + 1)

    def servers(number: int) -> list[int]:
        return [min(k, there) for k in range(number)]

    try:
        whole = packenv.Workload(jobs=to_jobs(instance), servers=to_servers(on_servers(instance, servers(there + rows))))
    except packenv.InputError:
        assert not some_schedule(instance.tasks, servers_of(instance, servers(there + rows)), goal)
        return
    tried = range(there + rows + 1)
    least = next((n for n in tried if some_schedule(instance.tasks, servers_of(instance, servers(n)), goal)), tried.stop)
    request = PlanRequest(whole, [goal], POLICIES, 1, None, there=there, add="added" if there else None)
    bound = request.bound()
    assert bound.servers <= max(least, 1, there)
    plans = server_plans(request, bound, HERE, None)
    for policy in POLICIES:
        met = {}
        for number in numbers:
            if which_fit(to_jobs(instance), whole.servers.only(range(number))).all():
                met[number] = policy_meets(whole.with_(servers=whole.servers.only(range(number))), instance.tasks, policy, goal)
        if policy not in plans.plans:
            assert not any(met.values())
            continue
        answer = plans.plans[policy].servers
        assert met[answer]
        assert answer == bound.servers or not met.get(answer - 1, False)
        enough = [number for number in numbers if met.get(number, False)]
        if enough == [*range(enough[0], numbers.stop)]:
            assert answer == enough[0]


@pytest.mark.parametrize("seed", seeds(15, 200))
def test_a_number_of_servers(seed: int) -> None:
    rng = random.Random(seed)
    check_plan(unequal_gangs(rng, [(6,)], devices=seed % 2 == 1), rng.choice(GOALS), 0)


@pytest.mark.parametrize("seed", seeds(15, 200))
def test_servers_that_are_added(seed: int) -> None:
    rng = random.Random(seed)
    check_plan(unequal_gangs(rng, [(rng.choice([4, 6]),), (4,), (6,)], devices=seed % 2 == 1), rng.choice(GOALS), 2)


@pytest.mark.parametrize("seed", seeds(15, 200))
def test_servers_that_fail(seed: int) -> None:
    """What is said with all of them and without some, against the runs themselves and against every way to place a gang."""
    rng = random.Random(seed)
    instance = unequal_gangs(rng, [(rng.choice([4, 6]),), (5,), (6,), (6,)], devices=seed % 2 == 1)
    goal, whole = parse_goal(rng.choice(GOALS), None), [*range(4)]
    servers = to_servers(instance)
    jobs = to_jobs(instance)
    fits = which_fit(jobs, servers)
    alone = [some_schedule(same, servers_of(instance, whole), AT_ONCE) for same in waits_of(instance.tasks)]
    assert all(fits[same[0].row] or not could for same, could in zip(waits_of(instance.tasks), alone, strict=True))
    if not all(fits):
        return
    workload = packenv.Workload(jobs=jobs, servers=servers)
    left = sorted(rng.sample(whole, rng.choice([2, 3])))
    failing = tuple(k for k in whole if k not in left)
    try:
        answer = failure_plans(PlanRequest(workload, [goal], POLICIES, 1, None), failing, HERE, None)
    except packenv.InputError as error:
        assert "fit nowhere" in str(error)
        return
    remaining = servers.only(left)
    held = which_fit(jobs.scaled(remaining.scale), remaining)
    for same in waits_of(instance.tasks):
        assert held[same[0].row] or not some_schedule(same, servers_of(instance, left), AT_ONCE)
    kept = [task for task in instance.tasks if held[task.row]]
    for record in answer.plain:
        (of_goal,) = record["goals"]
        assert record["fits_nowhere"] == len(instance.tasks) - len(kept)
        assert of_goal["met"] == policy_meets(workload, instance.tasks, record["policy"], goal)
        without = packenv.Workload(jobs=jobs.only(held), servers=remaining)
        met = len(kept) == len(jobs) and policy_meets(without, kept, record["policy"], goal)
        assert of_goal["met_without"] == met
        sentence = next(line for line in answer.footnotes() if line.startswith(f"{record['policy']}: "))
        assert met == sentence.startswith(f"{record['policy']}: without these servers all goals are met.")


@pytest.mark.parametrize("seed", seeds(8, 200))
def test_mixes(seed: int) -> None:
    """Of tasks with devices, which are in no gangs: no mix of any schedule costs less than the bound."""
    rng = random.Random(seed)
    instance = unequal_gangs(rng, [(6,), (4,)], devices=True)
    instance = replace(instance, tasks=[replace(task, gang=-1) for task in instance.tasks[:5]])
    goal, kinds = parse_goal(rng.choice(GOALS), None), Kinds(("6", "4"), (Fraction(3), Fraction(rng.choice([1, 2]))))
    workload = packenv.Workload(jobs=to_jobs(instance), servers=to_servers(instance))
    mixes = sorted(itertools.product(range(6), repeat=2), key=lambda mix: kinds.total(mix))
    cheapest = next(
        mix for mix in mixes if some_schedule(instance.tasks, servers_of(instance, [0] * mix[0] + [1] * mix[1]), goal)
    )
    bound = least_cost(workload, [goal], kinds, 0.001, 2.0)
    assert max(bound.value, bound.of_integers) <= kinds.total(cheapest)
    for counts in itertools.product(range(6), repeat=2):
        if not bound.rows.admit(counts):
            assert not some_schedule(instance.tasks, servers_of(instance, [0] * counts[0] + [1] * counts[1]), goal)
    if all(fits_somewhere(workload)):
        search = Search(workload, "bf-js", [goal], 1, None, {"drain": True})
        mix = MixSearch(search, kinds, bound, ask).run().at.counts
        assert policy_meets(with_mix(workload, mix), instance.tasks, "bf-js", goal)


def test_first_fit_is_no_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gang of 4 and 6 on servers of 6 and 4: best fit starts it, and first fit never does."""
    file = tmp_path / "gang.csv"
    file.write_text("arrival,size,service,gang\n0,4,5,a\n0,6,5,a\n1,1,5,\n")
    main(["plan", str(file), "--servers", "1x6,1x4", "--add", "6", "-g", "max wait <= 9", "-p", "bf-js", "-p", "fifo-ff"])
    answer = capsys.readouterr().out
    assert "The 2 servers that exist are enough with bf-js" in answer and "No policy needs fewer" not in answer
    main(["plan", str(file), "--servers", "1x6,1x4,1x6", "--without", "2", "-g", "max wait <= 9", "-p", "bf-js", "-p", "fifo-ff"])
    answer = " ".join(capsys.readouterr().out.split())
    assert "bf-js: without these servers all goals are met." in answer
    assert "With 2 servers 3 tasks never start: fifo-ff leaves row 0 (from 0, by arrival) waiting on empty servers." in answer
    main(["evaluate", str(file), "--servers", "1x6,1x4", "-p", "bf-js", "-p", "fifo-ff", "--drain"])
    assert "fifo-ff: stopped, 3 tasks never start" in " ".join(capsys.readouterr().out.split())


def test_sixteen_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--servers", "16x64:250", "--slot-seconds", "1", "--without", "0-1", "-g", "p95 wait <= 1d", "-p", "easy"]
    main(["plan", str(CASES / "gangs-16-nodes.csv"), *words])
    assert "gangs-16-nodes.csv: 16 servers, and 14 without 0-1" in capsys.readouterr().out
