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


def run(tmp_path: Path, call: str) -> tuple[str, str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("CALL", call))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    return done.stdout, done.stderr


def test_it_runs(tmp_path: Path) -> None:
    assert run(tmp_path, "float") == ("top of the script\n3.0\n", "")


def test_what_it_defines_itself_takes_a_guard(tmp_path: Path) -> None:
    out, errors = run(tmp_path, "double")
    assert out == "top of the script\n"
    last = errors.splitlines()[-1]
    assert last.startswith("packenv.errors.InputError: other processes need what this script defines") and "__main__" in last
