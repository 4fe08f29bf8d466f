"""`packenv evaluate` on traces: schedules, seeds of policies that draw by chance, seconds, and tables in pipes and terminals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import packenv
from packenv.errors import InputError
from packenv.policy import find_policy
from tests.cli.evaluating import evaluate, trace

# Job 7: half of the server for 4 slots, and behind a barrier for 2. Job 3: all of it for 2. FIFO-FF starts them at 0, 6, 4.
ROWS = ("0,0.5,4,7,0,3", "0,0.5,2,7,1,3", "0,1.0,2,3,0,1")
COLUMNS = "arrival,size,service,job,phase,value"


def test_schedule_of_jobs_of_several_tasks(tmp_path: Path) -> None:
    path, file = tmp_path / "schedule.parquet", trace(tmp_path, *ROWS, header=COLUMNS)
    evaluate(file, "--servers", 1, "-p", "fifo-ff", "--processes", 1, "--schedule", path)
    table = pq.read_table(path).to_pydict()
    expected = {"task": [0, 1, 2], "job": [7, 7, 3], "row": [1, 2, 3], "id": [7, 7, 3], "arrival": [0, 0, 0]}
    assert table == {**expected, "start": [0, 6, 4], "server": [0, 0, 0], "end": [4, 8, 6]}
    again = tmp_path / "again.parquet"
    evaluate(file, "--servers", 1, "-p", f"replay:{path}", "--processes", 1, "--schedule", again)
    assert pq.read_table(again).to_pydict() == table
    old = pq.read_table(path).select(["task", "start", "server", "end"])
    pq.write_table(old.rename_columns(["job", "start", "server", "end"]), path)
    evaluate(file, "--servers", 1, "-p", f"replay:{path}", "--processes", 1, "--schedule", again)  # a file of version 0.2.0
    assert pq.read_table(again).to_pydict() == table


def test_schedule_with_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "schedule.parquet"
    pq.write_table(pa.table({"task": [0], "start": [0], "server": [0], "comment": [0]}), path)
    path.write_bytes(path.read_bytes().replace(b"comment", b"c\xff\xfement"))
    with pytest.raises(InputError, match=r"schedule\.parquet: cannot be read"):
        find_policy(f"replay:{path}")


def test_schedule_of_batches(tmp_path: Path) -> None:
    """Tasks of a stream that arrive together are one job."""
    path = tmp_path / "schedule.parquet"
    evaluate("google2011-like", "-p", "bf-js", "--slots", 3000, "--processes", 1, "--schedule", path)
    table = pq.read_table(path)
    jobs = packenv.workload("google2011-like").jobs_table(0, len(table)).job
    assert jobs is not None and table["job"].to_pylist() == jobs.tolist() != table["task"].to_pylist()


PROBED = [f"{n},1,{4 + n % 5},{n // 3}" for n in range(60)]
PROBING = ("--servers", 12, "-p", "sparrow", "-p", "lwl", "-p", "fifo", "--processes", 1)


def test_seeds_of_policies_that_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The jobs of a trace are the same for every seed: policies that do not draw run once, and stand beside every seed."""
    path, file = tmp_path / "out.json", trace(tmp_path, *PROBED, header="arrival,size,service,job")
    evaluate(file, *PROBING, "--drain", "--seed", 3, "--seeds", 4, "--json", path)
    out = capsys.readouterr().out
    assert "no chance in the jobs, nor in lwl, fifo: one run, not 4" in out and "± 95 % over the seeds" in out
    records = json.loads(path.read_text())
    assert [(r["policy"], r["seed"]) for r in records[:6]] == [
        *(("sparrow", seed) for seed in (3, 4, 5, 6)),
        ("lwl", 3),
        ("fifo", 3),
    ]
    completion = [r["mean_completion"] for r in records[:4]]
    assert len(set(completion)) > 1
    sparrow, lwl, _ = records[6:]
    assert (sparrow["seeds"], lwl["seeds"]) == (4, 1)
    half = 3.182446 * np.std(completion, ddof=1) / 2
    assert sparrow["interval"]["mean_completion"] == pytest.approx(half, rel=1e-5)
    assert lwl["interval"]["mean_completion"] is None
    assert all(r["slowed"] is not None for r in records[4:6])


def test_a_single_run_stands_beside_every_seed(tmp_path: Path) -> None:
    """`slowed` of every seed compares with the one run of a first policy without chance."""
    path, file = tmp_path / "out.json", trace(tmp_path, *PROBED, header="arrival,size,service,job")
    words = ("--servers", 12, "-p", "fifo", "-p", "sparrow", "--processes", 1, "--drain", "--json", path)
    evaluate(file, *words, "--seeds", 3)
    fifo, *sparrow = json.loads(path.read_text())[:4]
    assert fifo["slowed"] is None and all(run["slowed"] is not None for run in sparrow)
    for n, run in enumerate(sparrow):
        evaluate(file, *words, "--seed", n)
        alone = json.loads(path.read_text())[1]
        assert (run["slowed"], run["efficiency"] > 0) == (alone["slowed"], True)


def test_times_in_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the length of a slot is known; a trace in slots is shown in slots unless --slot-seconds says how long they are."""
    file = tmp_path / "jobs.tr"
    file.write_text("0 2 10 10 10\n1 1 4 4\n")
    evaluate(file, "--servers", 2, "-p", "fifo", "--processes", 1, "--drain")
    out = capsys.readouterr().out
    assert "delays in seconds" in out and "jobs: seconds from the first arrival to the last end" in out
    assert re.search(r"fifo +14 +11\.5 ", out)  # job 0 takes 10 s, job 1 waits from 1 to 10 and ends at 14
    slots = trace(tmp_path, *ROWS, header=COLUMNS)
    for words, unit in ((), "slots"), (("--slot-seconds", "0.5"), "seconds"):
        evaluate(slots, "--servers", 1, "-p", "fifo-ff", "--processes", 1, *words)
        assert f"delays in {unit}" in capsys.readouterr().out


LONG = "sparrow:ratio=3,minimum=4,delay=0.25"


def test_no_table_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets 80 columns, or as many as the name of a policy takes; with COLUMNS everything."""
    file = trace(tmp_path, *PROBED, header="arrival,size,service,job")
    words = ("--servers", 12, "-p", LONG, "-p", "fifo", "--processes", 1, "--drain", "--seeds", 2, "--cutoff", 0.5)
    for columns, missing in ((None, 3), ("200", 0)):
        if columns is not None:
            monkeypatch.setenv("COLUMNS", columns)
        evaluate(file, *words)
        out = capsys.readouterr().out
        assert "…" not in out and out.count(LONG) == 7  # in three tables, as told durations, in the answer twice, in the ratios
        assert out.count("not shown: ") == missing
        for heading in ("tasks/s", "over-allocation", "long p99"):
            assert heading in out


def test_what_is_asked_most_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With several resources in 80 columns, too; and a table that is run to its end has work, not a load: 25,000 core seconds,
    as cores and seconds have a mean product of 125, on 128 cores."""
    rows = [f"{n},{30 + n % 40},{1 + n % 4},{4 + n % 9},1" for n in range(200)]
    file = trace(tmp_path, *rows, header="submit_time_s,duration_s,cores,memory,accelerators")
    words = (file, "--servers", "8x16:64:16", "-p", "bf-js", "--processes", 1, "--slot-seconds", 1)
    evaluate(*words)
    out = capsys.readouterr().out
    assert re.search(r"policy +mean queue +mean delay +p95 +cores utilisation +verdict\n", out), "the busiest resource"
    assert "intensity 0.9" in out
    evaluate(*words, "--drain")
    out = capsys.readouterr().out
    assert "200 tasks, 8 servers, arriving within 3 min 20 s, work of 3 min 15 s for all servers" in out
    assert "intensity" not in out and "utilisation: from the first arrival to the last end\n" in out
    assert "backlog" not in out
    evaluate(file, "--servers", "4x16:64:16", *words[3:], "--drain")
    backlog = "work comes at 195% of what all servers can do: waits are of a backlog, which is worked off at the end\n"
    assert backlog in capsys.readouterr().out  # 25,000 core seconds in 200 s on 64 cores


def test_a_narrow_terminal_gets_fewer_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    evaluate("delay/hot", "-p", "delay:interval=3", "--slots", 300, "--processes", 1)
    out = capsys.readouterr().out
    assert "not shown: tasks/s" in out and "--format csv and --json have them)" in out
    assert "scheduling delay" in out and "verdict" in out and "…" not in out
    assert all(len(line) <= 80 for line in out.splitlines() if line.lstrip().startswith(("delay:", "policy", "───")))


def test_remote_reads_that_take_resources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All data lie on server 0, whose network serves one reader at a time: row 3 waits until rows 0 and 1 have ended."""
    file = trace(tmp_path, *["0,0.5,0,4,0,2"] * 4, header="arrival,size_0,size_1,service,home,remote_overhead")
    path, words = tmp_path / "schedule.parquet", ("--servers", "3x1:1", "--resources", "all", "--processes", 1, "--drain")
    evaluate(file, *words, "-p", "fair", "--reading", "0:0.6", "--serving", "0:0.6", "--schedule", path)
    found = pq.read_table(path).to_pydict()
    assert found["source"] == [None, None, 0, None]
    assert (found["start"], found["end"]) == ([0, 0, 0, 4], [4, 4, 6, 8])
    for wrong, problem in (
        (("-p", "bf-js", "--reading", "0:0.6"), "bf-js does not look for room for remote reads"),
        (("-p", "fair", "--reading", "0.6"), "network: reading needs 2 amounts, one for each resource"),
        (("-p", "fair", "--serving", "0:much"), "network: serving is an amount of each resource, such as 0:0.1, not '0:much'"),
    ):
        with pytest.raises(SystemExit):
            evaluate(file, *words, *wrong)
        assert problem in capsys.readouterr().err


def test_who_ran_where(tmp_path: Path) -> None:
    file = trace(tmp_path, "0,0.5,3", "0,0.75,2", "1,0.5,2")
    evaluate(file, "--servers", "2", "-p", "bf-js", "-p", "fifo-ff", "--gantt", tmp_path / "who.png", "--processes", "1")
    assert (tmp_path / "who.png").read_bytes().startswith(b"\x89PNG")
