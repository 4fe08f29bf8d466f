"""Every block of the page "in your scheduler" runs as it stands, in a folder with the examples."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.live import Model

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how_to" / "in_your_scheduler.md").read_text()
PYTHON, TEXT = (re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) for language in ("python", "text"))
SHELL, NETWORKS = ([block for block in TEXT if block.startswith("$") is shell] for shell in (True, False))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def test_python(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    for block in PYTHON:
        exec(compile(block, "page", "exec"), {})
    printed = capsys.readouterr().out
    assert "job-17 runs on server" in printed and "{'a': 0} ['b']" in printed
    assert len(PYTHON) == 3 and len(TEXT) == len(SHELL) + len(NETWORKS) == 5


def test_commands(folder: Path) -> None:
    """In one shell, one after the other. The waits of the toy cluster differ from run to run."""
    lines = [line for block in SHELL for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    ready = "for _ in $(seq 300); do [ -S packenv.sock ] && break; sleep 0.2; done"
    script = "\n".join(["set -e", 'trap "kill %1" EXIT', commands[0], ready, *commands[1:]])
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-mc", script], cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )
    shown = [line for line in lines if not line.startswith("$ ") and "mean wait" not in line]
    assert [line for line in done.stdout.splitlines() if line in shown] == shown
    assert "as recorded" in done.stdout


def test_networks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(folder)
    shown = packenv.Scheduler("bf-js", workload="paper/fig4b").observation("packenv/ServerFill-v1", observation="flat", J=4)
    inputs, actions = len(shown[0]), len(shown[1])
    torch.jit.trace(torch.nn.Linear(inputs, actions), torch.zeros(1, inputs)).save("policy.pt")

    class Session:  # of onnxruntime, which is not installed
        def __init__(self, path: str) -> None:
            assert path == "policy.onnx"

        def get_inputs(self) -> list[Any]:
            return [SimpleNamespace(name="observation")]

        def run(self, outputs: None, arrays: dict[str, Any]) -> list[Any]:
            assert arrays["observation"].shape == (1, inputs)
            return [np.zeros((1, actions))]

    for block in NETWORKS:
        names: dict[str, Any] = {"np": np, "torch": torch, "onnxruntime": SimpleNamespace(InferenceSession=Session)}
        exec(compile(block, "page", "exec"), names)
        model = Model("packenv/ServerFill-v1", names["predict"], observation="flat", J=4)
        scheduler = packenv.Scheduler(model, workload="paper/fig4b")
        scheduler.submit("a", size=0.4)
        scheduler.decide()
        assert {*scheduler.running, *scheduler.waiting} == {"a"}
