"""The pages of this plug-in: commands and Python run, outputs are those shown, links lead somewhere, help is light."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kubernetes_tests import sample
from packenv.cli.main import main

HOME = Path(__file__).parents[1]
PAGES = {path.relative_to(HOME).as_posix(): path.read_text() for path in [HOME / "README.md", *sorted(HOME.glob("docs/*.md"))]}
TEXT = "\n".join(PAGES.values())


def blocks(language: str) -> list[str]:
    """The fenced blocks of all pages in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    return list(dict.fromkeys(re.findall(r"^\$ (packenv .*)$", "\n".join(blocks("console")), re.MULTILINE)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, which is the current one."""
    sample.listed(tmp_path / "cluster.json")
    (tmp_path / "job.yaml").write_text(blocks("yaml")[0])
    (tmp_path / "past.csv").write_text("owner,seconds\n" + "".join(f"team/train,{60 * n}\n" for n in range(1, 51)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def quick(command: str) -> list[str]:
    """The words of a command, with few runs where it says nothing of their number."""
    words = shlex.split(command)[1:]
    if words[0] == "kubernetes":
        extra = {"when": ["--draws", "9", "--slots", "2000"], "submit": ["--draws", "9", "--slots", "2000"]}
        extra |= {"plan": ["--seeds", "2"], "evaluate": ["--slots", "2000"]}
        for option, value in zip(*[iter(extra[words[1]])] * 2, strict=True):
            words += [] if option in words else [option, value]
    return words


@pytest.mark.parametrize("command", commands())
def test_commands(folder: Path, command: str) -> None:
    try:
        main(quick(command))
    except SystemExit as end:
        assert end.code in ((0, 1, 3) if "compare" in command else (0,))


def test_outputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form = re.compile(r"^\$ (packenv .*)\n((?:(?!\$ ).*\n)+)", re.MULTILINE)
    shown = [pair for block in blocks("console") for pair in form.findall(block)]
    assert shown
    for command, output in shown:
        main(shlex.split(command)[1:])
        printed = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
        assert printed == [line.rstrip() for line in output.strip().splitlines()]


def test_python(folder: Path) -> None:
    for block in blocks("python"):
        subprocess.run([sys.executable, "-c", block], cwd=folder, check=True)


@pytest.mark.parametrize("page", PAGES)
def test_links(page: str) -> None:
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)", PAGES[page]) if "://" not in target]
    assert not [target for target in targets if not ((HOME / page).parent / target).exists()]


def test_help_brings_nothing_heavy() -> None:
    names = ["kubernetes"], *(["kubernetes", name] for name in ("evaluate", "plan", "when", "submit"))
    script = f"""
import contextlib, sys
from packenv.cli.main import main
for words in {[*names]}:
    with contextlib.suppress(SystemExit):
        main([*words, "--help"])
print([name for name in ("numba", "numpy", "pyarrow", "rich") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]" and "packenv kubernetes when" in done.stdout
