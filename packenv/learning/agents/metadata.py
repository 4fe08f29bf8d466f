"""Metadata of an agent: its use and its training."""

from __future__ import annotations

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from packenv.envs.job_fill.features import columns_of
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.objective import QUEUE, objective
from packenv.learning.settings import EVOLUTION, Settings
from packenv.units import UNIT


def agent_metadata(settings: Settings, command: str, samples: int, rule: str, measured: dict[str, float]) -> dict[str, Any]:
    """Return the JSON for an agent trained with these settings.

    samples   number of samples after which it had these weights
    kept      "last", or "best" of the evaluations during training
    measured  mean queues and ratios of the evaluation that goes with the weights
    """
    levels = settings.J or settings.workload.default_levels()
    options = {"observation": "actions", "J": levels, "types": settings.types, "window": settings.window}
    guard = None if settings.guard is None else {"policy": settings.guard, "limit": settings.guard_limit}
    acts: dict[str, Any] = {
        "environment": {
            "kind": settings.environment,
            "resources": settings.workload.D,
            "options": options | settings.own_options(),
            **({} if settings.workload.jobs is None else {"columns": columns_of(settings.workload.jobs)}),
        },
        "network": {"kind": settings.network},
        "guard": guard,
    }
    compares_queues = objective(settings.reward).measure == QUEUE
    observed = SavedAgent(settings.environment, acts, {}).layout(np.full((1, 1), UNIT)).observed
    acts["network"]["context"] = observed.get("context", (0,))[0]  # where features of actions end that are added later
    trained = {"algorithm": EVOLUTION, "samples": samples, "measured": measured}
    return acts | origin(settings, command, rule) | trained | {"reward": None if compares_queues else settings.reward}


def origin(settings: Settings, command: str, rule: str) -> dict[str, Any]:
    """Return an agent's workload, training command and version."""
    record = settings.record()
    return {
        "workload": record["workload"],
        "arrivals": record["arrivals"],
        "reward": settings.reward,
        "command": command,
        "seed": settings.seed,
        "kept": rule,
        "version": _version(),
        "commit": _commit(),
    }


def _version() -> str:
    try:
        return version("packenv")
    except PackageNotFoundError:
        return "unknown"


def _commit() -> str | None:
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    try:
        git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return git.stdout.strip() or None
