"""Policies at one number of servers: differences by hand, and paired over seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import packenv
from packenv.cli.main import main
from packenv.planning.search import with_servers
from packenv.planning.trials import Trial
from packenv.planning.what_if import compared
from packenv.runs.statistics import mean_and_half
from packenv.simulation import simulate
from packenv.workloads.laws import Geometric, Uniform
from tests.cli.evaluating import trace


def trial(*values: float | None) -> Trial:
    return Trial(3, [[*values]], True, True, [True])


def test_one_run_stands_for_every_seed() -> None:
    first, second = compared(["a", "b"], [trial(2.0), trial(5.0, 1.0, None)])
    assert first.less_first == ((0.0,),) and second.less_first == ((3.0, -1.0, None),)
    _, second = compared(["a", "b"], [trial(1.0, 2.0), trial(1.0, 5.0, 3.0, 4.0)])  # it took more seeds: those that both have
    assert second.less_first == ((0.0, 3.0),)


def test_a_trace_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """FIFO puts 0.4 + 0.4 on the first of two servers and keeps one 0.6 waiting for 10 slots; largest first keeps none.

    FIFO needs three servers, and with three neither keeps any.
    """
    out = tmp_path / "plan.json"
    tasks = trace(tmp_path, "0,0.4,10", "0,0.4,10", "0,0.6,10", "0,0.6,10")
    main(["plan", str(tasks), "-g", "max wait <= 0", "-p", "bf-s", "-p", "fifo-ff", "--json", str(out)])
    said = capsys.readouterr().out
    assert "all policies with 3 servers" in said and "minus bf-s's" in said
    first, second = json.loads(out.read_text())
    assert (first["servers"], second["servers"]) == (2, 3)
    assert first["common"]["servers"] == second["common"]["servers"] == 3 and second["common"]["less"] == "bf-s"
    assert second["common"]["goals"] == [{"goal": "max wait <= 0", "value": [0, None, None], "difference": [0, None, None]}]
    main(["plan", str(tasks), "-g", "max wait <= 10", "-p", "fifo-ff", "-p", "bf-s", "--json", str(out)])
    _, second = json.loads(out.read_text())
    value = second["common"]["goals"][0]
    table = packenv.Workload(jobs=packenv.Jobs.of([0] * 4, [0.4, 0.4, 0.6, 0.6], [10] * 4), servers=1)
    waits = [
        simulate(with_servers(table, second["common"]["servers"]), name, drain=True).max_delay for name in ("fifo-ff", "bf-s")
    ]
    assert value["difference"][0] == (waits[1] or 0) - (waits[0] or 0)


def test_a_stream_is_paired_over_its_fresh_seeds(tmp_path: Path) -> None:
    """The difference is that of the seeds which confirmed the answers, run once more here, and not of the search's."""
    out = tmp_path / "plan.json"
    words = ["--sizes", "uniform:0.1:0.9", "--service", "geometric:20", "--rate", "0.2", "--slots", "4000", "--seeds", "3"]
    main(["plan", *words, "-g", "mean wait <= 4", "-p", "bf-js", "-p", "fifo-ff:stall", "--json", str(out)])
    first, second = json.loads(out.read_text())
    servers = max(first["servers"], second["servers"])
    assert first["servers"] < servers == second["common"]["servers"]
    workload = packenv.Workload(sizes=Uniform(0.1, 0.9), service=Geometric(20), rate=0.2, servers=servers)
    waits = [[simulate(workload, p, slots=4000, seed=s).mean_delay for s in (3, 4, 5)] for p in ("bf-js", "fifo-ff:stall")]
    mean, half = mean_and_half([(b or 0.0) - (a or 0.0) for a, b in zip(*waits, strict=True)])
    assert mean is not None and half is not None and mean > 0 and half > 0
    assert second["common"]["goals"][0]["difference"] == pytest.approx([mean, mean - half, mean + half])
