"""RLlib's PPO with masks and two env runners, in packages of its own: it holds Gymnasium at a version below ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.other_packages import ROOT, install

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.minutes]
PACKAGES = ("gymnasium==1.2.2", "dm-tree==0.1.10", "lz4==4.4.5", "ormsgpack==1.13.1", "tensorboardX==2.6.5")


def test_ppo_without_masks_on_a_batch(tmp_path: Path) -> None:
    """RLlib steps eight environments in one compiled call: `vector_entry_point`."""
    words = [sys.executable, "-m", "experiments.plain_learners", "rllib-ppo", "--batch", "--quick", "--seeds", "1"]
    environment = install(tmp_path / "packages", *PACKAGES)
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1].startswith("| 1 | ")


def test_ppo_trains_an_agent_for_the_leaderboard(tmp_path: Path) -> None:
    environment = install(tmp_path / "packages", *PACKAGES)
    words = [sys.executable, str(ROOT / "examples" / "rllib_ppo.py"), "--iterations", "2", "--envs", "4", "--out", "trained"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "iteration 2: 1,024 steps" in done.stdout
    line = "leaderboard -w paper/fig4b@0.85 -p agent:trained --slots 20000 --seeds 2 --no-judge --json board.json"
    done = subprocess.run([sys.executable, "-m", "packenv.cli.main", *line.split()], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {record["policy"]: record["mean_queue"] for record in json.loads((tmp_path / "board.json").read_text())}
    assert found["agent:trained"] < 3 * found["bf-js"]  # masks hold: it starts what fits
