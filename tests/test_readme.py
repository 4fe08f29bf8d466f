"""The README says what happens: its Python runs, its commands run, and its examples are the files in examples."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workloads.traces import samples
from tests.workloads.traces.samples import text

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
EXAMPLES = ROOT / "examples"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """The `$ packenv …` lines, continued where they end in a backslash."""
    text = "\n".join(blocks("console")).replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ packenv ")]


def named(block: str) -> str | None:
    """The file that a block says it is, in its first line."""
    found = re.match(r"# (\w+\.py)\b", block)
    return found[1] if found else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder: the README's modules, and a small trace in each form."""
    path = tmp_path_factory.mktemp("readme")
    for block in filter(named, blocks("python")):
        (path / str(named(block))).write_text(block)
    rows = [f"{7 * n},{5 + n % 40},{(1 + n % 5) / 10},{(1 + n % 3) / 10}" for n in range(300)]
    text(path / "openb_pod_list_default.csv", *samples.PODS)
    text(path / "openb_node_list_all_node.csv", *samples.NODES)
    text(path / "disaggregated_DLRM_trace.csv", *samples.INSTANCES)
    text(path / "log.swf", *samples.SWF)
    text(path / "workflow.csv", *samples.WORKFLOW)
    text(path / "jobs.tr", *samples.JOB_LINES)
    text(path / "facebook.tsv", *samples.SWIM)
    samples.native_folder(path / "google2011")
    (path / "tasks.csv").write_text("\n".join(["submit_time_s,duration_s,cpu,memory", *rows]) + "\n")
    return path


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_examples_are_the_files() -> None:
    found = {named(block): block for block in blocks("python") if named(block)}
    assert {name: (EXAMPLES / str(name)).read_text() for name in found} == found
    assert len(found) == 2


def test_quick_start(folder: Path) -> None:
    (folder / "quick_start.py").write_text("\n".join(block for block in blocks("python") if not named(block)))
    assert "stable" in run(folder, "quick_start.py")


@pytest.mark.parametrize("command", commands())
def test_commands(folder: Path, command: str) -> None:
    run(folder, "-m", "packenv.cli.main", *shlex.split(command)[1:])


def test_there_are_commands() -> None:
    assert len(commands()) >= 8
