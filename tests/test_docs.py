"""The pages say what happens: their Python runs, their commands run, their links lead somewhere, their examples are files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import packenv
from packenv.plugins import CHECKOUT
from tests.cli.test_help_examples import ANSWERS
from tests.cli.test_help_examples import run as run_here
from tests.workloads.traces import samples, test_alibaba2018, test_azure2020, test_google2019, test_philly, test_sacct
from tests.workloads.traces.samples import text

ROOT = Path(__file__).resolve().parent.parent
README = "README.md"
EXAMPLES = ROOT / "examples"
MADE = {"made", "examples", "_build", "plugins"}
WRITTEN = [path for path in sorted((ROOT / "docs").glob("**/*.md")) if not MADE & {*path.relative_to(ROOT / "docs").parts}]
CARDS = [*sorted((ROOT / "agents").glob("*.md")), ROOT / "baselines" / README, ROOT / "experiments" / README]
SOURCES = [ROOT / README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *WRITTEN, *CARDS]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in SOURCES}
PLAYED = [page for page in PAGES if ROOT / page not in CARDS]
"""The pages whose commands run; those of the cards play agents as `tests/learning` does, and are known to have their options
(`test_names_on_pages.py`). Of all pages the Python runs."""

LONG = (
    *("packenv reproduce", "packenv judge", "packenv train"),
    *("packenv trace profile", "packenv evaluate tasks-like.json", "packenv evaluate delay/", "packenv evaluate analytics"),
    *("packenv evaluate eagle/", "packenv evaluate price/", "packenv evaluate facebook.tsv", "packenv leaderboard -w paper/"),
    *("packenv record", "packenv evaluate paper/fig4b --intensity 0.95 --slots 100000 -p bf-js -p agent:runs/"),
)
"""Commands that take more than a few seconds, and those that read what these write."""

MINUTES = (
    *("packenv reproduce", "packenv evaluate eagle/", "packenv evaluate delay/", "packenv evaluate price/"),
    *("packenv evaluate analytics", "packenv leaderboard -w paper/", "packenv record paper/fig4b"),
    *("packenv train paper/fig4b --intensity 0.85:0.95", "packenv judge", "packenv optimum dag"),
    *("packenv evaluate paper/fig4b --slots 500000", "packenv evaluate paper/fig4b --intensity 0.9 --slots 500000"),
    *(
        "packenv leaderboard",
        "packenv plan --sizes",
        "packenv trace profile",
        "packenv evaluate tasks-like.json",
    ),
)
"""Those that play whole studies, or train; they have tests of their own."""


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page], re.MULTILINE | re.DOTALL)


def named(block: str) -> str | None:
    """The file that a block says it is, in its first line: one of `examples`."""
    found = re.match(r"# (\w+\.py)\b", block)
    return found[1] if found else None


class Shown(NamedTuple):
    """A command of a page with the output that the page shows."""

    page: str
    line: int  # of the page
    command: str
    output: str


def place_of(shown: Shown) -> str:
    return f"{shown.page}:{shown.line}"


def shown_outputs() -> list[Shown]:
    """The `$ packenv …` lines of all pages that are followed by lines of output."""
    found = []
    for page in PLAYED:
        written = PAGES[page]
        for block in re.finditer(r"^```console\n(.*?)^```", written, re.MULTILINE | re.DOTALL):
            for each in re.finditer(r"^\$ (packenv .*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)+)", block[1], re.MULTILINE):
                line = written[: block.start(1) + each.start()].count("\n") + 1
                found.append(Shown(page, line, each[1].replace("\\\n", " "), each[2]))
    return found


def commands() -> list[str]:
    """The `$ packenv …` lines of all pages, each once; continued where they end in a backslash."""
    text = "\n".join(block for page in PLAYED for block in blocks(page, "console")).replace("\\\n", " ")
    return list(dict.fromkeys(line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ packenv ")))


def marked(value: Any, in_readme: bool) -> Any:
    """A test's parameter: what README shows is tested by default, the rest with the slow tests."""
    marks = [pytest.mark.slow, *([pytest.mark.minutes] if isinstance(value, str) and value.startswith(MINUTES) else [])]
    return value if in_readme else pytest.param(value, marks=marks)


def in_readme(command: str) -> bool:
    """Whether README shows the command, and it takes no more than a few seconds."""
    return command in PAGES[README].replace("\\\n", " ") and not command.startswith(LONG)


def makers() -> dict[str, str]:
    """The commands of the pages that write a file which another command may read, by the file's name."""
    found = [(re.search(r"--(?:out|certificate|schedule) (\S+\.\w+)", command), command) for command in commands()]
    trained = [(re.search(r"train .*--name (\w+)", command), command) for command in commands()]
    agents = {f"runs/{match[1]}/agent": command for match, command in trained if match}
    return {match[1]: command for match, command in found if match} | agents


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
    shutil.copy(EXAMPLES / "admission.py", path)
    for name, block in modules().items():
        (path / name).write_text(block)
    rows = [f"{7 * n},{5 + n % 40},{(1 + n % 5) / 10},{(1 + n % 3) / 10}" for n in range(300)]
    text(path / "openb_pod_list_default.csv", *samples.PODS)
    text(path / "openb_node_list_all_node.csv", *samples.NODES)
    text(path / "disaggregated_DLRM_trace.csv", *samples.INSTANCES)
    text(path / "log.swf", *samples.SWF)
    text(path / "sacct.txt", *test_sacct.LOG)
    text(path / "workflow.csv", *samples.WORKFLOW)
    text(path / "jobs.tr", *samples.JOB_LINES)
    text(path / "facebook.tsv", *samples.SWIM)
    text(path / "batch_task.csv", *test_alibaba2018.TASKS)
    test_google2019.sample(path)
    test_azure2020.database(path / "packing_trace.sqlite")
    test_philly.log(path / "cluster_job_log")
    samples.native_folder(path / "google2011")
    (path / "tasks.csv").write_text("\n".join(["submit_time_s,duration_s,cpu,memory", *rows]) + "\n")
    return path


def run(folder: Path, *arguments: str) -> str:
    own_cluster = os.environ | {"RAY_ADDRESS": "local"}  # not one of other tests
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=own_cluster, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_examples_are_the_files() -> None:
    found = modules()
    assert {name: (EXAMPLES / name).read_text() for name in found} == found
    assert set(found) >= {"worst_fit.py", "smallest_first.py"}


@pytest.mark.parametrize("page", [marked(page, page == README) for page in programs()])
def test_python(folder: Path, page: str) -> None:
    """The Python of a page runs, and prints what the page shows in the blocks of text that follow."""
    program = folder / (page.replace("/", "_").removesuffix(".md") + "_page.py")
    program.write_text(programs()[page])
    printed = run(folder, program.name)
    if expected := "".join(outputs_of_python(page)):
        assert printed == expected, f"{page}: it prints something else than what the page shows"


def test_python_stands_alone(tmp_path: Path) -> None:
    """Every block of Python defines its names, so that it can be copied alone; or the line above says that it goes on."""
    for page, written in PAGES.items():
        for block in re.finditer(r"^```python\n(.*?)^```", written, re.MULTILINE | re.DOTALL):
            before = written[: block.start()]
            if "goes on from" not in before.rstrip().rpartition("\n")[2]:
                (tmp_path / f"{page.replace('/', '-')}-{before.count(chr(10)) + 2}.py").write_text(block[1])
    assert len([*tmp_path.iterdir()]) > 30
    check = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select=F821"]
    unknown = subprocess.run([*check, "--output-format=concise", tmp_path], capture_output=True, text=True)
    assert unknown.returncode == 0, unknown.stdout + unknown.stderr


def outputs_of_python(page: str) -> list[str]:
    """The blocks of text that directly follow blocks of Python."""
    return re.findall(r"^```python\n(?:(?!```).*\n)*```\n\n```text\n((?:(?!```).*\n)*)```", PAGES[page], re.MULTILINE)


@pytest.mark.parametrize("shown", [marked(shown, shown.page == README) for shown in shown_outputs()], ids=place_of)
def test_outputs(folder: Path, shown: Shown) -> None:
    """A command prints what the page shows, but for spaces at the ends of lines."""
    printed = run(folder, "-m", "packenv.cli.main", *shlex.split(shown.command)[1:])
    wanted, found = ([line.rstrip() for line in text.strip().splitlines()] for text in (shown.output, printed))
    assert found == wanted, f"{shown.page}, line {shown.line}: the output of `{shown.command}` is not what the page shows"


@pytest.mark.parametrize("command", [marked(command, in_readme(command)) for command in commands()])
def test_commands(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, which saves the start of one."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)  # as of a user's folder: it has policies
    for file, maker in makers().items():
        if file in command.split() or any(f"{policy}:{file}" in command for policy in ("replay", "agent", "optimal")):
            if maker != command and not list(folder.glob(f"{file}*")):  # tests run in any order, and side by side
                assert run_here(shlex.split(maker)[1:]) == 0
    words = shlex.split(command)[1:]
    assert run_here(words) in ANSWERS.get(words[0], (0,))


def test_there_are_commands_and_programs() -> None:
    assert len(commands()) >= 30
    assert len(programs()) >= 5


@pytest.mark.parametrize("page", PAGES)
def test_links(page: str) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", PAGES[page])
    there = [target for target in targets if "://" not in target and (CHECKOUT.is_dir() or not target.startswith("plugins/"))]
    missing = [target for target in there if not ((ROOT / page).parent / target).exists()]
    assert not missing


def test_readme_is_short() -> None:
    lines = PAGES["README.md"].splitlines()
    assert len(lines) <= 95 and max(map(len, lines)) <= 200


def test_the_entries_to_cite_say_what_citation_cff_does() -> None:
    cff = (ROOT / "CITATION.cff").read_text()
    entries = blocks("docs/reference/cite.md", "bibtex")
    fields = [dict(re.findall(r"(\w+) += \{(.*)\},\n", entry)) for entry in entries]
    assert [entry["title"] in cff for entry in fields] == [True, True]
    assert fields[0]["note"] == f"Version {packenv.__version__}, Apache-2.0" and f"\nversion: {packenv.__version__}\n" in cff
    assert f"url: {fields[1]['url']}\n" in cff
    assert "date-released" not in cff  # once there is one the entry has its year
