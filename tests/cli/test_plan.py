"""`packenv plan`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packenv.cli.main import main
from packenv.simulation import simulate
from packenv.workloads.servers import Servers
from packenv.workloads.traces import read_trace
from packenv.workloads.workload import Workload
from tests.cli.evaluating import trace


def plan(*arguments: object) -> None:
    main(["plan", *map(str, arguments)])


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Eight tasks of half a server at once, for 10 slots each: n servers hold 2 n of them, and the others wait for 10 slots."""
    return trace(tmp_path, *["0,0.5,10"] * 8)


def test_a_trace(tasks: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """95 % start at once with 4 servers, and half of them with 2."""
    out, picture = tmp_path / "plan.json", tmp_path / "plan.png"
    plan(
        tasks, "-g", "p95 wait <= 5", "-g", "utilisation >= 10%", "-p", "bf-js", "-p", "fifo-ff", "--json", out, "--plot", picture
    )
    said = capsys.readouterr().out
    assert "4 servers with bf-js or fifo-ff for p95 wait <= 5 and utilisation >= 10%; no policy needs fewer." in said
    records = json.loads(out.read_text())
    assert [(record["policy"], record["servers"], record["bound"]) for record in records] == [("bf-js", 4, 4), ("fifo-ff", 4, 4)]
    assert records[0]["goals"][0]["value"][0] == 0 and not records[0]["confirmed"]
    assert picture.stat().st_size > 10_000
    plan(tasks, "-g", "p50 wait <= 5", "-p", "bf-js", "--json", out)
    (record,) = json.loads(out.read_text())
    assert record["servers"] == 2 and record["goals"][0]["one_less"] is None  # no policy does with 1
    jobs = read_trace(str(tasks)).jobs(slot_seconds=1).jobs
    assert simulate(Workload(jobs=jobs, servers=Servers([1.0, 1.0])), "bf-js", drain=True).delay_p50 == 0


def test_a_workload_with_fresh_seeds(tmp_path: Path) -> None:
    laws, out = ("--sizes", "uniform:0.6:0.9", "--service", "geometric:50", "--rate", 0.09), tmp_path / "plan.json"
    plan(*laws, "-p", "bf-js", "--slots", 50_000, "--json", out)
    (record,) = json.loads(out.read_text())
    assert record["servers"] == record["bound"] == 5 and record["confirmed"] and record["goals"] == []


def test_one_policy_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Largest first leaves none waiting with 2 servers; FIFO needs 3, and uses less of each."""
    tasks = trace(tmp_path, "0,0.4,10", "0,0.4,10", "0,0.6,10", "0,0.6,10")
    plan(tasks, "-g", "max queue <= 0", "-g", "utilisation >= 90%", "-p", "bf-s", "-p", "fifo-ff")
    said = capsys.readouterr().out
    assert "fifo-ff: no number of servers meets 'utilisation >= 90%': with 3 servers, the fewest for the others" in said
    assert "2 servers with bf-s for" in said


@pytest.mark.parametrize(
    "more, problem",
    [
        ((), "a trace is served by any number of servers in the end: give a --goal, such as p95 wait <= 60s"),
        (("-g", "p95 wait <= 1", "--slots", 9), "--slots is for workloads"),
        (("-g", "p95 wait <= 1", "--servers", "1x1,1x0.5"), "has servers of 2 kinds: say which, such as --servers 1x1"),
        (("-g", "max queue <= 3", "-g", "utilisation >= 100%"), "none of the policies meets the goals"),
        (("-g", "makespan <= 5"), "make no jobs"),
    ],
)
def test_bad_input(tasks: Path, more: tuple[object, ...], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        plan(tasks, "-p", "bf-js", *more)
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err.splitlines()[-1]
