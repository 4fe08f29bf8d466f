"""Weights & Biases: the example's run is kept on the machine, with the curves of training and the ratio to best fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sb3_contrib")
pytest.importorskip("wandb", reason="Weights & Biases is not installed: pip install wandb")

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "track_in_wandb.py"


@pytest.mark.minutes
def test_a_run_is_kept(tmp_path: Path) -> None:
    subprocess.run([sys.executable, PROGRAM, "--steps", "1"], cwd=tmp_path, check=True, capture_output=True)
    (kept,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    content = kept.read_bytes()
    for name in (b"rollout/ep_rew_mean", b"cluster/ratio", b"ratio to best fit"):
        assert name in content
