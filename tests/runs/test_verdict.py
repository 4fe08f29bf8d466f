"""Verdicts on logs: queues of known load on either side, and logs that must be refused or left undecided."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from experiments.verdicts import arrivals, services, starts
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.inputs.text_files import standard_input
from packenv.runs.verdict import DAY
from packenv.workloads.traces.logs import read_logs


def log(
    load: float, count: int = 4_000, servers: int = 16, law: str = "exponential", kind: str = "poisson", seed: int = 1
) -> Any:
    """Arrivals, starts and ends of a queue of this load, a task a second."""
    rng = np.random.default_rng(seed)
    arrival = arrivals(kind, count, rng)
    service = services(law, count, rng) * load * servers
    start = starts(arrival, service, servers)
    return arrival, start, start + service


@pytest.mark.parametrize("load, kind", [(0.6, "stable"), (1.3, "unstable")])
@pytest.mark.parametrize("law", ["exponential", "fixed"])
def test_queues_of_known_load(load: float, kind: str, law: str) -> None:
    verdict = packenv.verdict(*log(load, law=law))
    assert (verdict.kind, verdict.reasons) == (kind, ())
    arrival, start, end = log(load, law=law)
    of_starts = packenv.verdict(arrival, start)
    if kind == "stable":  # servers that still fill have no queue either
        assert of_starts.kind == "undecided" and "no ends" in of_starts.reasons[0]
    else:
        assert of_starts.kind == kind
    assert packenv.verdict(arrival, ends=end).kind == kind


def test_heavy_tails_that_have_not_filled_the_servers_are_not_stable() -> None:
    """Lognormal services of σ 1.5 and a run of 30 mean services: stable in 5 to 18 % of runs by the mean alone."""
    runs = [log(load, 500, law="lognormal 1.5", seed=seed) for load in (1.05, 1.1, 1.2) for seed in range(60)]
    kinds = [packenv.verdict(*run).kind for run in runs]
    assert kinds.count("stable") <= 1


def test_a_few_long_services_are_no_overload() -> None:
    runs = [log(0.9, 500, 1, law, seed=seed) for law in ("pareto 1.5", "lognormal 2.5") for seed in range(60)]
    kinds = [packenv.verdict(*run).kind for run in runs]
    assert kinds.count("unstable") == 0


def test_the_reason_says_what_is_missing() -> None:
    short = packenv.verdict(*log(0.5, 600, 256))  # of 4.7 mean services
    assert short.kind == "undecided" and "still fill" in short.reasons[0]
    assert short.watch is not None and short.watch > 4
    edge = packenv.verdict(*log(0.99, 1_000, 1))
    assert edge.kind == "undecided" and edge.watch is not None and edge.watch >= 1.5
    bursts = packenv.verdict(*log(0.6, 400, 1, kind="bursty"))
    assert bursts.kind == "undecided" and "independent arrivals" in bursts.reasons[0]


def test_services_that_end_after_the_last_arrival_count_in_full() -> None:
    """Arrivals last 495 s, each service 1,000 s: 20 services are 20,000 s. One still runs, for 1,495 s so far."""
    arrival = 5.0 * np.arange(100)
    verdict = packenv.verdict(arrival, arrival, arrival + 1_000)
    assert verdict.reasons == ("arrivals last 8 min 15 s, a service 16 min 40 s: a burst, no stream",)
    assert verdict.watch == 20 * 1_000 / 495
    running = packenv.verdict(arrival, arrival, np.where(arrival == 0, np.nan, arrival + 1_000))
    assert running.watch == pytest.approx(20 * (99 * 1_000 + 1_495) / 100 / 495)
    assert packenv.sustained([verdict]).next == "0.2 per second, 40.4 times as long"


def test_one_burst() -> None:
    arrival = np.sort(np.random.default_rng(1).random(2_000))
    start = starts(arrival, np.full(2_000, 10.0), 8)
    assert packenv.verdict(arrival, start, start + 10).kind == "undecided"
    together = packenv.verdict(np.zeros(50), np.arange(50.0), np.arange(50.0) + 1)
    assert (together.kind, together.reasons) == ("undecided", ("all arrivals come at once: a burst, no stream",))
    cells = [str(cell) for cell in together.tables()[0].rows[0]]
    assert cells[3:5] == ["–", "–"]  # without a rate and a level


def test_a_closed_loop_says_nothing() -> None:
    """Sixteen users, each of whom sends when answered."""
    rng = np.random.default_rng(2)
    free, arrival = np.zeros(16), []
    end = []
    for _ in range(3_000):
        user = int(np.argmin(free))
        arrival.append(free[user])
        free[user] += rng.exponential()
        end.append(free[user])
    verdict = packenv.verdict(arrival, ends=end)
    assert verdict.kind == "undecided" and "closed loop" in verdict.reasons[0] and verdict.watch is None


def test_a_daily_cycle_is_judged_over_whole_days() -> None:
    scale = DAY / 500  # 500 arrivals a day
    two_days = packenv.verdict(*(times * scale for times in log(0.7, 1_000, kind="daily")))
    assert two_days.kind == "undecided" and "needs 3 whole ones" in two_days.reasons[0]
    for load, kind in ((0.6, "stable"), (1.3, "unstable")):
        verdict = packenv.verdict(*(times * scale for times in log(load, 10_000, kind="daily")))
        assert verdict.kind == kind
        assert any("of the cycle" in note for note in verdict.notes) == bool(verdict.waiting.any())


def test_losses_are_said() -> None:
    arrival, start, end = log(1.3)
    given_up = start > arrival + 20
    left = np.where(given_up, arrival + 20, end)
    verdict = packenv.verdict(arrival, np.where(given_up, np.nan, start), left)
    assert verdict.lost == pytest.approx(given_up.mean()) and verdict.lost > 0.5
    assert verdict.kind != "unstable" and "left without service" in verdict.notes[0]
    rejected = packenv.verdict(arrival, np.where(given_up, np.nan, start), np.where(given_up, np.nan, end), lost=given_up)
    assert rejected.lost == verdict.lost


def test_a_log_that_is_cut() -> None:
    arrival, start, end = log(1.3)
    last = arrival[-1]
    cut = packenv.verdict(arrival, np.where(start > last, np.nan, start), np.where(end > last, np.nan, end))
    assert cut.kind == "unstable" and "still run and" in cut.notes[0]


def test_dates_and_missing_values() -> None:
    origin = np.datetime64("2026-05-01T08:00:00", "ms")
    dates = [origin + np.round(times * 1_000).astype("timedelta64[ms]") for times in log(0.6)]
    assert packenv.verdict(*dates).kind == packenv.verdict(*log(0.6)).kind == "stable"


BAD = {
    "row 3: it ends before it starts": ([0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 1.5, 4]),
    "row 2: it starts before it arrives": ([0, 1, 2, 3], [0, 0.5, 2, 3], [1, 2, 3, 4]),
    "row 3: it arrives before the row above": ([0, 2, 1, 3], [0, 2, 2, 3], [1, 3, 3, 4]),
    "row 1: starts are about 1,000 times the arrivals": ([10, 20, 30, 40], [10_000, 20_100, 30_000, 40_900], None),
    "row 3: ends are about 1,000 times the arrivals": ([10, 20, 30, 40], [11, 21, 31, 41], [12, 22, 30_020, 40_020]),
    "starts and ends are missing": ([0, 1, 2, 3], None, None),
    "4 arrivals, 3 starts": ([0, 1, 2, 3], [0, 1, 2], None),
    "1 arrivals are too few for a log": ([0], [1], None),
    "starts are neither numbers nor dates": ([0, 1], ["a", "b"], None),
}


@pytest.mark.parametrize("problem", BAD)
def test_bad_arrays(problem: str) -> None:
    with pytest.raises(InputError, match=r"^log: " + problem.replace("+", r"\+")):
        packenv.verdict(*BAD[problem])


def table(path: Path, times: Any, names: str = "submit_time_s,start_time_s,end_time_s") -> Path:
    path.write_text(names + "\n" + "".join(f"{a:.3f},{b:.3f},{c:.3f}\n" for a, b, c in zip(*times, strict=True)))
    return path


def vllm(path: Path, times: Any, **fields: Any) -> Path:
    """As vllm/benchmarks/serve.py writes it, with --save-detailed."""
    arrival, start, end = times
    content = {"backend": "openai", "request_rate": 1.0, "burstiness": 1.0, "max_concurrency": None, "completed": len(arrival)}
    content |= {"start_times": arrival.tolist(), "ttfts": (start - arrival).tolist(), "errors": [""] * len(arrival)}
    content |= {"itls": [[float(left) / 2] * 2 for left in end - start], "input_lens": [10] * len(arrival)}
    path.write_text(json.dumps(content | fields))
    return path


def guidellm(path: Path, *logs: Any, kind: str = "poisson") -> Path:
    """As GuideLLM's benchmarks.json has it."""
    benchmarks = []
    for arrival, start, end in logs:
        requests = [
            {
                "request_start_time": a,
                "info": {"timings": {"targeted_start": a, "first_token_iteration": b}},
                "request_end_time": c,
            }
            for a, b, c in zip(arrival.tolist(), start.tolist(), end.tolist(), strict=True)
        ]
        statuses = {"successful": requests[:-1], "incomplete": [], "errored": requests[-1:]}
        benchmarks.append({"config": {"strategy": {"type_": kind, "rate": 1.0}}, "requests": statuses})
    path.write_text(json.dumps({"metadata": {"version": 1}, "benchmarks": benchmarks}))
    return path


def swf(path: Path, times: Any) -> Path:
    rows = enumerate(zip(*times, strict=True), 1)
    lines = [f"{n} {a:.0f} {b - a:.0f} {c - b:.0f} 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1" for n, (a, b, c) in rows]
    path.write_text("; MaxProcs: 16\n" + "\n".join(lines) + "\n")
    return path


def sacct(path: Path, times: Any) -> Path:
    origin = np.datetime64("2026-05-01T00:00:00")
    dated = [[str(origin + np.timedelta64(round(t), "s")) for t in column] for column in times]
    lines = [f"{n}|{a}|{b}|{c}|COMPLETED|1" for n, (a, b, c) in enumerate(zip(*dated, strict=True), 1)]
    path.write_text("JobID|Submit|Start|End|State|AllocCPUS\n" + "\n".join(lines) + "\n")
    return path


FORMS = {"t.csv": table, "b.json": vllm, "g.json": guidellm, "j.swf": swf, "sacct.txt": sacct}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("load, kind", [(0.6, "stable"), (1.3, "unstable")])
def test_every_form_has_the_verdict_of_its_times(tmp_path: Path, name: str, load: float, kind: str) -> None:
    times = [np.round(column * 60) for column in log(load)]  # whole seconds, as some forms have
    assert packenv.verdict(FORMS[name](tmp_path / name, times), cycle=None).kind == kind


def without_header(path: Path, times: Any) -> Path:
    path.write_text(swf(path, times).read_text().partition("\n")[2])
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", [*FORMS.values(), without_header])
def test_standard_input(
    tmp_path: Path, form: Any, packed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = [np.round(column * 60) for column in log(0.6)]
    standard_input.cache_clear()
    content = form(tmp_path / "log", times).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(content) if packed else content)))
    assert main(["verdict", "-", "--cycle", "999d"]) in (0, None)
    said = capsys.readouterr().out
    assert "stable" in said and "standard input" in said


def test_errors_name_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    standard_input.cache_clear()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"submit_time_s,start_time_s\n0,0\n5,4\n")))
    with pytest.raises(SystemExit):
        main(["verdict", "-"])
    assert capsys.readouterr().err == "packenv: standard input: row 2: it starts before it arrives\n"


def test_closed_loops_of_benchmarks(tmp_path: Path) -> None:
    times = log(0.6, 400)
    for path in (vllm(tmp_path / "v.json", times, max_concurrency=16), guidellm(tmp_path / "g.json", times, kind="concurrent")):
        assert "closed loop" in packenv.verdict(path).reasons[0]


def test_rates_of_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow, fast = log(0.6), log(1.3)
    path = guidellm(tmp_path / "sweep.json", slow, [times / 2 for times in fast])
    found = packenv.sustained([path])
    assert [each.kind for each in found.logs] == ["stable", "unstable"]
    assert found.low == pytest.approx(1, rel=0.05) and found.high == pytest.approx(2, rel=0.05)
    assert found.next == f"{(found.low + found.high) / 2:.3g} per second"
    with pytest.raises(InputError, match="2 benchmarks"):
        packenv.verdict(path)
    picture = tmp_path / "sweep.png"
    main(["verdict", str(path), "--json", str(tmp_path / "v.json"), "--plot", str(picture)])
    assert json.loads((tmp_path / "v.json").read_text())["low"] == found.low
    assert "not sustained: " in capsys.readouterr().out and picture.stat().st_size > 1_000
    again = packenv.sustained([packenv.verdict(*log(0.99, 900, 1))])
    assert again.low is None and "times as long" in again.next


def test_bad_files(tmp_path: Path) -> None:
    times = log(0.6, 10)
    only = table(tmp_path / "only.csv", times, "submit_time_s,other,another")
    backwards = table(tmp_path / "back.csv", (times[0], times[2], times[1]))
    no_json = tmp_path / "no.json"
    no_json.write_text('{"duration": 3.0, "completed": 7}')
    wrong = vllm(tmp_path / "wrong.json", times, itls=[3])
    for path, problem in (
        (only, "column start_time_s or end_time_s is missing"),
        (backwards, "row 1: it ends before it starts"),
        (table(tmp_path / "theirs.csv", times, "a,b,c"), "column submit_time_s is missing"),
        (no_json, "the JSON has no start_times"),
        (wrong, "not as the benchmark writes it"),
        (tmp_path / "none.csv", "no such file"),
    ):
        with pytest.raises(InputError, match=problem) as caught:
            packenv.verdict(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_their_names_and_units(tmp_path: Path) -> None:
    path = table(tmp_path / "theirs.csv", [times * 1_000 for times in log(0.6)], "Submitted,Began,Done")
    columns = {"submit_time_s": "Submitted", "start_time_s": "Began", "end_time_s": "Done"}
    assert packenv.verdict(path, columns=columns, time_unit="ms").rate == pytest.approx(1, rel=0.05)


TRACES, ORACLES = (os.environ.get(name) for name in ("PACKENV_TRACES", "PACKENV_ORACLES"))


@pytest.mark.skipif(not (TRACES and ORACLES), reason="needs the folders PACKENV_TRACES and PACKENV_ORACLES")
def test_real_logs_are_read() -> None:
    for folder, pattern in ((Path(TRACES or ""), "raw/*.swf"), (Path(ORACLES or ""), "rlscheduler/*.swf")):
        for path in sorted(folder.glob(pattern)):
            if path.name.startswith(("lublin", "LLNL-Atlas")):  # a model's jobs, which nobody scheduled; a log without waits
                with pytest.raises(InputError, match="it has no start of each task"):
                    read_logs(path)
            else:
                assert packenv.verdict(path).arrivals >= 400


@pytest.mark.parametrize("run", ["-1", "0"])
def test_a_cancelled_job_of_swf_is_lost_however_its_run_is_written(tmp_path: Path, run: str) -> None:
    """Status 5: the first job ran for 9 s, the second was cancelled as it waited."""
    jobs = ("1 0 0 9 1 -1 -1 1 9 -1 5 1 1 -1 1 -1 -1 -1", f"2 1 5 {run} -1 -1 -1 1 9 -1 5 1 1 -1 1 -1 -1 -1")
    (tmp_path / "a.swf").write_text("; MaxProcs: 4\n" + "\n".join(jobs) + "\n")
    (log,) = read_logs(tmp_path / "a.swf")
    assert log.lost.tolist() == [False, True] and log.end.tolist()[0] == 9.0
