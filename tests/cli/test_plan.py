"""`packenv plan`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import packenv
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.planning.failures import parse_failing, without_servers
from packenv.planning.goals import parse_goal
from packenv.planning.plan_charts import best_so_far
from packenv.runs.runner import Runner
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
    """All start at once with 4 servers, and half of them with 2."""
    out, picture = tmp_path / "plan.json", tmp_path / "plan.png"
    plan(
        tasks,
        "-g",
        "mean wait <= 0",
        "-g",
        "utilisation >= 10%",
        "-p",
        "bf-js",
        "-p",
        "fifo-ff",
        "--json",
        out,
        "--plot",
        picture,
    )
    said = capsys.readouterr().out
    assert "4 servers are enough with bf-js or fifo-ff for mean wait <= 0 and utilisation >= 10%. No policy needs fewer." in said
    records = json.loads(out.read_text())
    assert [(record["policy"], record["servers"], record["bound"]) for record in records] == [("bf-js", 4, 4), ("fifo-ff", 4, 4)]
    assert records[0]["goals"][0]["value"][0] == 0 and not records[0]["confirmed"]
    assert picture.stat().st_size > 10_000
    plan(tasks, "-g", "p50 wait <= 5", "-p", "bf-js", "--json", out)
    (record,) = json.loads(out.read_text())
    assert record["servers"] == 2 and record["goals"][0]["one_less"] is None  # no policy does with 1
    jobs = read_trace(str(tasks)).jobs(slot_seconds=1).jobs
    assert simulate(Workload(jobs=jobs, servers=Servers([1.0, 1.0])), "bf-js", drain=True).delay_p50 == 0


def test_a_workload_with_fresh_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laws, out = ("--sizes", "uniform:0.6:0.9", "--service", "geometric:50", "--rate", 0.09), tmp_path / "plan.json"
    plan(*laws, "-p", "bf-js", "--slots", 50_000, "--json", out)
    (record,) = json.loads(out.read_text())
    assert record["servers"] == record["bound"] == 5 and record["confirmed"] and record["goals"] == []
    assert record["between"] is None and "may still grow" not in capsys.readouterr().out
    plan(*laws, "-p", "bf-js", "--slots", 500, "--seeds", 1)
    assert "bf-js: with 5 servers the queue may still grow in longer runs" in capsys.readouterr().out


def test_one_policy_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Largest first leaves none waiting with 2 servers; FIFO needs 3, of which no policy can use 90 %."""
    tasks = trace(tmp_path, "0,0.4,10", "0,0.4,10", "0,0.6,10", "0,0.6,10")
    plan(tasks, "-g", "max queue <= 0", "-g", "utilisation >= 90%", "-p", "bf-s", "-p", "fifo-ff")
    said = capsys.readouterr().out
    cannot = "With 2 servers the max queue is 1. More than 2 are used too little under every policy."
    assert " ".join(said.split()).count(f"fifo-ff: no number of servers meets 'max queue <= 0'. {cannot}") == 1
    assert "2 servers are enough with bf-s for" in said


def test_kinds_of_machines(tasks: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Eight halves: two on a machine of 1, four on one of 2, which costs less than two of 1."""
    out = tmp_path / "mix.json"
    plan(tasks, "--types", "1=1,2=1.9", "-g", "mean wait <= 0", "-p", "bf-js", "--json", out)
    said = capsys.readouterr().out
    assert "2x2 for 3.8 are enough with bf-js for mean wait <= 0. No mix costs less under any policy." in said
    assert "one 2 less" in said
    (record,) = json.loads(out.read_text())
    assert record["machines"] == [0, 2] and record["cost"] == record["bound"] == 3.8
    assert record["one_less"][0] is None and not record["one_less"][1]["meets"]


def test_a_picture_and_a_page_of_mixes(tasks: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "mix.html", tmp_path / "mix.png"
    words = ("--types", "1=1,2=1.9", "-g", "mean wait <= 0", "-g", "utilisation >= 10%", "-p", "bf-js")
    plan(tasks, *words, "--report", page, "--plot", picture)
    assert picture.stat().st_size > 10_000
    said = page.read_text()
    for part in ("mean wait against cost", "utilisation against cost", "With 2x2 and bf-js", "any mix: 3.8 at least", "were run"):
        assert part in said
    plan("--sizes", "uniform:0.6:0.9", "--service", "geometric:50", "--rate", 0.09, "--slots", 2000, "-p", "bf-js", "--seeds", 1,
         "--types", "1=1,2=1.9", "--report", page, "--plot", picture)  # fmt: skip
    assert "Stable runs by cost" in page.read_text()


def test_the_best_of_no_more_cost() -> None:
    for text, best in (("mean wait <= 1", [5, 5, 2, 2]), ("utilisation >= 10%", [5, 7, 7, 7])):
        assert best_so_far([5.0, 7.0, 2.0, 3.0], parse_goal(text, None)) == best


def test_a_log_gives_the_same_bytes(tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call makes no run; after the loss of half of the log, those that are missing."""
    log, out = tmp_path / "plan.jsonl", tmp_path / "plan.json"
    words = (tasks, "-g", "mean wait <= 0", "-g", "p80 wait <= 0", "-p", "bf-js", "--log", log, "--json", out)
    plan(*words)
    first, lines = out.read_bytes(), log.read_bytes().splitlines(keepends=True)
    made: list[int] = []
    of_runner = Runner.each
    monkeypatch.setattr(Runner, "each", lambda self, runs, *rest: made.append(len(runs)) or of_runner(self, runs, *rest))
    plan(*words)
    assert out.read_bytes() == first and not made
    log.write_bytes(b"".join(lines[: len(lines) // 2]))
    plan(*words)
    assert out.read_bytes() == first and sum(made) == len(lines) - len(lines) // 2
    assert sorted(log.read_bytes().splitlines(keepends=True)) == sorted(lines)


def test_what_the_largest_tasks_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two whole-server tasks and two halves at once: three servers, one without the large ones, 2/3 of the work."""
    tasks = trace(tmp_path, "0,1,10", "0,1,10", "0,0.5,10", "0,0.5,10")
    plan(tasks, "-g", "mean wait <= 0", "-p", "bf-js", "--max-demand", 0.5)
    answer = "bf-js: 1 server without the 2 tasks above the limit, 2 fewer. These tasks are 66.7% of the work."
    assert answer in capsys.readouterr().out


def test_what_if_servers_fail(tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Eight halves: four servers hold them; on three two wait for 10 slots; on one and a half 3, 3 and 2 start in turn."""
    out = tmp_path / "without.json"
    words = (tasks, "-g", "mean wait <= 3", "-g", "max queue <= 0", "-p", "bf-js", "--json", out)
    plan(*words, "--servers", 4, "--without", "2")
    assert "bf-js: met with these servers, missed without: max queue <= 0." in " ".join(capsys.readouterr().out.split())
    (record,) = json.loads(out.read_text())
    assert (record["servers"], record["without"]) == (4, [2])
    (wait, queue) = record["goals"]
    assert [wait[key][0] for key in ("value", "value_without", "difference")] == [0, 2.5, 2.5]  # 2 of 8 wait for 10 slots
    assert wait["met"] and wait["met_without"] and queue["met"] and not queue["met_without"]
    plan(*words, "--servers", "2x1,2x0.5,1x1", "--without", "0,3-4")
    (record,) = json.loads(out.read_text())
    assert [record["goals"][0][key][0] for key in ("value", "value_without")] == [0, (3 * 10 + 2 * 20) / 8]


def test_servers_that_fail_have_names(tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of Slurm's nodes without the one that is drained: of the whole server that is left four halves wait for 10 slots."""
    nodes = tmp_path / "nodes.txt"
    listed = [("n1", 2, "IDLE"), ("n2", 2, "DRAIN"), ("n3", 2, "IDLE"), ("n4", 4, "IDLE")]
    nodes.write_text("".join(f"NodeName={name} CPUTot={cores} RealMemory=1 State={state}\n" for name, cores, state in listed))
    table = tmp_path / "cores.csv"
    table.write_text(tasks.read_text().replace("size", "cpu").replace("0.5", "1"))
    out, page = tmp_path / "without.json", tmp_path / "without.html"
    words = (table, "-g", "mean wait <= 9", "-p", "bf-js", "--servers", nodes, "--json", out, "--report", page)
    plan(*words, "--without", "n[1,4]")
    said = " ".join(capsys.readouterr().out.split())
    assert "3 servers, and 1 without n1 and n4;" in said
    assert "bf-js: met with n1 and n4, missed without: mean wait <= 9." in said
    (record,) = json.loads(out.read_text())
    assert record["without"] == ["n1", "n4"] and record["goals"][0]["value_without"][0] == (10 + 20 + 30) * 2 / 8
    assert "3, and 1 without n1 and n4" in page.read_text()
    for which, problem in (
        ("2", "--without 2: these servers have names; give names, such as --without n1,n3"),
        ("0-1", "--without 0-1: these servers have names"),
        (
            "n5",
            "--without n5: no server has this name; did you mean n4, n3, n1?; left out: 1 node that takes no jobs: n2 (DRAIN)",
        ),
        ("n2", "--without n2: it is not a server; left out: 1 node that takes no jobs: n2 (DRAIN)"),
        ("n1,n3,n4", "--without n1,n3,n4: no server is left"),
    ):
        with pytest.raises(SystemExit):
            plan(*words, "--without", which)
        assert problem in capsys.readouterr().err


def test_a_report_on_servers_that_fail(tasks: Path, tmp_path: Path) -> None:
    page = tmp_path / "without.html"
    plan(tasks, "-g", "max queue <= 0", "-p", "bf-js", "--servers", 4, "--without", "2", "--report", page)
    said = page.read_text()
    assert "4, and 3 without 2" in said and "bf-js: met with these servers, missed without: max queue" in said


def test_tasks_that_no_server_that_is_left_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With both, one half runs beside the whole task, and two in its place. Without the whole server its task fits nowhere,
    and of the three halves two wait, for 10 and 20 slots.
    """
    tasks, out = trace(tmp_path, "0,1,10", *["0,0.5,10"] * 3), tmp_path / "without.json"
    plan(tasks, "-g", "mean wait <= 9", "-p", "bf-js", "--servers", "1x1,1x0.5", "--without", 0, "--json", out)
    said = " ".join(capsys.readouterr().out.split())
    assert "Without these servers, there is no room for 1 of 4 tasks: 1 task that fits no server. So no goal is met." in said
    assert "bf-js: no goal is met without these servers. The other tasks miss without these servers: mean wait <= 9." in said
    assert " 5 10 – " in said
    (record,) = json.loads(out.read_text())
    assert record["fits_nowhere"] == 1
    assert [record["goals"][0][key][0] for key in ("value", "value_without", "difference")] == [5, 10, None]
    plan(tasks, "-g", "mean wait <= 10", "-p", "bf-js", "--servers", "1x1,1x0.5", "--without", 0, "--json", out)
    assert "The other tasks would meet all goals without these servers." in " ".join(capsys.readouterr().out.split())
    assert json.loads(out.read_text())[0]["goals"][0]["met_without"] is False


def test_growth_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A task of a whole server every 10 slots, for 10: one server; twice as many need two."""
    tasks, out = trace(tmp_path, *[f"{10 * n},1,10" for n in range(32)]), tmp_path / "plan.json"
    for growth, least in ((1, 1), (2, 2)):
        plan(tasks, "-g", "mean wait <= 1", "-p", "bf-js", "--growth", growth, "--draws", 3, "--json", out)
        (record,) = json.loads(out.read_text())
        assert record["servers"] == least and record["draws"]["least"] == [least] * 3
    answer = "of 3 draws of the trace's blocks of 10 slots, 80% need 2 to 2 servers, and 95% need 2 to 2."
    assert answer in capsys.readouterr().out


@pytest.mark.parametrize(
    "more, problem",
    [
        (("-g", "p50 wait <= 1", "--types", "1"), "not of the form CAPACITY=COST"),
        (("-g", "p50 wait <= 1", "--types", "1=1", "--servers", "1"), "give either --servers or --types"),
        (("-g", "p50 wait <= 1", "--types", "1=1,0.2=0.1"), "--types 0.2: no task of"),
        (
            ("-g", "p50 wait <= 1", "--types", "1=1", "--draws", 3),
            "--draws does not go with --types; leave it out, or use a number of equal servers",
        ),
        (("-g", "p50 wait <= 1", "--growth", "0"), "--growth must be above 0"),
        (("-g", "p50 wait <= 1", "--add", "1"), "a trace needs --servers"),
        (("-g", "p50 wait <= 1", "--servers", "2", "--add", "1", "--without", "1"), "--add does not go with --without"),
        ((), "any number of servers finishes a trace in the end: give a --goal, such as p95 wait <= 60s"),
        (("-g", "p50 wait <= 1", "--slots", 9), "--slots is for workloads: a trace runs to its end"),
        (
            ("-g", "p50 wait <= 1", "--servers", "1x1,1x0.5"),
            "has servers of 2 kinds: choose --add",
        ),
        (("-g", "max queue <= 3", "-g", "utilisation >= 100%"), "no policy meets the goals"),
        (("-g", "makespan <= 5"), "make no jobs"),
        (("-g", "p99 wait <= 5"), "too few for a p99: of 8 tasks it is the largest; trace.csv would have to have at least 100"),
        (("-g", "p50 wait <= 5", "--without", "1"), "--without needs --servers"),
        (("-g", "p50 wait <= 5", "--servers", "3", "--without", "1-x"), "--without '1-x': not of the form 3,7,10-12"),
        (
            ("-g", "p50 wait <= 5", "--servers", "3", "--without", "2,3"),
            "--without 3: no server 3; they are numbered from 0 to 2",
        ),
        (("-g", "p50 wait <= 5", "--servers", "3", "--without", "2-1"), "--without 2-1: the range must go up"),
        (("-g", "p50 wait <= 5", "--servers", "3", "--without", "0-1,2"), "--without 0-1,2: no server is left"),
        (
            ("-g", "p50 wait <= 5", "--servers", "1x1,2x0.4", "--without", "0"),
            "without these servers 8 of 8 tasks fit nowhere: trace.csv: row 1: a demand of 0.5 fits in no server",
        ),
        (("-g", "p50 wait <= 5", "--types", "1=1", "--without", "0"), "--without does not go with --types"),
    ],
)
def test_bad_input(tasks: Path, more: tuple[object, ...], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        plan(tasks, "-p", "bf-js", *more)
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("failing", "names"),
    [("n1,n3", ["n1", "n3"]), ("n[1,3]", ["n1", "n3"]), (" n[1-2] , n4", ["n1", "n2", "n4"]), ("n[1-2,4]", ["n1", "n2", "n4"])],
)
def test_host_lists(failing: str, names: list[str]) -> None:
    servers = Servers(np.ones((4, 1)), names=("n1", "n2", "n3", "n4"))
    assert [servers.names[n] for n in parse_failing(failing, servers)] == names
    for text in ("n[2-1]", "n[1-999999999999]", "n[]", "n[1"):
        with pytest.raises(InputError, match=r"--without n\["):
            parse_failing(text, servers)


def test_gangs_without_room_on_the_remaining_servers() -> None:
    """Two tasks of 1 need both servers; alone each has room."""
    gang = packenv.Jobs.of([0, 0, 0, 0, 0, 0], [1, 1, 0.5, 0.5, 0.5, 0.5], [10] * 6, gang=[0, 0, -1, -1, -1, -1])
    workload = packenv.Workload(jobs=gang, servers=2)
    assert without_servers(workload, [0])[1] == {"tasks in gangs that all servers together cannot hold": 2}
