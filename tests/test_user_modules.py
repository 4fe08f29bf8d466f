"""The current folder: a policy named by module is found there, with what it imports; libraries find nothing there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import packenv

COMMAND = Path(sys.executable).with_name("packenv")
"""As users call it: the folder of a script, not the current one, is on the path."""

OPTIONAL = ("yaml", "cffi", "colorama", "coverage", "tbb", "gnureadline", "brotli", "simplejson", "cloudpickle")
STANDARD = ("random", "queue", "pickle", "selectors", "token", "code")  # that a worker imports first
POLICY = """
from typing import NamedTuple
from packenv.cluster import NONE, oldest, place
from rules import STEP

class Mine:
    def schedule(self, cluster, state):
        from lazy.inside import server_for
        import importlib
        assert importlib.import_module("lazy").WORD == "lazy"
        task = oldest(cluster)
        while task != NONE and (server := server_for(cluster, task)) != NONE:
            place(cluster, task, server, STEP)
            task = oldest(cluster)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (*OPTIONAL, *STANDARD):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write(__name__ + '\\n')\n")
    (tmp_path / "my_policy.py").write_text(POLICY)
    (tmp_path / "rules.py").write_text("STEP = 0\n")
    (tmp_path / "lazy").mkdir()
    (tmp_path / "lazy" / "__init__.py").write_text("WORD = 'lazy'\n")
    (tmp_path / "lazy" / "inside.py").write_text("from packenv.cluster import first_server_for as server_for\n")
    return tmp_path


@pytest.mark.skipif(not COMMAND.exists(), reason="packenv's command is not installed beside Python")
@pytest.mark.parametrize("processes", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_only_what_is_asked_for_is_executed(processes: str, folder: Path) -> None:
    """In this process and in workers; imports at run time too."""
    table = "price/fig1"
    arguments = [COMMAND, "evaluate", table, "-p", "fifo-ff", "-p", "my_policy:Mine", "--processes", processes]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    done = subprocess.run([*map(str, arguments), "--plot", "a.png"], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Mine" in done.stdout
    assert not (folder / "executed").exists(), (folder / "executed").read_text()


def test_in_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = sys.path.copy()
    assert type(packenv.find_policy("my_policy:Mine")).__name__ == "Mine"
    assert sys.path == before
    with pytest.raises(ModuleNotFoundError):
        import rules_of_nobody  # type: ignore[import-not-found]
    (folder / "rules_of_nobody.py").write_text("")
    with pytest.raises(ModuleNotFoundError):
        import rules_of_nobody  # noqa: F401
    for name in ("my_policy", "rules", "lazy", "lazy.inside"):
        sys.modules.pop(name, None)


THREADS = """
import sys, threading
sys.setswitchinterval(1e-5)
import gymnasium, packenv
from packenv.policy import find_policy

calls = [lambda name=name: find_policy(name) for name in ("bf-js", "vqs", "tetris", "eagle")]
calls += [lambda name=name: gymnasium.make(f"packenv/{name}-v1") for name in ("Placement", "ServerFill")]
calls += [lambda: packenv.optimal_schedule, lambda: packenv.Servers([[1.0]]), lambda: packenv.workload("dag")]
start, errors = threading.Barrier(len(calls)), []

def run(call):
    start.wait()
    try:
        call()
    except BaseException as error:
        errors.append(repr(error))

threads = [threading.Thread(target=run, args=(call,)) for call in calls]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not errors, errors
"""


def test_threads_may_begin_with_different_modules() -> None:
    """Of `import packenv` alone: two threads that name policies of different modules were a deadlock."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


OTHER_SYSTEM = """
import os, sys
from pathlib import Path
import numba, pyarrow  # what they need is their own business

for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("sysconf", "getuid", "geteuid", "pread", "pwrite", "sched_getaffinity", "getloadavg", "O_CLOEXEC", "fork"):
    if hasattr(os, name):
        delattr(os, name)
from packenv.cli.main import main
from packenv.runs.log import _append

main(["doctor"])
main(["evaluate", "paper/fig4b", "-p", "bf-js", "--slots", "1000", "--processes", "1", "--json", "out.json"])
main(["trace", "describe", sys.argv[1]])
log = Path("log.jsonl")
log.write_bytes(b"{}\\n{half")
_append(log, b"[]\\n")
assert log.read_bytes() == b"{}\\n[]\\n"
"""


def test_without_what_only_posix_has(tmp_path: Path) -> None:
    trace = Path(__file__).parent / "cases" / "odd.swf"
    environment = os.environ | {"PYTHONPATH": str(Path(packenv.__file__).parents[1]), "PYTHONIOENCODING": "cp1252"}
    words = [sys.executable, "-c", OTHER_SYSTEM, str(trace)]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, encoding="cp1252", timeout=240)
    assert done.returncode == 0, done.stderr
