"""Completion in a real bash: commands, options, policies, workloads, words with colons; and the line that turns it on."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from packenv.cli.main import main

BASH = shutil.which("bash")
BIN = Path(sys.executable).parent
DIVIDING = " \t\n\"'><=;|&(:"  # what COMP_WORDBREAKS is, unless a user changes it
needs_bash = pytest.mark.skipif(BASH is None, reason="no bash here")

ASK = r"""
eval "$(packenv completion bash)"
compopt() { printf 'option %s\n' "$2"; }  # the real one works only while readline completes
COMP_LINE="$1" COMP_POINT=${#1} COMP_WORDBREAKS="$2"
_packenv_completion packenv
printf '%s\n' "${COMPREPLY[@]}"
"""


def environment() -> dict[str, str]:
    return os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def completions(line: str, cwd: Path, dividing: str = DIVIDING) -> list[str]:
    """What bash replaces the last part of the line with, and options such as `default` (names of files)."""
    assert BASH is not None
    command = [BASH, "--norc", "-c", ASK, "bash", line, dividing]
    done = subprocess.run(command, env=environment(), cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [word for word in done.stdout.splitlines() if word]


@needs_bash
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("packenv ev", ["evaluate"]),
        pytest.param("packenv evaluate --sl", ["--slot-seconds", "--slowdown-bound", "--slots"], marks=pytest.mark.slow),
        ("packenv evaluate paper/f", ["paper/fig3a", "paper/fig3b", "paper/fig4a", "paper/fig4b"]),
        ("packenv evaluate paper/fig4b -p bf", ["bf-j", "bf-js", "bf-s"]),
        pytest.param("packenv judge paper/fig4b --policy vqs", ["vqs", "vqs-bf"], marks=pytest.mark.slow),
        pytest.param("packenv evaluate -p agent:fig4", ["fig4a", "fig4b", "fig4b-kmw"], marks=pytest.mark.slow),
        pytest.param("packenv evaluate -p vqs:J", ["option nospace", "J="], marks=pytest.mark.slow),
        ("packenv evaluate -p vqs:J=4,st", ["4,stall"]),
        ("packenv evaluate -p ag", ["option nospace", "agent:"]),
        pytest.param("packenv evaluate --format ", ["table", "csv", "markdown", "latex"], marks=pytest.mark.slow),
        ("packenv evaluate --json - -p fifo-", ["fifo-ff"]),
        pytest.param("packenv evaluate own.c", ["option default"], marks=pytest.mark.slow),
        pytest.param("packenv leaderboard --reference maxw", ["maxweight"], marks=pytest.mark.slow),
        pytest.param("packenv reproduce fig3", ["fig3a", "fig3b"], marks=pytest.mark.slow),
        pytest.param("packenv trace con", ["convert"], marks=pytest.mark.slow),
        ("packenv trace describe x", ["option default"]),
        pytest.param("packenv nonsense --he", ["--help"], marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_bash(line: str, words: list[str], tmp_path: Path) -> None:
    assert completions(line, tmp_path) == words


@needs_bash
def test_bash_that_does_not_divide_at_colons(tmp_path: Path) -> None:
    assert completions("packenv evaluate -p agent:fig4", tmp_path, " \t\n") == ["agent:fig4a", "agent:fig4b", "agent:fig4b-kmw"]


@needs_bash
def test_the_tabulator_key(tmp_path: Path) -> None:
    """Typed to a bash on a terminal: the line is completed, and then printed by `echo`."""
    assert BASH is not None
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execve(BASH, [BASH, "--norc", "--noprofile", "-i"], environment() | {"PS1": "> ", "TERM": "dumb"})
    try:
        os.write(terminal, b'eval "$(packenv completion bash)"; echo rea""dy\n')
        said_by(terminal, b"ready")
        os.write(terminal, b"packenv evaluate paper/fig4b -p agent:goo\t")
        said_by(terminal, b"google2011-like")
        os.write(terminal, b'\x01echo "\x05 e""nd"\n')
        assert "packenv evaluate paper/fig4b -p agent:google2011-like  end" in said_by(terminal, b" end\r\n").decode()
    finally:
        os.close(terminal)  # bash ends with its terminal
        os.waitpid(child, 0)


def said_by(terminal: int, expected: bytes) -> bytes:
    """What comes from the terminal until it has `expected`."""
    said, deadline = b"", time.monotonic() + 120
    while expected not in said:
        assert time.monotonic() < deadline, said
        if select.select([terminal], [], [], 1)[0]:
            said += os.read(terminal, 4096)
    return said


def test_the_line_to_add(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for shell in ("bash", "zsh"):
        main(["completion", shell])
        assert capsys.readouterr().out == f'eval "$(_PACKENV_COMPLETE={shell}_source packenv)"\n'
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    main(["completion"])
    assert "zsh_source" in capsys.readouterr().out
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    for words in (["completion"], ["completion", "fish"]):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 2 and "bash" in capsys.readouterr().err


def test_zsh_gets_its_function() -> None:
    done = subprocess.run(
        [BIN / "packenv"], env=os.environ | {"_PACKENV_COMPLETE": "zsh_source"}, capture_output=True, text=True, check=True
    )
    assert "#compdef packenv" in done.stdout and "_PACKENV_COMPLETE=zsh_complete" in done.stdout
    asked = os.environ | {"_PACKENV_COMPLETE": "zsh_complete", "COMP_WORDS": "packenv evaluate -p agent:fig4", "COMP_CWORD": "3"}
    done = subprocess.run([BIN / "packenv"], env=asked, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["plain", "agent:fig4a", "_", "plain", "agent:fig4b", "_", "plain", "agent:fig4b-kmw", "_"]
