"""`packenv evaluate`: what it shows and writes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import packenv
from packenv.cli.evaluate import notices
from packenv.options.verbs import EvaluateOptions
from packenv.policy import find_policy
from packenv.results.fairness import unfairness
from packenv.results.job_times import efficiency
from packenv.runs.evaluate import planned
from tests.cli.evaluating import PAPER, evaluate, files, trace

ROOT = Path(packenv.__file__).parents[1]
# The fields in their order, with three that a reader needs to make sense of a run.
FIELDS = (
    *("policy", "workload", "servers", "seed", "slots", "arrived", "started", "completed", "waiting", "mean_queue", "max_queue"),
    *("mean_delay", "delay_p50", "delay_p95", "delay_p99", "utilisation", "verdict", "seconds", "tasks_per_second"),
)
OF_JOBS = ("makespan", "mean_completion", "completion_p50", "completion_p95", "completion_p99")
OF_DATA = (
    *("node_local", "rack_local", "remote", "task_completion", "task_service", "remote_slots", "scheduling_delay", "no_room"),
    "node_local_by_job_size",
)
WHOLE = ("fragmentation", "over_allocation", "unfairness", "efficiency", "progress_variance", "slowed", "completion_bound")
BY_CLASS = tuple(f"{length}_p{percent}" for length in ("short", "long") for percent in (50, 90, 99))
OF_RESPONSE = ("mean_slowdown", "slowdown_p95", "max_slowdown", "mean_response", "response_p95", "max_response")
MORE_FIELDS = (
    "left_out_share",
    "left_out_work",
    "slot_seconds",
    "warmup",
    "mean_waiting_size",
    "stopped",
    "slowdown_bound",
    "confidence",
    "load",
    "rho",
    *OF_JOBS,
    *OF_DATA,
    *WHOLE,
    *BY_CLASS,
    *OF_RESPONSE,
    "rejected",
    "rejected_by_reason",
)
GOOD_ROWS = ("0,0.6,3", "0,0.5,2", "1,0.4,2", "3,1.0,1")


def test_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    evaluate(*PAPER, "-p", "bf-js", "-p", "fifo-ff", "-p", "bf-js")
    out = capsys.readouterr().out
    for part in ("paper/fig4b: 5 servers, 0.09 tasks per slot, intensity 0.900", "mean queue", "p99", "verdict", "fifo-ff"):
        assert part in out
    assert out.count("bf-js") == 1


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    evaluate(*PAPER, "-p", "bf-js", "-p", "vqs:J=3", "--seed", 4, "--seeds", 3, "--json", path)
    records = json.loads(path.read_text())
    runs, summaries = records[:6], records[6:]
    assert [(r["policy"], r["seed"]) for r in runs] == [(p, s) for p in ("bf-js", "vqs:J=3") for s in (4, 5, 6)]
    assert all(set(r) == {"kind", *FIELDS, *MORE_FIELDS} for r in runs)
    assert [r["kind"] for r in records] == ["run"] * 6 + ["mean"] * 2
    assert [(r["policy"], r["seed"], r["seeds"]) for r in summaries] == [("bf-js", None, 3), ("vqs:J=3", None, 3)]
    for n, summary in enumerate(summaries):
        group = runs[3 * n : 3 * n + 3]
        queues = [r["mean_queue"] for r in group]
        assert summary["mean_queue"] == pytest.approx(np.mean(queues))
        assert summary["interval"]["mean_queue"] == pytest.approx(4.302653 * np.std(queues, ddof=1) / 3**0.5, rel=1e-5)
        assert summary["utilisation"] == pytest.approx([np.mean([r["utilisation"][0] for r in group])])
        assert set(FIELDS) <= set(summary)
    direct = packenv.simulate(packenv.workload("paper/fig4b"), "bf-js", 5000, seed=5)
    found = runs[1]
    assert (found["mean_queue"], found["arrived"], found["mean_delay"]) == (direct.mean_queue, direct.arrived, direct.mean_delay)
    assert found["verdict"] == str(direct.verdict)


def test_jobs_of_many_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table drawn by seed runs until it is done, and completion times are those of whole jobs."""
    path = tmp_path / "out.json"
    evaluate("price/fig2", "-p", "price", "-p", "fifo", "--seed", 1, "--seeds", 3, "--processes", 1, "--json", path)
    out = capsys.readouterr().out
    assert "price/fig2: " in out and "tasks with seed 1, 2 servers, all arrive in slot 0" in out
    assert "mean completion" in out and "no policy is stable" not in out
    runs, summaries = (records := json.loads(path.read_text()))[:6], records[6:]
    direct = packenv.simulate(packenv.workload("price/fig2"), "fifo", seed=2).jobs
    assert direct is not None
    expected = [direct.makespan, direct.mean, *(direct.quantile(share) for share in (0.5, 0.95, 0.99))]
    assert [runs[4][key] for key in OF_JOBS] == expected
    for n, summary in enumerate(summaries):
        makespans = [run["makespan"] for run in runs[3 * n : 3 * n + 3]]
        assert summary["makespan"] == pytest.approx(np.mean(makespans))
        assert summary["interval"]["makespan"] == pytest.approx(4.302653 * np.std(makespans, ddof=1) / 3**0.5, rel=1e-5)
    evaluate("price/fig2", "-p", "fifo", "--slots", 2, "--processes", 1, "--json", path)
    run, _ = json.loads(path.read_text())
    assert run["makespan"] is None and run["slots"] == 2
    for source in (("paper/fig4b", "--slots", 500), (trace(tmp_path, *GOOD_ROWS), "--servers", 1)):
        capsys.readouterr()
        evaluate(*source, "-p", "bf-js", "--processes", 1, "--json", path)
        assert {record[key] for record in json.loads(path.read_text()) for key in (*OF_JOBS, *WHOLE, *BY_CLASS)} == {None}
        assert "unfairness" not in capsys.readouterr().out


# Job 7: half of the server for 4 slots, and behind a barrier for 2. Job 3: all of it for 2. FIFO-FF starts them at 0, 6, 4.
TWO_JOBS = ("0,0.5,4,7,0,3", "0,0.5,2,7,1,3", "0,1.0,2,3,0,1")
COLUMNS = "arrival,size,service,job,phase,value"


def test_measures_of_whole_jobs_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    path, file = tmp_path / "out.json", trace(tmp_path, *TWO_JOBS, header=COLUMNS)
    evaluate(file, "--servers", 1, "-p", "fifo-ff", "-p", "fifo:blocking=false", "--processes", 1, "--json", path)
    assert "over-allocation   unfairness" in capsys.readouterr().out
    first, other, *summaries = json.loads(path.read_text())
    assert first["fragmentation"] == pytest.approx(4 * 0.5 / 6)  # half is free while job 3 waits, nothing while job 7 does
    assert first["over_allocation"] == 1 and first["unfairness"] == 1  # who waits has nothing
    assert first["efficiency"] == pytest.approx(2 * 0.25 / 8)  # job 3 is worth a quarter and ends in slot 6, job 7 in 8
    slots = np.arange(100) * 8 // 100
    seventh = np.where(slots < 4, slots, np.where(slots < 6, 4, slots - 2)) / 6
    third = np.clip(slots - 4, 0, 2) / 2
    assert first["progress_variance"] == pytest.approx(((seventh - third) ** 2 / 4).mean())
    assert first["slowed"] is None
    assert other["slowed"] == 0.5  # job 7 comes first: it ends in slot 6, job 3 in 8
    assert other["efficiency"] == pytest.approx(2 * 0.75 / 8)
    assert [summary["slowed"] for summary in summaries] == [None, 0.5]


def test_short_and_long_jobs_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Job 7's tasks take 3 slots on average, job 3's 2; a slot is a tenth of a second."""
    path, file = tmp_path / "out.json", trace(tmp_path, *TWO_JOBS, header=COLUMNS)
    evaluate(file, "--servers", 1, "--slot-seconds", 0.1, "-p", "fifo-ff", "--cutoff", 0.2, "--processes", 1, "--json", path)
    assert "up to 0.2 s on average" in capsys.readouterr().out
    for record in json.loads(path.read_text()):
        assert {record[key] for key in ("short_p50", "short_p90", "short_p99")} == {6.0}
        assert {record[key] for key in ("long_p50", "long_p90", "long_p99")} == {8.0}
    for source, cutoff in ((PAPER, 2), ((file, "--servers", 1), 0), ((file, "--servers", 1), "nan")):
        with pytest.raises(SystemExit):
            evaluate(*source, "--cutoff", cutoff)
        assert "--cutoff" in capsys.readouterr().err


def test_measures_of_a_run_that_is_cut(tmp_path: Path) -> None:
    """What happens after its last slot is not measured."""
    path, file = tmp_path / "out.json", trace(tmp_path, *TWO_JOBS, header=COLUMNS)
    evaluate(file, "--servers", 1, "-p", "fifo-ff", "--slots", 3, "--processes", 1, "--json", path)
    run, _ = json.loads(path.read_text())
    assert run["fragmentation"] == 0.5 and run["unfairness"] == 1 and run["efficiency"] == 0 and run["slots"] == 3


def test_measures_over_the_seeds(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    evaluate("price/fig2", "-p", "fifo", "-p", "price", "--seeds", 3, "--processes", 1, "--json", path)
    runs, summaries = (records := json.loads(path.read_text()))[:6], records[6:]
    setting = packenv.workload("price/fig2")
    longest = {seed: max(run["slots"] for run in runs if run["seed"] == seed) for seed in range(3)}
    for run in runs:
        result = packenv.simulate(setting, run["policy"], seed=run["seed"], schedule=True)
        jobs, times = setting.at(run["seed"]).jobs, result.jobs
        assert jobs is not None and times is not None and result.schedule is not None
        assert run["unfairness"] == unfairness(jobs, result.schedule, setting.servers.units)
        when, share = efficiency(jobs, times)
        curve = np.append(0.0, share)[np.searchsorted(when, np.arange(longest[run["seed"]]), side="right")]
        assert run["efficiency"] == pytest.approx(curve.mean())
    for n, summary in enumerate(summaries):
        # "slowed" compares with the first policy, which has none itself.
        for key in sorted({*WHOLE} - {"slowed"}) if n == 0 else WHOLE:
            values = [run[key] for run in runs[3 * n : 3 * n + 3]]
            assert summary[key] == pytest.approx(np.mean(values))
            assert summary["interval"][key] == pytest.approx(4.302653 * np.std(values, ddof=1) / 3**0.5, rel=1e-5)
    assert summaries[0]["slowed"] is None and summaries[1]["slowed"] is not None


def test_where_tasks_ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three tasks on three servers: at home, in the rack (5 slots more at factor 2, half of which are due), and without data."""
    path, rows = tmp_path / "out.json", ("0,1,4,0,5", "0,1,4,0,5", "0,1,4,,5")
    file = trace(tmp_path, *rows, header="arrival,size,service,home,remote_overhead")
    network = ("--racks", 2, "--network", "0:2,9:0")
    evaluate(file, "--servers", 3, "-p", "bf-j", *network, "--processes", 1, "--json", path)
    assert "tasks with data" in capsys.readouterr().out
    run, summary = json.loads(path.read_text())
    assert [run[key] for key in OF_DATA[:-1]] == [0.5, 0.5, 0.0, (4 + 9) / 2, 4, 2.5, 0.0, 0.0]
    assert run["node_local_by_job_size"] == {"1": 0.5, "2-10": None, "11-100": None, ">100": None}
    assert summary["remote_slots"] == 2.5
    with pytest.raises(SystemExit):
        evaluate(file, "--servers", 3, "--network", "0:-2")
    assert "times and factors >= 0, not 0:-2" in capsys.readouterr().err


def test_schedule(tmp_path: Path) -> None:
    path, file = tmp_path / "schedule.parquet", trace(tmp_path, *GOOD_ROWS)
    evaluate(file, "--servers", 1, "-p", "bf-j", "--processes", 1, "--schedule", path)
    table = pq.read_table(path)
    assert table.to_pydict() == {  # slots 0 to 3: row 1 is in service in the last one
        "task": [0, 1, 2, 3],
        "job": [0, 1, 2, 3],
        "row": [1, 2, 3, 4],
        "arrival": [0, 0, 1, 3],
        "start": [0, 3, 1, None],
        "server": [0, 0, 0, None],
        "end": [3, None, 3, None],
    }
    as_csv = tmp_path / "schedule.csv"
    evaluate(file, "--servers", 1, "-p", "bf-j", "--processes", 1, "--schedule", as_csv)
    assert as_csv.read_text().splitlines()[:3] == [
        '"task","job","row","arrival","start","server","end"',
        "0,0,1,0,0,0,3",
        "1,1,2,0,3,0,",
    ]
    assert find_policy(f"replay:{as_csv}").start.tolist() == [0, 3, 1, -1]
    evaluate(file, "--servers", 1, "-p", "bf-j", "-p", "bf-js", "--processes", 1, "--schedule", path, "--drain")
    table = pq.read_table(path)
    assert table.column_names == ["task", "job", "row", "arrival", "start", "server", "end", "policy", "seed"]
    assert table["start"].to_pylist() == [0, 3, 1, 5, 0, 4, 1, 3]
    assert table["policy"].to_pylist() == ["bf-j"] * 4 + ["bf-js"] * 4
    assert set(table["seed"].to_pylist()) == {0}


def test_a_plot_shows_the_fragmentation_of_devices(tmp_path: Path) -> None:
    """Of plain workloads no schedule is kept for a picture."""
    evaluate("gpu/openb-like", "-p", "bf-js", "--slots", 3000, "--plot", tmp_path / "queues.svg")
    assert "Fragmentation: bf-js" in (tmp_path / "queues.svg").read_text()
    workloads = [packenv.workload(name) for name in ("paper/fig4b", "gpu/openb-like")]
    plans = [planned(workload, ["bf-js"], EvaluateOptions(), devices_schedule=True) for workload in workloads]
    kept = [next(iter(plan.missing().values())) for plan in plans]
    assert [run.options["schedule"] for run in kept] == [False, True]


def test_plot(tmp_path: Path) -> None:
    evaluate(*PAPER, "-p", "bf-js", "--seeds", 2, "--plot", tmp_path / "queues.png")
    assert (tmp_path / "queues.png").read_bytes().startswith(b"\x89PNG")
    assert files(tmp_path) == {"queues.png"}


def test_users_policy(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    mine = "tests.cluster.user_policies"
    evaluate(*PAPER, "-p", f"{mine}:Timer:period=50", "-p", f"{mine}:HoldInPython", "--json", path)
    names = [record["policy"] for record in json.loads(path.read_text())]
    assert names == ["Timer:period=50", "HoldInPython"] * 2


@pytest.mark.slow
def test_several_processes_are_as_one(tmp_path: Path) -> None:
    for processes in (1, 2):
        evaluate(*PAPER[:3], "-p", "bf-js", "--seeds", 2, "--processes", processes, "--json", tmp_path / f"{processes}.json")
    one, two = (json.loads((tmp_path / f"{n}.json").read_text()) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert a["mean_queue"] == b["mean_queue"]
        assert a["delay_p99"] == b["delay_p99"]


def test_stopped_run_keeps_what_it_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.json"
    over = ("paper/fig4b", "--intensity", 2, "--slots", 100_000, "--processes", 1, "--warmup", 0)
    evaluate(*over, "-p", "fifo-ff", "--max-waiting", 50, "--json", path)
    run, _ = json.loads(path.read_text())
    assert run["stopped"].startswith("more than 50 tasks waiting in slot ")
    assert run["waiting"] == run["max_queue"] == 50
    assert 0 < run["slots"] < 100_000
    assert run["arrived"] == run["started"] + run["waiting"]
    assert "fifo-ff: stopped, more than 50 tasks waiting" in " ".join(capsys.readouterr().out.split())


def test_run_stopped_in_its_warmup_does_not_claim_an_empty_queue() -> None:
    workload = packenv.workload("paper/fig4b", intensity=2)
    result = packenv.simulate(workload, "fifo-ff", 100_000, waiting_limit=50)
    assert result.slots < result.warmup
    assert (result.mean_queue, result.utilisation) != (0.0, (0.0,))


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_interrupt(processes: int, tmp_path: Path) -> None:
    long = 10**8 if processes == 1 else 10**10
    words: list[object] = ["evaluate", "paper/fig4b", "-p", "bf-js", "--slots", long, "--seeds", 2, "--processes", processes]
    words += ["--json", tmp_path / "out.json"] + (["--schedule", tmp_path / "out.parquet"] if processes == 1 else [])
    process = subprocess.Popen(
        [sys.executable, "-m", "packenv.cli.main", *map(str, words)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background ignores it
    )
    time.sleep(4)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert err.splitlines()[-1] == "packenv: interrupted"
    assert "Traceback" not in err
    assert files(tmp_path) == set()


MINE = """
from packenv.cluster import NONE, first_server_for, oldest, place


class Mine:
    def schedule(self, cluster, state):
        while oldest(cluster) != NONE and first_server_for(cluster, oldest(cluster)) != NONE:
            place(cluster, oldest(cluster), first_server_for(cluster, oldest(cluster)))
"""


def test_users_module_beside_the_user(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    command = [Path(sys.executable).with_name("packenv"), "evaluate", "paper/fig4b", "--slots", "50", "-p", "mine:Mine"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_reserve_says_how_long_its_age_is() -> None:
    """A default in slots is a few minutes of a log in seconds; where slots have no length, nothing is said."""
    stream = packenv.workload("paper/fig4b")
    assert notices(stream, ("reserve",)) == []
    said = "reserve: reserves servers for waits above 16 min 40 s (age=1000 slots)"
    assert notices(stream.with_(slot_seconds=1.0), ("reserve",)) == [said]


def test_a_backlog_has_no_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A load that a workload's file says is that of arrivals which are not made."""
    packenv.workload("paper/fig3a", load=0.8).save(tmp_path / "mine.json")
    words = ("--backlog", 20, "--slots", 2000, "--seeds", 1, "-p", "bf-js", "--json", tmp_path / "out.json")
    evaluate(tmp_path / "mine.json", *words)
    assert "load" not in capsys.readouterr().out
    assert {record["load"] for record in json.loads((tmp_path / "out.json").read_text()) if "load" in record} == {None}
