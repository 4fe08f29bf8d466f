"""`packenv evaluate`: what it says to bad input, in one line and with nothing written."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from packenv.cli.main import main
from tests.cli.evaluating import PAPER, evaluate, files, trace

SIZES = ("--sizes", "uniform:0.1:0.9")
BAD_WORDS: list[tuple[tuple[object, ...], str]] = [
    (("paper/fig4b", "--load", 0), "load must be positive"),
    (("paper/fig4b", "--rate", 0), "rate must be"),
    (("paper/fig4b", "--rate", -1), "rate must be"),
    (("paper/fig4b", "--rate", "nan"), "'nan' is not a number"),
    (("paper/fig4b", "--intensity", 0), "intensity must be"),
    (("paper/fig4b", "--intensity", "inf"), "'inf' is not a number"),
    (("paper/fig4b", "--load", "0.8,x"), "'x' is not a number"),
    (("paper/fig4b", "--load", "0.8,0.9", "--intensity", "0.5"), "give one of --load, --intensity and --rate"),
    (("paper/fig4b", "--rate", "0.1,0.2", "--gantt", "g.png"), "--schedule and --gantt show one load: give one --rate"),
    (("paper/fig4b", "--slowdown-bound", "10min"), "--slowdown-bound 10min needs the length of a slot: give --slot-seconds"),
    (("--sizes", "discrete:4@1/3,6@2/3", "--service", "fixed:9", "--servers", 10), "one server of capacity 10 is 1x10"),
    (("--sizes", "discrete:4@0.33,6@0.66", "--servers", "1x10"), "not 1 (fractions such as 1/3 are exact)"),
    (("--sizes", "discrete:4@1/0,6@1", "--servers", "1x10"), "1/0: the number below the line of a fraction must be above 0"),
    (("paper/fig4b", "--measure", "mean_delay"), "--measure is for a figure over several loads"),
    (("paper/fig4b", "--until", "2"), "--until must be a share above 0 and below 1, such as 2%"),
    (("paper/fig4b", "--arrivals", "modulated:1,2"), "expected modulated:RATES:SOJOURNS"),
    (("paper/fig4b", "--intensity", 0.9, "--rate", 1), "one of --load, --intensity and --rate"),
    (("paper/fig4b", "-p", "bf-jss"), "unknown policy 'bf-jss'; did you mean bf-js"),
    (("paper/fig4b", "-p", "m.zip"), "unknown policy 'm.zip': packenv.save_model makes a model of Stable-Baselines3"),
    (("paper/fig4b", "-p", "agent:m.zip"), "no agent 'm.zip': packenv.save_model makes a model of Stable-Baselines3"),
    (("paper/fig4b", "-p", "vqs:JJ=3"), "unknown parameter 'JJ'; did you mean J"),
    (("paper/fig4b", "-p", "vqs:J=3.5"), "J must be int, not '3.5'"),
    (("paper/fig4b", "-p", "vqs:J=1"), "J must lie between 2 and 16, not 1"),
    (("paper/fig4b", "-p", "vqs-bf:J=17"), "J must lie between 2 and 16, not 17"),
    (("paper/fig4b", "-p", "no_such_module:Policy"), "no module named 'no_such_module'"),
    (("paper/fig4b", "-p", "packenv.policies:Nope"), "has no 'Nope'"),
    (("paper/fig4b", "-p", "slot-fifo:slots=2"), "a task of size 0.9 is larger than a slot of 0.5"),
    (("paper/fig4b", "-p", "tests.cluster.user_policies:Careless"), "put server 0 above its capacity in slot"),
    (("",), "unknown workload ''"),
    ((".",), "the folder has neither"),
    (("paper/fig4bb",), "unknown workload 'paper/fig4bb'; did you mean paper/fig4b"),
    (("paper/fig4b", "--slots", 0), "0 is not in the range x>=1"),
    (("paper/fig4b", "--slots", 100, "--warmup", 100), "warmup must lie"),
    (("paper/fig4b", "--backlog", 0), "0 is not in the range x>=1"),
    (("paper/fig4b", "--backlog", 5, "--intensity", 0.9), "leave out --load, --intensity and --rate"),
    (("paper/fig4b", "--backlog", 5, "-p", "sat", "--slots", 50), "knows all tasks in advance"),
    (("paper/fig4b", "--speedup", 1.2), "--speedup goes with a trace"),
    (("price/fig2", "--backlog", 5), "a backlog needs a random workload"),
    (("paper/fig4b", "--seed", -1), "--seed must be a whole number of at least 0, not -1"),
    (("paper/fig4b", "--servers", "1x0.5"), "fits in no server"),
    (("paper/fig4b", "--servers", "zero"), "servers 'zero'"),
    ((*SIZES, "--service", "fixed:0.5"), "fixed"),
    ((*SIZES, "--service", "geometric:0.5"), "at least 1"),
    (("--sizes", "uniforn:0.1:0.9"), "uniform"),
    ((), "name a workload or a trace"),
    (("no-such-trace.csv", "--servers", 2), "no-such-trace.csv: no such file"),
    (("gone.json", "--servers", 2), "gone.json: no such file"),
    (("paper/fig4b", "--no-such-option"), "No such option"),
    (("price/fig5", "--resources", "io"), "price/fig5 is a table of tasks: --resources does not go with it"),
    (("price/fig5", "-p", "price:c=0"), "price: needs welfare >= 0, c > 0 and gamma > -1"),
    (
        ("paper/fig4b", "-p", "priority"),
        "policy priority: paper/fig4b has no column value; for another name, pass --columns value=NAME",
    ),
]

BAD_ROWS: list[tuple[tuple[str, ...], str]] = [
    ((), "trace.csv"),
    (("0,0,3",), "trace.csv"),
    (("0,-0.5,3",), "trace.csv: row 1, column size"),
    (("0,nan,3",), "trace.csv: row 1, column size"),
    (("0,1.5,3",), "trace.csv: row 1: a demand of 1.5 fits in no server; the largest has 1. This works:"),
    (("0,1.5,3",), ".png --servers 2x12"),
    (("0,0.5,0",), "trace.csv: row 1, column service: 0 is below 1 slot"),
    (("0,0.5,-2",), "trace.csv: row 1, column service: -2 is below 1 slot"),
    (("3,0.5,1", "2,0.5,1"), "trace.csv: row 2, column arrival: 2 is before the row above"),
]


def refused(arguments: tuple[object, ...], problem: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit status 2, and nothing written."""
    before = files(folder)
    outputs: tuple[object, ...] = ("--json", folder / "out.json", "--schedule", folder / "out.parquet")
    if "--plot" not in arguments:
        outputs += ("--plot", folder / "out.png")
    with pytest.raises(SystemExit) as leaving:
        evaluate(*arguments, "--processes", 1, *outputs)
    assert leaving.value.code == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(("…", " %"))]  # "compiling …", progress
    assert len(lines) == (2 if lines[0].endswith("This works:") else 1)
    assert lines[0].startswith("packenv: ")
    assert problem in "\n".join(lines)
    assert files(folder) == before


@pytest.mark.parametrize("arguments, problem", BAD_WORDS, ids=str)
def test_bad_words(arguments: tuple[object, ...], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(arguments, problem, tmp_path, capsys)


@pytest.mark.parametrize("rows, problem", BAD_ROWS, ids=str)
def test_bad_rows(rows: tuple[str, ...], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused((trace(tmp_path, *rows), "--servers", 2), problem, tmp_path, capsys)


def test_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = trace(tmp_path, "0,0.5", header="arrival,size")
    refused((missing, "--servers", 2), "service", tmp_path, capsys)
    good = trace(tmp_path, *(f"{slot},0.5,3" for slot in range(800)))
    refused((good,), "a trace needs --servers. This works:", tmp_path, capsys)
    refused((good, "--servers", 2, "--rate", 2), "--rate does not go with a trace", tmp_path, capsys)
    packed = tmp_path / "short.csv.gz"
    packed.write_bytes(gzip.compress(good.read_bytes())[:-20])
    refused((packed, "--servers", 2), "short.csv.gz", tmp_path, capsys)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 this is not Parquet PAR1")
    refused((broken, "--servers", 2), "broken.parquet", tmp_path, capsys)
    empty = tmp_path / "empty.csv"
    empty.write_bytes(b"")
    refused((empty, "--servers", 2), "empty.csv", tmp_path, capsys)


@pytest.mark.parametrize("option, name", [("--json", "no/out.json"), ("--schedule", "no/out.parquet"), ("--plot", "no/out.png")])
def test_bad_outputs(option: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        evaluate(*PAPER, "-p", "bf-js", option, tmp_path / name)
    assert leaving.value.code == 2
    assert capsys.readouterr().err.startswith("packenv: ")
    assert files(tmp_path) == set()


def test_bad_suffix_of_the_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(("paper/fig4b", "--slots", 500, "-p", "bf-js", "--plot", tmp_path / "out.txt"), "out.txt", tmp_path, capsys)


def test_bad_command(capsys: pytest.CaptureFixture[str]) -> None:
    for word, advice in (("evalute", "; did you mean evaluate?\n"), ("nosuch", "; known: evaluate, compare, ")):
        with pytest.raises(SystemExit) as leaving:
            main([word])
        assert leaving.value.code == 2
        assert capsys.readouterr().err.startswith(f"packenv: unknown command '{word}'{advice}")


def test_a_module_without_a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("")
    refused(("paper/fig4b", "-p", "mine"), "a policy of the module mine is mine:CLASS", tmp_path, capsys)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--measure", "mean"), "'mean' is not a measure of a figure over the load"),
        (("--measure", "utilisation"), "'utilisation' is not a measure of a figure over the load; known: mean_queue, "),
        (("--backlog", "9"), "leave out --load, --intensity and --rate"),
    ],
)
def test_bad_words_of_several_loads(words: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        evaluate("paper/fig4b", "--load", "0.8,0.9", *words)
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("packenv: ") and problem in line]
    assert (leaving.value.code, len(said)) == (2, 1)
