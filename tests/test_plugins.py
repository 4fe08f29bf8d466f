"""Plug-ins by their entry points: found, shown without being imported, and one line where one is broken."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import packenv
from packenv.plugins import CHECKOUT

ROOT = Path(__file__).resolve().parent.parent

MODULE = '''
"""A toy plug-in."""
import click
from packenv.extend import InputError

WHAT = "a toy cluster"
COMMANDS = {"plan": "packenv toy"}

def is_mine(path):
    return path.suffix == ".toy"

def workload_of(path, resources, slot_seconds, changes):
    from packenv import workload
    return workload("paper/fig4b", **changes)

@click.command()
def toy():
    """Play with toys.

    More about it.
    """
    print("played")
'''
BROKEN = "raise RuntimeError('out of order')"


def install(folder: Path, name: str, source: str, **groups: str) -> None:
    """A package on the path with one module and entry points, `group` = value."""
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("".join(f"[packenv.{group}]\n{name} = {value}\n" for group, value in groups.items()))


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "packenv", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "120"} | environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plugins")
    install(path, "toy", MODULE, commands="toy:toy", rooms="toy")
    install(path, "broken", BROKEN, commands="broken:command", rooms="broken", policies="broken:Policy")
    install(path, "gone", "", commands="not_there.at_all:command", rooms="not_there")
    (path / "a.toy").write_text("")
    return path


def test_help_shows_commands_without_importing_them(folder: Path) -> None:
    (folder / "toy.py").write_text(MODULE + "\nprint('imported')")
    helped = run(folder, "--help")
    (folder / "toy.py").write_text(MODULE)
    assert helped.returncode == 0 and not helped.stderr
    assert "imported" not in helped.stdout and "  toy             Play with toys.\n" in helped.stdout
    assert "Of the plug-in broken:command." in helped.stdout


def test_completion_knows_commands(folder: Path) -> None:
    asked = run(folder, _PACKENV_COMPLETE="zsh_complete", COMP_WORDS="packenv to", COMP_CWORD="1")
    assert "toy" in asked.stdout and "Play with toys." in asked.stdout


def test_a_command(folder: Path) -> None:
    assert run(folder, "toy").stdout == "played\n"
    assert "Usage: packenv toy [OPTIONS]\n\n  Play with toys.\n\n  More about it." in run(folder, "toy", "--help").stdout


def test_a_kind_of_file(folder: Path) -> None:
    """A broken room costs a line; the file is read by the other one."""
    done = run(folder, "evaluate", "a.toy", "--intensity", "0.5", "--slots", "1000", "-p", "fifo-ff")
    assert done.returncode == 0 and "paper/fig4b" in done.stdout
    lines = done.stderr.splitlines()
    assert any("plug-in broken 1.0: broken cannot be imported: RuntimeError: out of order (" in line for line in lines)
    assert any("plug-in gone 1.0: not_there cannot be imported: ModuleNotFoundError" in line for line in lines)
    assert "Traceback" not in done.stderr
    planned = run(folder, "plan", "a.toy", "-g", "mean wait <= 9")
    assert planned.returncode == 2 and planned.stderr.splitlines()[-1] == "packenv: a.toy is a toy cluster: run packenv toy"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["broken"], "packenv: plug-in broken 1.0: broken:command cannot be imported: RuntimeError: out of order ("),
        (["gone"], "packenv: plug-in gone 1.0: not_there.at_all:command cannot be imported: ModuleNotFoundError: "),
        (
            ["evaluate", "paper/fig4b", "-p", "broken"],
            "packenv: policy 'broken': module 'broken' cannot be imported: RuntimeError",
        ),
        (["tay"], "packenv: unknown command 'tay'; did you mean toy?"),
    ],
)
def test_a_broken_one_is_one_line(folder: Path, words: list[str], line: str) -> None:
    done = run(folder, *words)
    assert done.returncode == 2 and done.stderr.startswith(line) and done.stderr.count("\n") == 1


def test_a_room_that_fails_is_named(tmp_path: Path) -> None:
    install(tmp_path, "fails", MODULE.replace("path.suffix ==", "path.absent =="), rooms="fails")
    (tmp_path / "a.sizes").write_text("")
    done = run(tmp_path, "evaluate", "a.sizes")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.startswith("packenv: plug-in fails: `is_mine` of a.sizes fails: AttributeError")


def test_doctor_names_broken_ones(folder: Path) -> None:
    examined = run(folder, "doctor")
    assert examined.returncode == 1 and "toy 1.0" in examined.stdout
    assert "problem    plug-in broken 1.0: broken cannot be imported: RuntimeError: out of order" in examined.stdout


def test_list_goes_on(folder: Path) -> None:
    listed = run(folder, "list")
    assert listed.returncode == 0 and "vqs-bf" in listed.stdout and "cannot be imported" in listed.stdout


NEEDED = "a plug-in reads what kubectl prints, and it is not installed: pip install "
WITHOUT = """
import importlib.metadata as metadata, sys
found = metadata.entry_points
metadata.entry_points = lambda **chosen: [entry for entry in found(**chosen) if entry.value.startswith("packenv.")]
from packenv.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["plan", "cluster.json"], f"cluster.json: {NEEDED}"),
        (
            ["evaluate", "cluster.json"],
            f"cluster.json: {NEEDED}",
        ),
        (["kubernetes", "plan", "cluster.json"], "kubernetes is the command of a plug-in that is not installed: pip install "),
    ],
)
def test_without_the_plugin_a_line_installs_it(tmp_path: Path, words: list[str], line: str) -> None:
    (tmp_path / "cluster.json").write_text('Warning: old\n{"apiVersion": "v1", "items": []}')
    done = subprocess.run([sys.executable, "-c", WITHOUT, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith(f"packenv: {line}") and done.stderr.count("\n") == 1


def page() -> str:
    return (ROOT / "docs" / "how_to" / "plugin.md").read_text(encoding="utf-8")


def test_the_toy_plugin_of_the_page(tmp_path: Path) -> None:
    """Its entry points are those of the page's pyproject.toml; what the page shows is what happens."""
    project = tomllib.loads(re.findall(r"^```toml\n(.*?)^```", page(), re.MULTILINE | re.DOTALL)[0])
    shutil.copy(ROOT / "examples" / "toy_plugin.py", tmp_path)
    info = tmp_path / "packenv_toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: packenv-toy\nVersion: 1.0\n")
    groups = project["project"]["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in rows.items()) for group, rows in groups.items()]
    (info / "entry_points.txt").write_text("".join(lines))
    (tmp_path / "a.sizes").write_text("0.5\n0.2\n0.9\n")
    shown = re.findall(r"^```text\n\$ printf.*?\n(.*?)^```", page(), re.MULTILINE | re.DOTALL)[0]
    steps = re.findall(r"^\$ packenv (.*)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE)
    assert len(steps) == 3
    for words, output in steps:
        done = run(tmp_path, *shlex.split(words))
        assert "Traceback" not in done.stderr
        printed = [line.rstrip() for line in (done.stdout + done.stderr).strip().splitlines()]
        expected = [line.rstrip() for line in output.strip().splitlines()]
        assert printed == expected if expected else "newest-first" in done.stdout


@pytest.mark.parametrize("project", sorted(CHECKOUT.glob("*/pyproject.toml")), ids=lambda path: path.parent.name)
def test_one_version_for_all(project: Path) -> None:
    assert tomllib.loads(project.read_text())["project"]["version"] == packenv.__version__
