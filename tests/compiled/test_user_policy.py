"""A policy in a folder of a user's own, whatever its name: compiled anew when its code changes, and checked in every slot."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import packenv

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


def test_overfull_servers_are_seen(folder: Folder) -> None:
    folder.edit("rules", "return first_server_for(cluster, task)", "return 0")
    assert folder.run()[0] == "policy Mine put server 0 above its capacity in slot 0"
