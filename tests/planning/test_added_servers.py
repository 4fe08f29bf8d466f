"""How many servers more of a kind: against every number in turn, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import Jobs, Workload
from packenv.cli.main import main
from packenv.planning.goals import parse_goal
from packenv.planning.lower_bounds.fewest_servers import fewest_servers
from packenv.planning.search import most_used
from packenv.simulation import simulate
from packenv.workloads.laws import Geometric, Uniform
from packenv.workloads.servers import parse_servers
from tests.cli.evaluating import trace
from tests.seeds import seeds

KINDS = ("1:1", "0.5:1", "1:0.3")


def work(rng: np.random.Generator, tasks: int = 50) -> Jobs:
    """Some tasks need more than half a server of the first resource, so that they fit one kind alone."""
    demand = np.column_stack([rng.uniform(0.05, 0.9, tasks), rng.uniform(0.05, 0.3, tasks)])
    return Jobs.of(np.sort(rng.integers(0, 60, tasks)), demand, rng.integers(1, 40, tasks))


@pytest.mark.parametrize("seed", seeds(1, 5))
@pytest.mark.parametrize("goal", ["p90 wait <= 3", "max wait <= 30", "mean wait <= 8", "max queue <= 4"])
def test_against_every_number(seed: int, goal: str) -> None:
    """The least number with which the goal is met, found one by one from none on, where more never harm here; and a bound that
    is not above that of either policy.
    """
    there, kind = "2x1:1,1x0.5:1", KINDS[seed % 3]
    workload = Workload(jobs=work(np.random.default_rng(seed)), servers=there, resources=("cpu", "memory"))
    wanted, policies = parse_goal(goal, None), ["bf-js", "fifo-ff"]
    runs = {
        policy: [wanted.met(wanted.value(simulate(with_more(workload, there, kind, n), policy, drain=True))) for n in range(26)]
        for policy in policies
    }
    met = {policy: of_numbers for policy, of_numbers in runs.items() if True in of_numbers}
    try:
        plans = packenv.plan(workload, goal, policies=policies, add=kind)
    except packenv.InputError:
        assert not met
        return
    assert set(met) <= set(plans.plans)
    for policy, of_numbers in met.items():
        more = plans.plans[policy].servers - 3
        assert of_numbers[more] and (more == 0 or not of_numbers[more - 1])
        if all(of_numbers[of_numbers.index(True) :]):
            assert more == of_numbers.index(True)
        assert 3 <= plans.bound.servers <= of_numbers.index(True) + 3


def with_more(workload: Workload, there: str, kind: str, more: int) -> Workload:
    return workload.with_(servers=f"{there},{more}x{kind}" if more else there)


def test_a_bound_by_hand() -> None:
    """Four tasks of a whole server for 10 slots, and no wait: beside a server and two halves, on which none fits, three more."""
    table = {"arrival": [0, 0, 0, 0], "cpu": [1, 1, 1, 1], "memory": [1, 1, 1, 1], "service": [10] * 4}
    plans = packenv.plan(table, "max wait <= 0", policies=["bf-js"], servers="1x1:1,2x0.5:0.5", add="1:1")
    assert (plans.bound.servers, plans.servers) == (6, 6)
    assert plans.records[0]["added"] == 3 and plans.records[0]["server"] == [1, 1]
    assert plans.to_frame().to_pylist()[0]["added"] == 3
    answer = "3 more servers of capacity 1:1 (6 in all) are enough with bf-js for max wait <= 0. No policy needs fewer."
    assert answer in str(plans.table())
    check_bound(plans, 3)


def check_bound(plans: packenv.ServerPlans, more: int | None) -> None:
    """What is said of every policy, in each place, is of servers more, and nothing is said where none is proved to be needed:
    what is there may be more than is needed.
    """
    said = [] if more is None else [("No policy needs fewer than", f"{more} more")]
    assert [fact for fact in plans.page().facts if fact[0].startswith("No ")] == said
    assert [fact for fact in plans.facts() if fact[0] == "any policy"] == [("any policy", f"at least {more} more") for _ in said]
    rules = [rule.label for figure in plans.charts().figures for rule in figure.chart.up]
    assert rules == [f"any policy: {more} more at least" for _ in said]
    for record in (*plans.records, *plans.to_frame().to_pylist(), plans.to_dict()):
        assert "bound" not in record and record["added_bound"] == more and record["added"] == record["servers"] - record["there"]


def test_tasks_that_only_the_added_kind_holds() -> None:
    """Two of them: with none more they fit nowhere, with one the second waits for the first."""
    table = {"arrival": [0, 0, 0], "size": [2, 2, 0.5], "service": [10] * 3}
    for goal, more in (("max wait <= 10", 1), ("max wait <= 0", 2)):
        plans = packenv.plan(table, goal, policies=["bf-js"], servers="1x1", add="2")
        assert plans.servers == 1 + more and plans.bound.servers >= 2


def test_enough_as_it_is() -> None:
    table = {"arrival": [0, 0, 0], "size": [1, 0.5, 0.5], "service": [10] * 3}
    plans = packenv.plan(table, "max wait <= 0", policies=["bf-js", "fifo-ff"], servers="1x1,2x0.5", add="0.5")
    assert plans.servers == 3 and all(plan.below is None for plan in plans.plans.values())
    assert plans.sentences[0] == "The 3 servers that exist are enough with bf-js or fifo-ff for max wait <= 0."
    check_bound(plans, None)


def test_more_that_are_not_proved_to_be_needed() -> None:
    """Of the queue of a table nothing is proved: it may be that another policy does with the server that is there."""
    table = {"arrival": [0, 0], "size": [1, 1], "service": [10] * 2}
    plans = packenv.plan(table, "max queue <= 0", policies=["bf-js"], servers="1x1", add="1")
    assert plans.sentences[0].endswith("with bf-js for max queue <= 0. It is not proved that every policy needs more.")
    check_bound(plans, None)


def test_a_kind_that_cannot_help() -> None:
    """The second whole task waits for the first, however many halves there are."""
    table = {"arrival": [0, 0, 0], "size": [1, 1, 0.5], "service": [10] * 3}
    with pytest.raises(packenv.InputError) as refusal:
        packenv.plan(table, "max wait <= 0", policies=["bf-js"], servers="1x1", add="0.5")
    said = str(refusal.value)
    assert said.startswith("bf-js: no number of added servers of capacity 0.5 meets 'max wait <= 0'. With 4 servers the max ")
    assert "That is one more server for each task. 2 of 3 tasks fit only existing servers" in said


def test_a_stream() -> None:
    """Tasks of more than half of a server of 1, each on one by itself; 5.2 are in service on average: three more than three."""
    workload = Workload(sizes=Uniform(0.6, 0.9), service=Geometric(50), rate=5.2 / 50, servers="2x1,1x0.95")
    plans = packenv.plan(workload, policies=["bf-js"], add="1", slots=300_000, seeds=2)
    assert plans.servers == plans.bound.servers == 6


def test_gangs_that_need_more_servers() -> None:
    """Four tasks that start together, each of a whole server: two of the three that are there hold none of them."""
    table = {"arrival": [0] * 5, "size": [1] * 4 + [0.5], "service": [10] * 5, "gang": ["a"] * 4 + [""]}
    plans = packenv.plan(table, "max wait <= 10", policies=["fifo-ff"], servers="1x1,2x0.5", add="1")
    assert plans.servers == plans.bound.servers == 6


def test_other_days_and_a_utilisation() -> None:
    """A task of a whole server every 10 slots, for 20: two whole servers; and no more than the room that is used."""
    table = {"arrival": [10 * n for n in range(32)], "size": [1] * 32, "service": [20] * 32}
    plans = packenv.plan(table, "mean wait <= 0", policies=["bf-js"], servers="1x1,1x0.5", add="1", draws=3)
    assert plans.servers == 3 and plans.draws["bf-js"].least == (3, 3, 3)
    workload = Workload(jobs=Jobs.of([0, 10], [1.0, 1.0], [10, 10]), servers="1x1,1x0.5,1x1")
    used = [most_used(workload, [parse_goal(f"utilisation >= {share}", None)], 2) for share in (0.3, 0.4, 0.5, 0.9)]
    assert used == [3, 3, 2, 1]  # 20 slots of 1 in 20: 1 / 0.3 is a room of 3.33, 1 / 0.4 of 2.5, and 1.5 are there


def test_the_command_that_is_named_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A refusal names `--add` first; with it the plan is made, and written, drawn and shown on a page."""
    file = trace(tmp_path, *["0,0.5,10"] * 8)
    words: list[Any] = ["plan", str(file), "-g", "max queue <= 0", "-p", "bf-js", "--servers", "1x0.5,2x1"]
    with pytest.raises(SystemExit):
        main(words)
    refusal = capsys.readouterr().err
    assert "has servers of 2 kinds: choose --add 1 (more of one kind), --servers 1x1 (one kind alone) or --types 0.5=" in refusal
    works = f". This works:\npackenv plan {file} -g 'max queue <= 0' -p bf-js --servers 1x0.5,2x1 --add 1"
    assert refusal.rstrip().endswith(works)
    out, page, picture = (tmp_path / name for name in ("plan.json", "plan.html", "plan.png"))
    main([*words, "--add", "1", "--json", str(out), "--report", str(page), "--plot", str(picture)])
    (record,) = json.loads(out.read_text())
    assert (record["servers"], record["added"], record["server"]) == (5, 2, [1])
    assert "2 more servers of capacity 1 (5 in all) are enough with bf-js" in " ".join(capsys.readouterr().out.split())
    shown = page.read_text()
    assert "2 more servers of capacity 1 (5 in all)" in shown and "Existing servers" in shown and picture.stat().st_size > 0
    for add, problem in (("2x1", "--add 2x1: leave out the number, which is the answer: 1"), ("1:1", "such as 0.5")):
        with pytest.raises(SystemExit):
            main([*words, "--add", add])
        assert problem in capsys.readouterr().err


def test_kinds_of_devices() -> None:
    servers = parse_servers("1x4:1@A,1x4:2@B", 2).and_kind("4:2@C")
    assert str(servers) == "1x4:1@A,1x4:2@B,1x4:2@C" and servers.device_kinds == ("A", "B", "C")
    assert str(parse_servers("1x4:1", 2).and_kind("4:2@8*C")) == "1x4:1@,1x4:2@8*C"


def test_the_bound_of_a_mean_counts_what_is_there() -> None:
    """Eight tasks of a whole server in slot 0, for 10 slots each: of at most 40 slots of wait all but 40 of 80 are in service."""
    jobs = Jobs.of([0] * 8, [1.0] * 8, [10] * 8)
    workload = Workload(jobs=jobs, servers="1x1,4x0.5,1x1")
    equal = fewest_servers(workload.with_(servers="1x1"), [parse_goal("mean wait <= 5", None)], 0.001, 5.0)
    assert fewest_servers(workload, [parse_goal("mean wait <= 5", None)], 0.001, 5.0, there=5) == 4 + equal
