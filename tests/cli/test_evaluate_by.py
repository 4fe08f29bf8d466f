"""`packenv evaluate --by-size` and `--by`: delays by class, recorded and simulated, in tables and records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.runs.delay_classes import MOST_LABELS, OTHERS, delay_by_size
from packenv.simulation import simulate
from packenv.units import UNIT
from packenv.workloads.find import workload
from packenv.workloads.laws import Conditional, Constant, Discrete, Fixed, Geometric, HyperExponential, Joint, Mixture, Uniform
from packenv.workloads.laws.arrivals import Batch, Poisson
from tests.cli.evaluating import evaluate


def test_two_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same numbers as from a table of the run's own tasks, with a class for each size."""
    out = tmp_path / "out.json"
    evaluate(
        "paper/fig3a",
        "--intensity",
        0.6,
        "-p",
        "bf-js",
        "-p",
        "easy",
        "--seeds",
        2,
        "--slots",
        20_000,
        "--by-size",
        "--json",
        out,
    )
    assert "p99.9" in capsys.readouterr().out
    runs, summaries = json.loads(out.read_text())[:4], json.loads(out.read_text())[4:]
    for run in runs:
        own = workload("paper/fig3a", intensity=0.6).tabulated(run["seed"], 20_000)
        again = simulate(own, run["policy"], slots=20_000, seed=run["seed"], warmup=2_000, schedule=True)
        assert own.jobs is not None and again.schedule is not None
        size = own.jobs.demand[:, 0]
        expected = {
            f"{each.label / UNIT:.4g}": dict(zip(each._fields[1:], each[1:], strict=True))
            for each in delay_by_size(own.jobs, again.schedule, size, 2_000)
        }
        assert run["by_size"] == expected and [*expected] == ["0.4", "0.6"]
    largest = [run["by_size"]["0.6"]["max_delay"] for run in runs[:2]]
    assert summaries[0]["by_size"]["0.6"]["max_delay"] == pytest.approx(sum(largest) / 2)
    assert summaries[0]["by_size"]["0.6"]["interval"]["max_delay"] > 0


def test_classes_of_the_first_run_are_those_of_all(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    evaluate(
        "paper/fig4b", "--intensity", 0.5, "-p", "bf-js", "-p", "vqs", "--seeds", 3, "--slots", 5_000, "--by-size", "--json", out
    )
    classes = [tuple(record["by_size"]) for record in json.loads(out.read_text())]
    assert len(set(classes)) == 1 and len(classes[0]) == 4


@pytest.mark.parametrize("unit", [1, 1000, 2**30])
def test_a_size_of_several_resources_is_a_share_of_the_largest_server(unit: int, tmp_path: Path) -> None:
    """Whatever the unit of memory is. The first task, of 1 and 1/8 of the server, makes 1/4 and 1/8, and 1/8 and 1/2 wait."""
    rows = [(32, 16), (8, 16), (4, 64)]
    table = [f"0,{cores},{memory * unit},10" for cores, memory in rows]
    (tmp_path / "jobs.csv").write_text("\n".join(["submit_time_s,cpu,memory,duration_s", *table]))
    words = ("--servers", f"1x32:{128 * unit}", "--resources", "all", "--slot-seconds", 1, "-p", "fifo-ff", "--by-size")
    evaluate(tmp_path / "jobs.csv", *words, "--drain", "--json", tmp_path / "out.json")
    run = json.loads((tmp_path / "out.json").read_text())[0]
    assert [*run["by_size"]] == ["0.25", "0.5", "1"]
    assert run["mean_waiting_size"] == 10 * (1 / 4 + 1 / 2) / 20
    assert run["verdict"] is run["confidence"] is None  # its work ends


def test_no_arrivals_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--by-size"], ["--by", "tenant"]):
        with pytest.raises(SystemExit) as ended:
            evaluate("paper/fig4b", "--backlog", 10, *words)
        assert ended.value.code == 2
        assert f"{words[0]} needs arrival times, and --backlog has none" in capsys.readouterr().err


USERS = ("ann", "bob", "ann", "cat", "bob", "ann")
STARTS = (0, 100, 160, 160, 260, 400)  # as recorded; in order of arrival on one server of 4 they are 0, 60, 120, 180, 240, 300
SLURM = "JobID|User|Account|Partition|Submit|Start|End|AllocCPUS|State"
"""Six jobs of 60 s on all four cores, which arrive 10 s apart."""


def clock(seconds: int) -> str:
    return f"2026-05-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def log_in(form: str, folder: Path) -> tuple[Path, tuple[object, ...]]:
    """The six jobs as a log, and the words that read it."""
    jobs = [*enumerate(zip(USERS, STARTS, strict=True))]
    if form == "sacct":
        lines = [SLURM] + [
            f"{n}|{user}|lab|batch|{clock(10 * n)}|{clock(start)}|{clock(start + 60)}|4|COMPLETED" for n, (user, start) in jobs
        ]
        words: tuple[object, ...] = ("--servers", "1x4", "--by", "user")
    elif form == "swf":
        of = {"ann": 7, "bob": 8, "cat": 9}
        lines = ["; MaxProcs: 4"] + [
            f"{n + 1} {10 * n} {start - 10 * n} 60 4 -1 -1 4 -1 -1 1 {of[user]} -1 -1 -1 -1 -1 -1" for n, (user, start) in jobs
        ]
        words = ("--by", "user")
    else:
        lines = ["submit_time_s,start_time_s,end_time_s,cpu,class"]
        lines += [f"{10 * n},{start},{start + 60},4,{user}" for n, (user, start) in jobs]
        words = ("--servers", "1x4", "--slot-seconds", 1, "--by", "class")
    path = folder / {"sacct": "log.txt", "swf": "log.swf", "table": "log.csv"}[form]
    path.write_text("\n".join(lines) + "\n")
    return path, words


@pytest.mark.parametrize("form", ["sacct", "swf", "table"])
def test_recorded_and_simulated_waits_by_label(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, words = log_in(form, tmp_path)
    evaluate(path, *words, "-p", "fifo-ff", "--drain", "--json", tmp_path / "out.json")
    run, mean = json.loads((tmp_path / "out.json").read_text())
    classes = [*run["by_label"].values()]
    assert [*run["by_label"]] == (["7", "8", "9"] if form == "swf" else ["ann", "bob", "cat"])
    assert [of["tasks"] for of in classes] == [3, 2, 1]
    assert [of["recorded"] for of in classes] == pytest.approx([(0 + 140 + 350) / 3, (90 + 220) / 2, 130])
    assert [of["mean_delay"] for of in classes] == pytest.approx([(0 + 100 + 250) / 3, (50 + 200) / 2, 150])
    assert [of["max_delay"] for of in classes] == [250, 200, 150]
    assert mean["correlation"] == pytest.approx(1 - 6 * 2 / (6 * 35)) and mean["tenfold"] == 0  # two neighbours change places
    out = capsys.readouterr().out
    assert "ratio" in out and "correlation" in out and "tenfold from" not in out


def test_waits_unlike_the_recorded_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On 24 cores nothing waits, and all but one waited for more than 10 minutes."""
    rows = [f"{10 * n},{700 * n},{700 * n + 60},4" for n in range(6)]
    (tmp_path / "log.csv").write_text("\n".join(["submit_time_s,start_time_s,end_time_s,cpu", *rows]))
    words = ("--servers", "1x24", "--slot-seconds", 1, "-p", "fifo-ff", "--drain", "--json", tmp_path / "out.json")
    evaluate(tmp_path / "log.csv", *words)
    mean = json.loads((tmp_path / "out.json").read_text())[1]
    assert mean["correlation"] is None and mean["tenfold"] == pytest.approx(5 / 6)
    assert "waits differ tenfold from the recorded ones for 83% of the jobs (fifo-ff)" in capsys.readouterr().out


def test_tasks_of_rare_labels_are_together(tmp_path: Path) -> None:
    rows = [f"{n},{n + 1},1,class-{min(n, 40) if n < 40 else 0}" for n in range(50)]
    (tmp_path / "log.csv").write_text("\n".join(["submit_time_s,end_time_s,cpu,class", *rows]).replace("submit", "start"))
    comparison = packenv.evaluate(tmp_path / "log.csv", ["fifo-ff"], servers="1x4", slot_seconds="1", drain=True, by="class")
    classes = comparison.records[0]["by_label"]
    assert len(classes) == MOST_LABELS + 1 and sum(of["tasks"] for of in classes.values()) == 50
    assert classes["class-0"]["tasks"] == 11 and classes[OTHERS]["tasks"] == 28
    assert all(of["recorded"] is None for of in classes.values())


def test_owners_of_drawn_tables() -> None:
    def draw(seed: int) -> packenv.Jobs:
        rng = np.random.default_rng(seed)
        return packenv.Jobs.of(np.arange(40), rng.uniform(0.2, 0.9, 40), rng.integers(1, 9, 40), tenant=rng.integers(0, 3, 40))

    comparison = packenv.evaluate(packenv.Workload(jobs=draw, servers=1), ["bf-js"], seeds=3, drain=True, by="tenant")
    for run, record in zip(comparison.all_runs, comparison.records, strict=True):
        total = sum(of["tasks"] * of["mean_delay"] for of in record["by_label"].values())
        assert total / 40 == pytest.approx(run.mean_delay)
    assert comparison.summaries[0]["by_label"]["0"]["interval"]["mean_delay"] > 0


SHORT, LONG = Fixed(3), Fixed(50)
STREAMS = [
    # sizes, services, the type of each task by its size and service, and the names of the types
    (Discrete([0.4, 0.6]), Geometric(5), lambda size, service: size > 0.5, ["0.4", "0.6"]),
    (Joint([[0.3], [0.3]], [0.8, 0.2]), Conditional([SHORT, LONG]), lambda size, service: service > 10, ["0.3 (0)", "0.3 (1)"]),
    (
        Mixture([Uniform(0.1, 0.2), Uniform(0.9, 1), Uniform(0.3, 0.4)], [0.6, 0, 0.4]), Geometric(5),
        lambda size, service: size > 0.25, ["Uniform(low=0.1, high=0.2)", "Uniform(low=0.3, high=0.4)"],
    ),
    (Uniform(0.1, 0.5), Mixture([SHORT, LONG]), lambda size, service: service > 10, ["Fixed(slots=3)", "Fixed(slots=50)"]),
    (Constant(0.2), HyperExponential([1e-9, 1e6], [0.99, 0.01]), lambda size, service: service > 1, ["mean 1e-09", "mean 1e+06"]),
]  # fmt: skip


@pytest.mark.parametrize("arrivals", [Poisson(), Batch(Discrete([1, 3])), Batch(Constant(2), gang=True)], ids=repr)
@pytest.mark.parametrize(
    ("sizes", "service", "type_of", "names"), STREAMS, ids=["sizes", "joint", "mixture", "services", "means"]
)
def test_types_of_a_stream(sizes: Any, service: Any, type_of: Any, names: list[str], arrivals: Any) -> None:
    """Delays by type are those of the rows whose size or service only that type has."""
    stream = packenv.Workload(sizes=sizes, service=service, servers=4, rate=0.3, arrivals=arrivals)
    comparison = packenv.evaluate(stream, ["bf-js"], slots=2000, seeds=2, by="class")
    for run, record in zip(comparison.all_runs, comparison.records, strict=True):
        assert run.schedule is not None
        jobs = stream.jobs_table(run.seed, len(run.schedule.start))
        counted = (run.schedule.start >= 0) & (jobs.arrival >= run.warmup) & jobs.leads
        types = np.asarray(type_of(jobs.amounts[:, 0], jobs.service), np.int64)
        assert {*record["by_label"]} == {*names}
        for n, name in enumerate(names):
            delays = (run.schedule.start - jobs.arrival)[counted & (types == n)]
            assert record["by_label"][name]["tasks"] == len(delays) > 0
            assert record["by_label"][name]["mean_delay"] == pytest.approx(delays.mean())


def test_labels_that_are_not_there(tmp_path: Path) -> None:
    path, _ = log_in("sacct", tmp_path)
    with pytest.raises(InputError, match=r"`by` queue: log.txt has no such labels; it has user, account, partition and tenant"):
        packenv.evaluate(path, ["fifo-ff"], servers="1x4", by="queue")
    with pytest.raises(InputError, match="`by` class: paper/fig4b is random without types of tasks: `by_size` has"):
        packenv.evaluate("paper/fig4b", ["fifo-ff"], intensity=0.5, by="class")
    with pytest.raises(InputError, match="`by` user: paper/fig3a is random: `by` class has the types of its tasks"):
        packenv.evaluate("paper/fig3a", ["fifo-ff"], load=0.5, by="user")
    with pytest.raises(InputError, match="`by` class: custom has no labels: name a column of your table"):
        packenv.evaluate(packenv.Workload(jobs=packenv.Jobs.of([0], [1], [1]), servers=1), ["fifo-ff"], by="class")
