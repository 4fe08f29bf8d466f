"""The number of servers that goals on the mean need: of an Erlang queue with formulas, and of policies that know durations."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import packenv
from packenv import Workload
from packenv.cli.main import main
from packenv.planning.goals import parse_goal
from packenv.planning.lower_bounds.fewest_servers import (
    BLIND,
    Fewest,
    fewest_for,
    fewest_for_queue,
    fewest_servers,
    knows_durations,
)
from packenv.planning.search import with_servers
from packenv.workloads.laws import Constant, Fixed, Geometric
from packenv.workloads.laws.arrivals import Poisson
from tests.planning.test_plans import erlang_c_wait

ERLANG = Workload(sizes=Constant(1), service=Geometric(200), rate=8 / 200, servers=1, arrivals=Poisson())


@pytest.mark.parametrize("least", [10, 12])
def test_an_erlang_queue(least: int) -> None:
    """Nearly M/M/k with a = 8, of which the proof is nearly tight: between the waits of k - 1 and k servers it asks for k."""
    wait = math.sqrt(erlang_c_wait(8, least, 200) * erlang_c_wait(8, least - 1, 200))
    for goal in (f"mean wait <= {wait}", f"mean queue <= {wait * ERLANG.rate}"):
        goals = [parse_goal(goal, None)]
        assert fewest_servers(ERLANG, goals, 0.001, 20.0) == 9  # stability asks for no more
        assert fewest_for(ERLANG, goals, ["bf-js"], 0.001, 20.0) == Fewest(least, BLIND)


def test_each_number_that_is_ruled_out_is_proved() -> None:
    """The proof for one server less holds when it is checked, and is above the goal."""
    goal = parse_goal("mean wait <= 30", None)
    least = fewest_for_queue(ERLANG, [goal], 9, 20.0)
    below = with_servers(ERLANG, least - 1)
    bound = packenv.queue_bound(below)
    bound.verify(below)
    assert bound.value > 30 * ERLANG.rate >= packenv.queue_bound(with_servers(ERLANG, least)).value


def test_where_it_does_not_hold() -> None:
    """Not for policies that know durations, nor other laws of service, nor goals on quantiles; nor without time for a proof."""
    goals = [parse_goal("mean wait <= 10", None)]
    assert not knows_durations("bf-js", ERLANG) and knows_durations("easy", ERLANG)
    assert fewest_for(ERLANG, goals, ["bf-js", "easy"], 0.001, 20.0) == Fewest(9)
    assert fewest_for(ERLANG.with_(service=Fixed(200), rate=ERLANG.rate), goals, ["bf-js"], 0.001, 20.0) == Fewest(9)
    assert fewest_for(ERLANG, [parse_goal("p95 wait <= 10", None)], ["bf-js"], 0.001, 20.0) == Fewest(9)
    assert fewest_for_queue(ERLANG, goals, 9, -1.0) == 9 < fewest_for_queue(ERLANG, goals, 9, 20.0)


def test_the_command_says_for_whom(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.json"
    words = ["--sizes", "constant:1", "--service", "geometric:20", "--rate", "0.4", "--slots", "3000", "--seeds", "2"]
    main(["plan", *words, "-g", "mean wait <= 1", "-p", "bf-js", "--json", str(out)])
    (record,) = json.loads(out.read_text())
    assert record["bound"] > 9 and record["bound_of"] == "every policy that does not know durations"
    assert "No policy that does not know durations" in " ".join(capsys.readouterr().out.split())
