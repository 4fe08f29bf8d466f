"""How a training run is watched and saved, and what it comes to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunPlan:
    """How a run is watched and saved; nothing here changes what is learned. Intervals are in samples."""

    folder: Path
    out: Path | None = None  # save the agent here, too
    resume: bool = False
    threads: int = 2  # of PyTorch; processes of evolution
    on: str = "processes"  # where evolution runs its candidates (`packenv.executor`)
    checkpoint_every: int = 0  # 0: a twentieth of the run
    evaluate_every: int = 0  # 0: a tenth of the run
    judge_every: int = 0  # 0: never
    against: str = "bf-js"  # the policy that evaluations compare with
    evaluation_slots: int = 200_000
    evaluation_seeds: int = 4
    keep: str = "best"  # which agent to save: of the best evaluation, or the "last"
    command: str = ""


@dataclass(frozen=True)
class TrainedAgent:
    """The agent that a run saved."""

    path: Path
    samples: int  # of the whole run
    samples_per_second: float
    measured: dict[str, float]
    kept_at: int  # samples after which the agent had the weights that were saved
