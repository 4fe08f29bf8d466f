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
@pytest.mark.parametrize("processes", ["1", "2"])
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
