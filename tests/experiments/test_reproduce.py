"""`packenv reproduce`: its files, what makes a claim shown or not, and what it says to bad input."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import packenv
from experiments.finding import Claim, Finding, write_finding
from experiments.random_requirements import fig3, fig4
from packenv.cli.main import cli, main
from packenv.cli.options.every_command import Context
from packenv.units import UNIT
from packenv.workloads.traces import Trace

POLICIES = ("bf-js", "vqs", "vqs-bf")


def reproduce(*arguments: object) -> None:
    main(["reproduce", *map(str, arguments)])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- the command ---------------------------------------------------------------------------------------------------


def test_fig2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce("fig2", "--out", tmp_path / "new" / "folder", "--json", tmp_path / "claims.json")
    folder = tmp_path / "new" / "folder"
    assert {f.name for f in folder.iterdir()} == {"fig2.png", "fig2.csv", "fig2_configurations.csv", "fig2_claims.csv"}
    found = rows(folder / "fig2.csv")
    assert found[:3] == [
        {"type": "I_0", "low": "2/3", "high": "1", "low_decimal": "0.66666667", "high_decimal": "1"},
        {"type": "I_1", "low": "1/2", "high": "2/3", "low_decimal": "0.5", "high_decimal": "0.66666667"},
        {"type": "I_2", "low": "1/3", "high": "1/2", "low_decimal": "0.33333333", "high_decimal": "0.5"},
    ]
    assert len(found) == 8 and found[-1]["low"] == "1/16"
    assert len(rows(folder / "fig2_configurations.csv")) == 12
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert [set(claim) for claim in claims] == [{"figure", "claim", "verdict", "figures"}] * 2
    assert [claim["verdict"] for claim in rows(folder / "fig2_claims.csv")] == ["shown", "shown"]
    assert "2 of 2 claims shown" in capsys.readouterr().out


def test_fig3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A claim that is not shown is said, and is no error."""
    reproduce("fig3b", "--out", tmp_path, "--slots", 4000, "--seeds", 2, "--processes", 1)
    out = capsys.readouterr().out
    assert "fig3b  not shown  BF-J/S is unstable" in out and "4,000 slots, 2 seeds" in out
    path = rows(tmp_path / "fig3b.csv")
    assert {row["curve"] for row in path} == {*POLICIES, fig3.LOCKED_START}
    assert {"slot", "mean_queue", "mean_queue_low", "mean_queue_high", "verdict"} <= set(path[0])
    summary = {row["curve"]: row for row in rows(tmp_path / "fig3b_runs.csv")}
    assert {row["seeds"] for row in summary.values()} == {"2"}
    for row in summary.values():
        assert float(row["mean_queue_low"]) <= float(row["mean_queue"]) <= float(row["mean_queue_high"])
        assert sum(int(row[kind]) for kind in ("stable", "unstable", "undecided")) == 2
    first = {row["curve"]: float(row["mean_queue"]) for row in path if float(row["slot"]) > 3500}
    assert first[fig3.LOCKED_START] > 2 * first["vqs"]  # a hundred have arrived, and three are still in service


def test_fig4(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig4, "INTENSITIES", (0.85, 0.95))
    reproduce("fig4b", "fig4a", "--out", tmp_path, "--slots", 3000, "--seeds", 2, "--processes", 1)
    out = capsys.readouterr().out
    assert out.index("Figure 4(a)") < out.index("Figure 4(b)")
    assert "by more than in (a)" in out
    for figure in ("fig4a", "fig4b"):
        table = rows(tmp_path / f"{figure}.csv")
        assert [(row["policy"], row["intensity"]) for row in table] == [(p, a) for p in POLICIES for a in ("0.85", "0.95")]
        assert {"mean_queue", "mean_queue_low", "mean_queue_high", "mean_delay", "verdict", "stable"} <= set(table[0])
        direct = [packenv.simulate(packenv.workload(f"paper/{figure}", intensity=0.85), "vqs", 3000, seed=s) for s in (0, 1)]
        expected = np.mean([result.mean_queue for result in direct])
        row = next(row for row in table if (row["policy"], row["intensity"]) == ("vqs", "0.85"))
        assert float(row["mean_queue"]) == pytest.approx(expected, rel=1e-6)
    assert len(rows(tmp_path / "fig4b_claims.csv")) == 4


def test_fig4b_alone_says_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fig4, "INTENSITIES", (0.85,))
    reproduce("fig4b", "--out", tmp_path, "--slots", 1000, "--seeds", 1, "--processes", 1, "--quick")
    out = capsys.readouterr().out
    assert "packenv reproduce fig4a fig4b" in out and "(quick" in out
    assert rows(tmp_path / "fig4b.csv")[0]["mean_queue_low"] == ""  # one seed has no interval


def recorded(n: int = 400, seed: int = 3) -> Trace:
    random = np.random.default_rng(seed)
    arrival = np.cumsum(random.choice([0, 0, 0, 40], n))
    jobs = packenv.Jobs.of(arrival - arrival[0], random.choice([0.125, 0.25, 0.5], n), random.integers(1, 300, n))
    return Trace.in_slots(jobs, ("size",), "made-up")


def write_trace(trace: Trace, path: Path) -> Path:
    jobs = trace.table
    lines = [f"{a},{d / UNIT},{s}" for a, d, s in zip(jobs.arrival, jobs.demand[:, 0], jobs.service, strict=True)]
    path.write_text("\n".join(["arrival,size,service", *lines]) + "\n")
    return path


def test_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """fig1 counts what is there; fig5 takes the trace as it is, and a longer bootstrap of it."""
    path = write_trace(recorded(), tmp_path / "mine.csv")
    reproduce("fig1", "fig5", "--trace", path, "--slots", 1296, "--seeds", 2, "--out", tmp_path / "out", "--processes", 1)
    out = capsys.readouterr().out
    assert "not shown  more than 400 distinct CPU requests in a full day: no column 'cpu' in mine.csv" in out
    assert "mine.csv as it is, 400 tasks" in out and "block bootstrap of mine.csv (blocks of 2,000), 1,000 tasks" in out
    assert [row["level"] for row in rows(tmp_path / "out" / "fig1.csv")] == ["0.125", "0.25", "0.5"]
    table = rows(tmp_path / "out" / "fig5.csv")
    assert {(row["data"], row["seeds"]) for row in table} == {("trace", "1"), ("bootstrap", "2")}
    assert len(table) == 2 * 7 * 4
    trace = [row for row in table if row["data"] == "trace"]
    jobs = recorded().table
    load = (jobs.demand[:, 0] / UNIT * jobs.service).sum() / (jobs.arrival[-1] + 1)
    assert {int(row["servers"]) for row in trace} == {int(np.ceil(1.6 * load))}
    assert max(float(row["intensity"]) for row in trace) <= 1


def test_fitted_workload_and_given_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce("fig5", "--slots", 2592, "--seeds", 1, "--servers", 1000, "--out", tmp_path, "--processes", 1)
    out = capsys.readouterr().out
    assert "google2011-like, 2,000 tasks" in out and "1000 servers" in out
    assert "not shown  fitted: at high β" in out and "not known: queues of 0" in out  # nothing ever waits
    assert {float(row["mean_queue"]) for row in rows(tmp_path / "fig5.csv")} == {0.0}


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fig4c"], "unknown figure 'fig4c'; did you mean fig4b, fig4a"),
        (["fig2", "nothing"], "unknown figure 'nothing'; known: fig1, fig2"),
        (["fig5", "--trace", "absent.parquet"], "absent.parquet: no such file"),
        (["fig4a", "--trace", "absent.parquet"], "--trace is for fig1, fig5, rlscheduler, fgd, fgd-departures, not fig4a"),
        (["fig4a", "--servers", "5"], "--servers is for fig5, not fig4a"),
        (["fig2", "--out", "file"], "file: cannot be written (Not a directory)"),
        (["fig2", "--out", "file/below"], "file/below: cannot be written (Not a directory)"),
        (["fig2", "--json", "absent/claims.json"], "absent/claims.json: its folder does not exist"),
        (["fig3a", "--seeds", "0"], "--seeds"),
        ([], "Missing argument"),
    ],
)
def test_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as left:
        reproduce(*arguments)
    out, err = capsys.readouterr()
    assert left.value.code == 2
    assert message in err and err.startswith("packenv: ") and err.count("\n") == 1
    assert out == ""
    assert not list(tmp_path.glob("**/*.*"))


@pytest.mark.parametrize("command", [("reproduce", "fig2"), ("reproduce", "--help"), ("bench",)], ids=" ".join)
def test_without_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    """As packenv is installed: one line, and nothing when a shell asks for completions."""
    monkeypatch.setattr("packenv.cli.main.CHECKOUT", tmp_path)
    with pytest.raises(SystemExit) as left:
        main([*command])
    out, err = capsys.readouterr()
    assert (left.value.code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"packenv: {command[0]} needs the folder experiments of a clone, and {tmp_path} has none: ")
    assert cli.get_command(Context(cli, resilient_parsing=True), command[0]) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SystemExit):
        reproduce("fig2", "--out", tmp_path)
    assert "cannot be written to" in capsys.readouterr().err


def test_files_appear_together_or_not_at_all(tmp_path: Path) -> None:
    class HalfDrawn(Figure):
        def savefig(self, fname: Any, **options: Any) -> None:
            fname.write_text("half a picture")
            raise KeyboardInterrupt

    claims = [Claim("fig2", "it works", True, "1 of 1")]
    finding = Finding("fig2", "", claims, {"": [{"a": 1.0}]}, HalfDrawn)
    with pytest.raises(KeyboardInterrupt):
        write_finding(finding, tmp_path)
    assert not list(tmp_path.iterdir())
    write_finding(replace(finding, draw=Figure), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fig2.csv", "fig2.png", "fig2_claims.csv"]


def test_a_picture_for_a_column_of_a_journal(tmp_path: Path) -> None:
    """As wide as asked, its legend within it, with or without its title; without a width as it was drawn."""
    title = "A title that is far too long for the column of a journal, as those of figures with many facts are"

    def draw() -> Figure:
        figure = Figure(figsize=(8, 4), layout="constrained")
        axes = figure.add_subplot(xlabel=title.replace("A title", "A name"))
        axes.set_title(title, loc="left")
        for n in range(8):
            axes.plot([0, n], label=f"policy {n}")
        figure.legend(loc="outside lower center", ncols=8)
        return figure

    finding, png = Finding("fig", "", [], {}, draw), tmp_path / "a.png"
    finding.save_picture(png)
    assert Image.open(png).size == (960, 480)
    for n, arguments in enumerate([{}, {"titled": False}]):
        finding.save_picture(png, 3.5, **arguments)
        wide, high = Image.open(png).size
        assert wide == 420 and 210 < high < 300  # grown by the lines of title and legend
        picture = np.asarray(Image.open(png).convert("L"))
        assert (picture[:, [0, 1, -2, -1]] == 255).all()  # nothing runs over the edge
        finding.save_picture(tmp_path / "a.svg", 3.5, **arguments)
        assert ("A title that" in (tmp_path / "a.svg").read_text()) == (n == 0)
