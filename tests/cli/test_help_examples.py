"""Every example of every help, and every command with no option but what it must have on each kind of table, run.

That the examples' options are there is a default test; the rest are slow ones.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from packenv.cli.main import main
from tests.cli.help_examples import commands, examples, words_of, write_files
from tests.workloads.traces import samples, test_alibaba2018

ELSEWHERE = ("packenv reproduce", "packenv bench", "packenv verdict -")
"""They run from a checkout or read standard input, and have tests of their own."""

MINUTES = {
    "packenv judge": [],
    "packenv plan --sizes": [],
    "packenv optimum": [],
    "packenv train": ["--samples", "20000", "--evaluation-slots", "2000", "--evaluation-seeds", "1", "--judge-every", "0"],
    "packenv leaderboard": ["--seeds", "2", "--slots", "5000", "--no-judge"],
}
"""Examples that take more than a minute, and what makes those shorter that take an hour."""

MAKERS = {
    "--check proof.json": "packenv bound paper/fig4b --intensity 0.95 --certificate proof.json",
    "optimal:fig3a": "packenv optimal-policy small/fig3a --out fig3a -p bf-js -p vqs",
}
"""Examples that write what others read."""

ANSWERS = {"compare": (0, 1, 3)}
"""Exit statuses that say what was found."""


def run(words: list[str]) -> Any:
    """The exit status of a command in this process."""
    try:
        main(words)
    except SystemExit as ended:
        return ended.code
    return 0


def shorter(example: str) -> list[str]:
    more = next((more for start, more in MINUTES.items() if example.startswith(start)), [])
    return [word for word in more if word not in example.split() or not word.startswith("--no-")]


def as_it_stands() -> list[Any]:
    kept = [example for example in examples() if not example.startswith(ELSEWHERE)]
    long = tuple(MINUTES)
    marks = {True: [pytest.mark.slow, pytest.mark.minutes], False: [pytest.mark.slow]}
    return [pytest.param(example, marks=marks[example.startswith(long)]) for example in kept]


def test_there_are_examples() -> None:
    assert len(examples()) > 45 and set(MAKERS.values()) <= set(examples())
    assert all(any(example.startswith(start) for example in examples()) for start in MINUTES)


@pytest.mark.parametrize("example", examples())
def test_its_options_are_there(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each word of an example is read as the command reads it: options, numbers, choices."""
    monkeypatch.chdir(tmp_path)
    for file in ("proof.json", "worst.json", *WRITTEN):  # whether there is such a file is seen before anything is loaded
        (tmp_path / file).write_text("{}")
    words = words_of(example)
    name, command = next((own, command) for own, command in commands() if words[: len(own)] == own)
    with click.Context(click.Group("packenv")) as above:
        command.make_context(name[-1], words[len(name) :], parent=above)


@pytest.mark.parametrize("example", as_it_stands())
def test_as_it_stands(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    for part, maker in MAKERS.items():
        if part in example:
            assert run([*words_of(maker), *shorter(maker)]) == 0
    words = words_of(example)
    assert run([*words, *shorter(example)]) in ANSWERS.get(words[0], (0,)), capsys.readouterr().err


TABLES = {
    "slots.csv": ["arrival,size,service", *[f"{n // 2},0.{1 + n % 9},{3 + n % 7}" for n in range(40)]],
    "jobs.csv": ["arrival,size,service,job,tenant", *[f"{n},0.{1 + n % 9},{3 + n % 7},{n // 4},{n // 4 % 3}" for n in range(40)]],
    "workflow.csv": samples.WORKFLOW,
    "log.swf": samples.SWF,
    "jobs.tr": samples.JOB_LINES,
    "facebook.tsv": samples.SWIM,
    "openb_pod_list_default.csv": samples.PODS,
    "disaggregated_DLRM_trace.csv": samples.INSTANCES,
    "batch_task.csv": test_alibaba2018.TASKS,
}
CASES = ("milestone_zero_s.csv", "odd.swf", "gpu-shares-pods.csv", "tasks-utf16.csv", "dag-registered-early.csv")
WRITTEN = ("tasks.csv", "trace.parquet")
ON_TABLES = (
    *("evaluate", "compare bf-js fifo-ff", "capacity", "optimum --limit 1", "plan --goal 'mean wait <= 1'"),
    *("trace describe", "trace profile", "trace convert"),
)
SERVERS = ("evaluate", "compare", "capacity", "optimum")
"""They take the servers of a trace, which do not say what they are."""

REFUSED = {
    ("plan", "workflow.csv"): "home server 1 does not exist",
    ("plan", "facebook.tsv"): "draws its tables of jobs for its own servers",
    ("optimum", "facebook.tsv"): "the optimum does not model remote reading",
    ("profile", "milestone_zero_s.csv"): "a profile needs tasks with at least two submission times",
    ("profile", "dag-registered-early.csv"): "a profile needs tasks with at least two submission times",
    ("profile", "gpu-shares-pods.csv"): "a profile needs tasks with at least two submission times",
    ("profile", "odd.swf"): "give their capacities",
}
"""What does not go together, and the line that says so."""


def on_tables() -> list[Any]:
    """Every command with every table; in CI each table with two of the commands."""
    cases = []
    for row, table in enumerate([*TABLES, *CASES, *WRITTEN]):
        for column, command in enumerate(ON_TABLES):
            marks = [pytest.mark.slow, *([pytest.mark.minutes] if (row - column) % 4 else [])]
            cases.append(pytest.param(command, table, marks=marks))
    return cases


@pytest.mark.parametrize(("command", "table"), on_tables())
def test_on_every_table(
    command: str, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("packenv.workloads.fitting.profile.COMPARED_TASKS", 20_000)
    write_files(tmp_path)
    if table in TABLES:
        samples.text(tmp_path / table, *TABLES[table])
    elif table in CASES:
        shutil.copy(samples.CASES / table, tmp_path)
    words = [*words_of(f"packenv {command}"), table]
    words += ["out.csv"] if words[1] == "convert" else []
    words += ["--servers", "3"] if words[0] in SERVERS else []
    words += ["--processes", "1"] if words[0] in ("evaluate", "compare", "plan") else []
    status = run(words)
    problem = REFUSED.get((words[1] if words[0] == "trace" else words[0], table))
    if problem is None:
        assert status in ANSWERS.get(words[0], (0,)), capsys.readouterr().err
    else:
        assert status == 2 and problem in capsys.readouterr().err.splitlines()[-1]
