"""What surrounds a command: streams that are closed, a width of 0, names that are no UTF-8, a compiler that is switched off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SHORT = ("evaluate", "paper/fig4b", "--intensity", "0.5", "--slots", "300", "-p", "fifo-ff")
COMMAND = (sys.executable, "-m", "packenv.cli.main")
STRANGE = b"jobs\xff"
ENDING = {b"json": b".json", b"plot": b".png", b"report": b".html"}


def run(*words: str | bytes, shell: str | None = None, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = ["sh", "-c", f'"$@" {shell}', "sh", *COMMAND, *words] if shell else [*COMMAND, *words]
    return subprocess.run(command, capture_output=True, env=os.environ | environment)


def test_closed_streams(tmp_path: Path) -> None:
    done = run(*SHORT, "--json", str(tmp_path / "runs.json"), shell=">&-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(json.loads((tmp_path / "runs.json").read_text())) > 0
    assert run("list", shell=">&- 2>&-").returncode == 0


def test_a_width_of_nothing() -> None:
    narrow, usual = run(*SHORT, COLUMNS="0"), run(*SHORT, COLUMNS="")
    assert narrow.returncode == 0 and b"undecided: the runs are too short" in narrow.stdout
    assert narrow.stdout == usual.stdout


def test_names_that_are_no_utf_8(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/"
    (tmp_path / "table.csv").write_text("submit_time_s,duration_s,cpu\n0,10,1\n5,10,2\n")
    (tmp_path / "table.csv").rename(os.fsdecode(folder + STRANGE + b".csv"))
    outputs = [word for kind in (b"json", b"plot", b"report") for word in (b"--" + kind, folder + STRANGE + ENDING[kind])]
    done = run("evaluate", folder + STRANGE + b".csv", "--servers", "2x8", "--slot-seconds", "1", "-p", "fifo-ff", *outputs)
    assert done.returncode == 0, done.stderr
    assert b"jobs?.csv: 2 tasks" in done.stdout
    assert all(Path(os.fsdecode(folder + STRANGE + ending)).exists() for ending in ENDING.values())


def test_without_the_compiler() -> None:
    done = run(*SHORT, NUMBA_DISABLE_JIT="1")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert done.stderr.startswith(b"packenv: NUMBA_DISABLE_JIT is set") and done.stdout.count(b"\n") <= 1


def test_a_library_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text("raise ImportError('undefined symbol: x')\n")
    done = run(*SHORT, PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1].startswith("packenv: undefined symbol: x; `packenv doctor` shows")
