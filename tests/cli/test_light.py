"""Words never wait for the compiler: help, lists, completion and refusals import neither it nor NumPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from packenv.cli.main import COMMANDS, main

HEAVY = ("numba", "numpy", "scipy", "pyarrow", "matplotlib", "gymnasium", "torch", "rich")

IN_TURN = f"""
import contextlib, io, json, os, sys
from packenv.cli.main import cli, main

def heavy():
    return [name for name in {HEAVY} if name in sys.modules]

brought = {{}}
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        main(words)
    brought[" ".join(words)] = [said.getvalue().splitlines()[-1][:200], heavy()]
for line in ("packenv evaluate -p b", "packenv evaluate -p agent:", "packenv evaluate -p vqs:", "packenv judge pa"):
    os.environ |= {{"_PACKENV_COMPLETE": "zsh_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}}
    said = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        cli(prog_name="packenv")
    brought[line] = [said.buffer.getvalue().decode(), heavy()]
print(json.dumps(brought))
"""
"""Runs lines of words and completions one after the other, and prints what each said last, and what has been imported since."""

REFUSED = [
    (["evaluate", "--no-such-option"], "No such option"),
    (["evaluate", "paper/fig4b", "--seeds", "none"], "--seeds"),
    (["evaluate", "absent.csv"], "absent.csv: no such file"),
    (["evaluate", "paper/fig4c"], "unknown workload 'paper/fig4c'; did you mean paper/fig4b"),
    (["evaluate", "paper/fig4b", "-p", "bfjs"], "unknown policy 'bfjs'; did you mean bf-js"),
    (["evaluate", "paper/fig4b", "-p", "vqs:K=3"], "policy 'vqs:K=3': unknown parameter 'K'"),
    (["evaluate", "paper/fig4b", "--load", "0.9", "--rate", "1"], "give one of --load, --intensity and --rate"),
    (["judge", "x.json"], "x.json: no such file"),
    (["plan", "absent.parquet", "-g", "mean wait <= 9s"], "absent.parquet: no such file"),
    (["leaderboard", "--judge", "--reference", "bfjs"], "unknown policy 'bfjs'"),
    (["trace", "describe", "absent.swf"], "absent.swf: no such file"),
    (["trace", "describe", str(Path(__file__)), "--columns", "cpu"], "--columns must have the form"),
    (["train", "--guard", "bfjs"], "unknown policy 'bfjs'"),
    (["train", "--load", "0.9:0.8"], "--load must be a number above 0, or LOW:HIGH"),
    (["evalute"], "unknown command 'evalute'; did you mean evaluate"),
]


def test_words_bring_nothing_heavy(tmp_path: Path) -> None:
    helps = [[name, "--help"] for name in COMMANDS if name not in ("reproduce", "bench")]
    lines = [[], ["trace"], *helps, *(words for words, _ in REFUSED), ["completion", "bash"]]
    command = [sys.executable, "-c", IN_TURN, json.dumps(lines)]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    brought = json.loads(done.stdout)
    assert len(brought) == len(lines) + 4
    assert {line: heavy for line, (_, heavy) in brought.items() if heavy} == {}
    for words, problem in REFUSED:
        assert problem in brought[" ".join(words)][0]
    assert "agent:fig4b" in brought["packenv evaluate -p agent:"][0]
    assert "vqs:adaptive" in brought["packenv evaluate -p vqs:"][0]


def test_list_does_not_bring_the_compiler(tmp_path: Path) -> None:
    listed = "import sys\nfrom packenv.cli.main import main\nmain(['list'])\nassert not {'numba', 'numpy'} & {*sys.modules}"
    done = subprocess.run([sys.executable, "-c", listed], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "vqs-bf" in done.stdout and "paper/fig4b" in done.stdout and "agent:fig4b" in done.stdout


@pytest.mark.parametrize("words", [[], ["trace"]])
def test_a_group_alone_shows_its_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(words)
    alone = capsys.readouterr()
    main([*words, "--help"])
    assert alone.out == capsys.readouterr().out and not alone.err


def test_python_m_packenv() -> None:
    done = subprocess.run([sys.executable, "-m", "packenv", "--version"], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0 and done.stdout.startswith("packenv")
