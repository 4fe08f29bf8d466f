"""The pages say what happens: their Python runs, their commands run, their links lead somewhere, their examples are files."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.traces import samples
from tests.workloads.traces.samples import text

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SOURCES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in SOURCES}

LONG = (
    *("packenv reproduce", "packenv judge", "packenv worst-case", "packenv evaluate worst.json"),
    *("packenv trace profile", "packenv evaluate tasks-like.json", "packenv evaluate delay/", "packenv evaluate analytics"),
    *("packenv evaluate eagle/", "packenv evaluate price/", "packenv evaluate facebook.tsv", "packenv leaderboard -w paper/"),
)
"""Commands that take more than a few seconds, and those that read what these write."""


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page], re.MULTILINE | re.DOTALL)


def named(block: str) -> str | None:
    """The file that a block says it is, in its first line."""
    found = re.match(r"# (\w+\.py)\b", block)
    return found[1] if found else None


def commands() -> list[str]:
    """The `$ packenv …` lines of all pages, each once; continued where they end in a backslash."""
    text = "\n".join(block for page in PAGES for block in blocks(page, "console")).replace("\\\n", " ")
    return list(dict.fromkeys(line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ packenv ")))


def marked(command: str) -> Any:
    """A test's parameter: slow for commands that take more than a few seconds."""
    return pytest.param(command, marks=pytest.mark.slow) if command.startswith(LONG) else command


def makers() -> dict[str, str]:
    """The commands of the pages that write a file which another command may read, by the file's name."""
    found = [(re.search(r"--(?:out|certificate|schedule) (\S+\.\w+)", command), command) for command in commands()]
    return {match[1]: command for match, command in found if match}


def programs() -> dict[str, str]:
    """The Python of each page, its unnamed blocks one after the other."""
    found = {page: "\n".join(block for block in blocks(page, "python") if not named(block)) for page in PAGES}
    return {page: program for page, program in found.items() if program}


def modules() -> dict[str, str]:
    """The files that pages show whole, by name."""
    return {str(named(block)): block for page in PAGES for block in blocks(page, "python") if named(block)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder: the README's modules, and a small trace in each form."""
    path = tmp_path_factory.mktemp("docs")
    for name, block in modules().items():
        (path / name).write_text(block)
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
    found = modules()
    assert {name: (EXAMPLES / name).read_text() for name in found} == found
    assert len(found) == 2


@pytest.mark.parametrize("page", programs())
def test_python(folder: Path, page: str) -> None:
    program = folder / (Path(page).stem + "_page.py")
    program.write_text(programs()[page])
    run(folder, program.name)


@pytest.mark.parametrize("command", [marked(command) for command in commands()])
def test_commands(folder: Path, command: str) -> None:
    for file, maker in makers().items():
        if file in command.split() or f"replay:{file}" in command:
            if maker != command and not (folder / file).exists():  # tests run in any order, and side by side
                run(folder, "-m", "packenv.cli.main", *shlex.split(maker)[1:])
    run(folder, "-m", "packenv.cli.main", *shlex.split(command)[1:])


def test_there_are_commands_and_programs() -> None:
    assert len(commands()) >= 30
    assert len(programs()) >= 5


@pytest.mark.parametrize("page", PAGES)
def test_links(page: str) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", PAGES[page])
    missing = [target for target in targets if "://" not in target and not ((ROOT / page).parent / target).exists()]
    assert not missing


def test_readme_is_short() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 200
