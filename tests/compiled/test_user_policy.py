"""A policy in a folder of a user's own, whatever its name: compiled anew when its code changes, and checked in every slot."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import packenv

pytestmark = pytest.mark.slow  # they start processes that compile

ROOT = Path(packenv.__file__).parents[1]

POLICY = '''
"""First fit, with a mark: {mark}."""

from typing import NamedTuple

from packenv import schedules
from packenv.cluster import NONE, oldest, place
from agents.rules import EXTRA, server_for

MARK = "{mark}"


class Mine(NamedTuple):
    """Head of line."""


@schedules(Mine)
def schedule(policy, cluster, state):
    """All that fits."""
    task = oldest(cluster)
    while task != NONE:
        server = server_for(cluster, task)
        if server == NONE:
            break
        place(cluster, task, server, EXTRA)
        task = oldest(cluster)
'''

RULES = '''
from packenv.cluster import first_server_for
from packenv.compiled.decorators import compiled

EXTRA = 0


@compiled
def server_for(cluster, task):
    """Where a task goes."""
    return first_server_for(cluster, task)
'''

PROGRAM = """
import packenv
from numba.core import event
table = packenv.Jobs.of([0, 0, 0], [0.6, 0.6, 0.6], [2, 3, 4])
compiled = event.RecordingListener()
with event.install_listener("numba:compile", compiled):
    try:
        result = packenv.simulate(packenv.Workload(jobs=table, servers=1), "agents.mine:Mine", drain=True, schedule=True)
        print(*result.schedule.start.tolist())
    except packenv.InputError as error:
        print(error)
print(len(compiled.buffer) // 2)
"""


class Folder:
    """A user's folder, with a policy that no earlier test has had compiled."""

    def __init__(self, path: Path) -> None:
        self.path = path / "agents"
        self.path.mkdir()
        (self.path / "mine.py").write_text(POLICY.format(mark=uuid.uuid4()))
        (self.path / "rules.py").write_text(RULES)

    def run(self) -> tuple[str, int]:
        environment = os.environ | {"PYTHONPATH": f"{self.path.parent}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, cwd="/", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said, compiled = done.stdout.splitlines()
        return said, int(compiled)

    def edit(self, name: str, old: str, new: str) -> None:
        file = self.path / f"{name}.py"
        text = file.read_text()
        assert text.count(old) == 1
        file.write_text(text.replace(old, new))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    said, compiled = made.run()
    assert said == "0 2 5" and compiled > 0
    assert made.run() == ("0 2 5", 0)
    return made


def test_edits_of_a_policy_and_of_what_it_imports(folder: Folder) -> None:
    folder.edit("mine", "All that fits.", "Everything that fits.")
    folder.edit("rules", "Where a task goes.", "The server that a task goes to.")
    assert folder.run() == ("0 2 5", 0)
    folder.edit("rules", "EXTRA = 0", "EXTRA = 1")
    assert folder.run()[0] == "0 3 7"
    folder.edit("mine", "server, EXTRA", "server, 2")
    assert folder.run()[0] == "0 4 9"


@pytest.mark.minutes
def test_overfull_servers_are_seen(folder: Folder) -> None:
    folder.edit("rules", "return first_server_for(cluster, task)", "return 0")
    assert folder.run()[0] == "policy Mine put server 0 above its capacity in slot 0"


@pytest.mark.minutes
def test_constants_in_another_folder_are_part_of_both_keys(tmp_path: Path) -> None:
    """A policy imports a module of another folder on the path, which imports one that is loaded only while it runs."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    (here / "elsewhere.py").write_text(ELSEWHERE)
    (there / "extras.py").write_text("from deeper.rules import EXTRA\n")
    (there / "deeper").mkdir()
    (there / "deeper" / "__init__.py").write_text("FACTOR = 1\n")
    (there / "deeper" / "rules.py").write_text("import deeper\nEXTRA = 1\n")
    (there / "late.py").write_text("MORE = 0\n")

    def keys() -> tuple[str, str]:
        path = os.pathsep.join(map(str, (here, there, ROOT)))
        environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", KEYS], env=environment, cwd="/", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        of_run, of_code = done.stdout.split()
        return of_run, of_code

    seen = {keys()}
    assert len(seen | {keys()}) == 1
    changes = [("deeper/rules.py", "EXTRA = 1", "EXTRA = 2"), ("deeper/__init__.py", "FACTOR = 1", "FACTOR = 3")]
    for file, old, new in [*changes, ("late.py", "MORE = 0", "MORE = 5")]:
        text = (there / file).read_text()
        (there / file).write_text(text.replace(old, new))
        seen.add(keys())
    assert len({of_run for of_run, _ in seen}) == 4 and len({of_code for _, of_code in seen}) == 4
    (there / "late.py").write_text("MORE = 5  # as before\n")
    assert keys() in seen


ELSEWHERE = """
from extras import EXTRA


class Held:
    def schedule(self, cluster, state):
        from late import MORE


def make():
    return Held()
"""

KEYS = """
from packenv.compiled.cache import base
from packenv.compiled.sources import key_of
from packenv.runs.keys import digest_of_policy
of_run = digest_of_policy("elsewhere:make")
print(of_run, key_of(["elsewhere"], base()))
"""
