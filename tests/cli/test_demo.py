"""`make demo`: what its script shows; an agent that comes with packenv is played without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import packenv
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, Verdict
from packenv.runs.comparison_tables import story_of

ROOT = Path(packenv.__file__).parents[1]
WITHOUT_TORCH = """
import sys
sys.modules.update(torch=None, stable_baselines3=None, sb3_contrib=None)
sys.path.insert(0, "")
from experiments import demo
demo.main(["--quick", "--processes", "1", "--out", sys.argv[1]])
"""


def runs(policy: str, kind: str, *queues: float, completed: int = 9) -> list[Any]:
    low, high = {STABLE: (1e-9, 1.0), UNSTABLE: (1.0, 1e-9)}.get(kind, (0.5, 0.5))
    verdict = Verdict(kind, 0.0, 1.0, low, high)
    return [
        SimpleNamespace(
            policy=policy, verdict=verdict, mean_queue=queue, waiting=queue, arrived=10, completed=completed, rejected=None
        )
        for queue in queues
    ]


def test_the_demo_needs_no_torch(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"COLUMNS": "80"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert first.startswith("$ packenv evaluate paper/fig4b --intensity 0.92 -p vqs -p bf-js -p agent:fig4b")
    assert "packenv evaluate TRACE.csv" in lines[-1]
    for name in ("vqs", "bf-js", "agent:fig4b"):
        assert sum(line.split()[:1] == [name] for line in lines) == 1
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_the_makefile_runs_the_script() -> None:
    assert "experiments/demo.py --out out" in (ROOT / "Makefile").read_text()


def test_the_story_in_a_sentence() -> None:
    locked, held, better = runs("vqs", UNSTABLE, 90, 99), runs("bf-js", STABLE, 10, 12), runs("agent:a", STABLE, 5, 6)
    assert story_of([locked, held, better]) == (
        "vqs falls behind; bf-js and agent:a keep up, agent:a with 50 % fewer tasks waiting than bf-js"
    )
    assert story_of([held]) == "bf-js keeps up"
    assert story_of([locked, runs("fifo-ff", UNSTABLE, 9, 9)]) == "vqs and fifo-ff fall behind"
    assert story_of([held, runs("vqs-bf", STABLE, 12, 9)]) == "bf-js and vqs-bf keep up"  # neither is known to be better
    assert story_of([runs("vqs", UNDECIDED, 9, 9)]) == "vqs not decided"
    assert story_of([runs("fgd", UNDECIDED, 0, 0)]) == "fgd kept no task waiting"
    assert story_of([runs("vqs", UNDECIDED, 9), runs("bf-js", UNDECIDED, 9, completed=10)]) == (
        "bf-js did all the work; vqs not decided"
    )
