"""`packenv warmup` compiles what runs and environments then find."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from packenv.cli.main import main

COMPILED = """
import sys
from numba.core import event
compiled = event.RecordingListener()
with event.install_listener("numba:compile", compiled):
    import gymnasium, packenv
    {program}
print(len(compiled.buffer) // 2)
"""
RUN = "packenv.simulate(packenv.workload('paper/fig4b'), 'fifo-ff', slots=20_000)"
PLAY = (
    "env = gymnasium.make('packenv/ServerFill-v1'); info = env.reset(seed=1)[1]\n"
    "    for _ in range(300):\n"
    "        *_, over, info = env.step(int(info['action_mask'].argmax()))\n"
    "        info = env.reset()[1] if over else info"
)


def compiled(program: str, folder: Path) -> int:
    words = [sys.executable, "-c", COMPILED.format(program=program)]
    done = subprocess.run(words, env=os.environ | {"PACKENV_CACHE": str(folder)}, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.slow  # compiles a policy and an environment from nothing
def test_what_is_warm_compiles_nothing(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "packenv.cli.main", "warmup", "fifo-ff", "--env", "ServerFill", "--json", "-"]
    environment = os.environ | {"PACKENV_CACHE": str(tmp_path)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["compiled"]] == ["fifo-ff", "ServerFill"] and found["cache"] == str(tmp_path)
    assert compiled(RUN, tmp_path) == 0
    assert compiled(PLAY, tmp_path) == 0
    assert compiled(RUN.replace("fifo-ff", "bf-j"), tmp_path) > 0  # which was not asked for


@pytest.mark.parametrize(
    "words, problem",
    [
        (["bf-jx"], "unknown policy 'bf-jx'; did you mean"),
        (["--env", "Server"], "unknown environment 'Server'; did you mean ServerFill?"),
        (["bf-js", "--workload", "paper/fig9"], "paper/fig9"),
        (["--json", "/nowhere/found.json"], "its folder does not exist"),
    ],
)
def test_bad_words(words: list[str], problem: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as end:
        main(["warmup", *words])
    said = capsys.readouterr().err
    assert end.value.code == 2 and problem in said and said.count("\n") == 1
