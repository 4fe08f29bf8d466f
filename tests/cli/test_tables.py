"""Tables that fit 80 columns, are never cut, or go out as CSV and Markdown; JSON alone on standard output; help that fits."""

from __future__ import annotations

import csv
import ctypes
import io
import json
from dataclasses import replace
from pathlib import Path

import click
import pytest

from packenv.cli.main import COMMANDS, cli, main
from packenv.cli.outputs import Outputs
from packenv.cli.tables import print_table
from packenv.content.showable import Answer
from packenv.content.tables import Column, Styled, Table, Tables, flat, numbers
from tests.cli.evaluating import evaluate, trace
from tests.workloads.traces import samples

TWO = ("paper/fig4b", "--slots", 5000, "--seeds", 3, "--processes", 1, "-p", "bf-js", "-p", "fifo-ff")


def wide(columns: int = 8, name: str = "sparrow:ratio=3") -> Table:
    table = Table("a title", [Column("policy"), *numbers(*(f"column {n}" for n in range(columns)))])
    table.add(name, *(Styled.of((f"{n}.00 ± ", ""), ("0.10", "dim")) for n in range(columns)))
    return table


def test_columns_are_left_out_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(replace(wide(), spare=("column 3", "nowhere", "column 5", "column 0", "column 1", "column 2")))
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == "a title" and "column 7" in lines[1] and "column 2" in lines[1]
    assert lines[-1].startswith("not shown: column 3, column 5, column 0, column 1 (")
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines[:-1])


def test_a_legend_goes_with_its_column(capsys: pytest.CaptureFixture[str]) -> None:
    notes = ["column 1: of what", "column 7: of whom", "all: seen"]
    Outputs().show(Answer([replace(wide(), spare=("column 1",))], notes, {}))
    assert "column 1: of what" not in capsys.readouterr().out
    Outputs().show(Answer([wide()], notes, {}))
    assert capsys.readouterr().out.splitlines()[-3:] == notes


def test_a_table_without_spare_columns_is_divided(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(wide())
    out = capsys.readouterr().out
    assert [out.count(f"column {n}") for n in range(8)] == [1] * 8 and out.count("sparrow:ratio=3") == 2
    assert all(len(line) <= 80 for line in out.splitlines())


def test_nothing_is_cut_where_nothing_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(replace(wide(2, "x" * 90), spare=("column 1",)))
    out = capsys.readouterr().out
    assert "x" * 90 in out and "0.00 ± 0.10" in out and "…" not in out and "not shown: column 1" in out


def test_there_is_room_for_all(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    print_table(replace(wide(), spare=("column 3",)))
    out = capsys.readouterr().out
    assert "column 3" in out and "not shown" not in out


def test_markdown_of_a_table() -> None:
    table = Table("a title", [Column(""), *numbers("a|b")])
    table.add("x", Styled.of(("1", "red"), ("\n[0, 2]", "dim")))
    assert Tables([table]).markdown() == "a title\n\n|  | a\\|b |\n|---|--:|\n| x | 1<br>[0, 2] |"


def test_flat_records() -> None:
    record = {"a": 1, "b": {"c": [2.0, None]}, "d": [{"e": 3}], "f": "x", "g": []}
    assert dict(flat(record)) == {"a": 1, "b.c.0": 2.0, "b.c.1": None, "f": "x"}


def test_evaluate_as_csv_is_its_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.json"
    evaluate(*TWO, "--format", "csv", "--json", path)
    shown = capsys.readouterr()
    rows, summaries = [*csv.DictReader(io.StringIO(shown.out))], json.loads(path.read_text())[6:]
    assert [row["policy"] for row in rows] == ["bf-js", "fifo-ff"]
    for row, summary in zip(rows, summaries, strict=True):
        assert summary.pop("kind") == "mean", "a file with rows for runs and means says which is which"
        assert {key: "" if value is None else str(value) for key, value in flat(summary)} == row
        assert float(row["interval.mean_queue"]) == summary["interval"]["mean_queue"] > 0
    assert "paper/fig4b: 5 servers" in shown.err


def test_evaluate_as_markdown_has_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(*TWO, "--format", "markdown")
    title, _, head, line, *rows = capsys.readouterr().out.splitlines()
    assert title.startswith("delays in slots") and len(rows) == 2
    assert {one.count("|") for one in (head, line, *rows)} == {13}
    assert "tasks/s" in head and "response" in head and rows[1].startswith("| fifo-ff | ")


def test_evaluate_says_what_its_marks_mean(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate("paper/fig4b", "--intensity", 1.5, "--slots", 2000, "--seeds", 2, "--processes", 1, "-p", "fifo-ff")
    out = capsys.readouterr().out
    assert "unstable" in out and "the queue grows as long as the run lasts" in out
    evaluate("paper/fig4b", "--intensity", 0.9, "--slots", 10_000, "--seeds", 2, "--processes", 1, "-p", "bf-js")
    assert "± as large as the mean, or larger" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["csv", "markdown", "latex"])
def test_other_commands(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ("capacity", "paper/fig3a"),
        ("judge", "paper/fig3a", "-p", "bf-js", "--seeds", "2", "--width", "0.2", "--processes", "1"),
        ("leaderboard", "-w", "paper/fig3a", "-p", "bf-js", "--seeds", "2", "--slots", "3000", "--no-judge", "--processes", "1"),
    ):
        main([*words, "--format", form])
        out = capsys.readouterr().out
        if form == "csv":
            (row,) = csv.DictReader(io.StringIO(out))
            assert row["workload"] == "paper/fig3a" and None not in row
        else:
            row_end = "\n|" if form == "markdown" else "\\\\\n"
            assert out.count(row_end) >= 2 and "─" not in out


def test_standard_output_has_one_result(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        evaluate(*TWO, "--format", "csv", "--json", "-")
    assert left.value.code == 2
    assert capsys.readouterr().err == "packenv: standard output takes only one of --format csv and --json -\n"


JSON_COMMANDS = [
    ("evaluate", "paper/fig4b", "--slots", "500", "-p", "fifo-ff", "--processes", "1"),
    ("capacity", "paper/fig3a"),
    ("judge", "paper/fig3a", "-p", "bf-js", "--seeds", "2", "--width", "0.2", "--processes", "1"),
    ("leaderboard", "-w", "paper/fig3a", "-p", "bf-js", "--seeds", "2", "--slots", "3000", "--no-judge", "--processes", "1"),
    ("bound", "paper/fig3a"),
    ("plan", "paper/fig3a", "-p", "bf-js", "--seeds", "2", "--slots", "3000", "--processes", "1"),
    ("optimal-policy", "small/fig3a", "--most", "4", "--slots", "1000", "--seeds", "2", "--processes", "1"),
    ("optimum", "price/fig1", "--workers", "1", "-p", "fifo"),
    ("reproduce", "fig2", "--out", "out", "--quick", "--processes", "1"),
    ("trace", "convert", "tasks.csv", "converted.csv"),
    ("trace", "describe", "tasks.csv"),
    pytest.param(("trace", "profile", "tasks.csv"), marks=pytest.mark.slow),
    ("warmup", "bf-js"),
    ("compare", "bf-js", "fifo-ff", "paper/fig4b", "--margin", "1", "--slots", "20000", "--seeds", "2", "--processes", "1"),
    ("doctor",),
    ("verdict", "ran.csv"),
    ("record", "paper/fig3a", "--policy", "bf-js", "--episodes", "1", "--horizon", "50", "--out", "small-v0"),
    pytest.param(("bench", "--quick"), marks=[pytest.mark.slow, pytest.mark.minutes]),
]


@pytest.mark.parametrize("words", JSON_COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_json_alone_on_standard_output(
    words: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if words[0] == "optimum":
        pytest.importorskip("ortools")
    rows = [f"{7 * n},{5 + n % 40},{(1 + n % 5) / 10}" for n in range(300)]
    samples.text(tmp_path / "tasks.csv", "submit_time_s,duration_s,cpu", *rows)
    samples.text(tmp_path / "ran.csv", "submit_time_s,start_time_s", *(f"{7 * n},{7 * n + n % 5}" for n in range(300)))
    monkeypatch.chdir(tmp_path)
    main([*words, "--json", "-"])
    ctypes.CDLL(None).fflush(None)  # what libraries in C have printed
    shown = capfd.readouterr()
    assert json.loads(shown.out) and shown.err


def test_every_command_with_json_is_tested() -> None:
    tested = {getattr(case, "values", (case,))[0][0] for case in JSON_COMMANDS}
    assert {name.split()[0] for name, command in every_command() if any("--json" in one.opts for one in command.params)} == tested


def every_command() -> list[tuple[str, click.Command]]:
    found = [(name, command) for name in COMMANDS if (command := cli.get_command(click.Context(cli), name)) is not None]
    inner = [(f"{name} {sub}", one) for name, command in found for sub, one in getattr(command, "commands", {}).items()]
    return [*found, *inner]


@pytest.mark.parametrize("name", ["", *(name for name, _ in every_command())])
def test_help_fits_80_columns(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main([*name.split(), "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Usage: packenv")
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if line.endswith("-") and not line.endswith(" -")] == []  # no word is divided
    assert "..." not in "".join(lines[2:])


def test_the_list_fits_80_columns_and_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80 or "…" in line.replace("value,…", "")] == []
    for name in ("vqs-bf", "agent:google2011-like", "replay:FILE", "eagle/yahoo"):
        assert any(line.split()[:1] == [name] for line in lines)


def test_a_trace_described_fits_80_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["trace", "describe", str(samples.text(tmp_path / "pods.csv", *samples.PODS))])
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if "─" in line and len(line) > 80] == [] and "…" not in out


def test_times_say_how_long_a_slot_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ("0,0.6,3", "0,0.5,2")
    evaluate(trace(tmp_path, *rows), "--servers", 1, "--slot-seconds", 0.5, "-p", "fifo-ff", "--processes", 1)
    assert "delays in seconds (a slot is 0.5 s)" in capsys.readouterr().out
