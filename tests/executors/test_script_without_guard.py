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


CASES = Path(__file__).resolve().parents[1] / "cases"


def test_a_class_of_a_cell_or_of_c() -> None:
    script = (CASES / "notebook-class-executor.py").read_text()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("what this script defines: Python reads it from no file: write it to a file")


def test_the_case_without_a_guard() -> None:
    done = subprocess.run([sys.executable, CASES / "script-without-main-guard.py"], capture_output=True, text=True)
    top, ratio = done.stdout.splitlines()
    assert (done.returncode, top) == (0, "top of the script") and "[" in ratio, done.stderr


def test_in_a_worker_of_multiprocessing(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(
        "import multiprocessing, packenv\n"
        "def begin(_):\n"
        "    try:\n"
        "        packenv.executor(2)\n"
        "    except packenv.InputError as error:\n"
        "        return str(error)\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(begin, [0])[0])\n"
    )
    done = subprocess.run([sys.executable, file], capture_output=True, text=True)
    assert done.stdout.startswith("a worker of multiprocessing.Pool starts no processes: pass no `executor`"), done.stderr
