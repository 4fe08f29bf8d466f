"""A script without `if __name__ == "__main__":` that uses processes: they do not run it again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import packenv
print("top of the script")
def double(number):
    return 2 * number
with packenv.executor(processes=2) as processes:
    print(processes.submit(CALL, 3).result())
"""


ENDS_EARLY = """
import packenv
pool = packenv.executor(processes=6)
calls = [pool.submit(float, number) for number in range(6)]
print(calls[0].result())
del pool
"""
"""Nobody holds the executor, and it ends while processes are starting."""


def run(tmp_path: Path, call: str, script: str = SCRIPT) -> tuple[str, str]:
    file = tmp_path / "script.py"
    file.write_text(script.replace("CALL", call))
    done = subprocess.run([sys.executable, file], capture_output=True, text=True)
    return done.stdout, done.stderr


def run_from_standard_input(call: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-"], input=SCRIPT.replace("CALL", call), capture_output=True, text=True)
    return done.stdout, done.stderr


def test_it_runs(tmp_path: Path) -> None:
    assert run(tmp_path, "float") == ("top of the script\n3.0\n", "")


def test_it_ends_while_processes_start(tmp_path: Path) -> None:
    assert run(tmp_path, "", ENDS_EARLY) == ("0.0\n", "")


def test_what_it_defines_itself_takes_a_guard(tmp_path: Path) -> None:
    out, errors = run(tmp_path, "double")
    assert out == "top of the script\n"
    last = errors.splitlines()[-1]
    assert last.startswith("packenv.errors.InputError: other processes need what this script defines") and "__main__" in last


def test_from_standard_input() -> None:
    assert run_from_standard_input("float") == ("top of the script\n3.0\n", "")
    out, errors = run_from_standard_input("double")
    assert out == "top of the script\n"
    assert errors.splitlines()[-1].endswith("this script defines: Python reads it from <stdin>: write it to a file")
