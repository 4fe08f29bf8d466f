"""What the training clusters have been through since it was last asked: read from the counters that they keep anyway."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.envs.faces.sb3 import PackVecEnv

COUNTERS = ("measured", "queue_sum", "delay_sum", "delay_count")


class ClusterLog:
    """Means over all rows and the slots that passed; of episodes that ended in between, what the new ones have so far."""

    def __init__(self, env: PackVecEnv) -> None:
        self.env = env
        self.guarded = 0.0
        self.steps: list[NDArray[np.int64]] = []
        self.episodes = env.core.episodes.copy()
        self.before = self._counters()

    def _counters(self) -> NDArray[np.float64]:
        """(4 + D, E): the counters of the head, and unit-slots in service."""
        c = self.env.core.batch.c
        return np.concatenate([[c.head[name].astype(np.float64) for name in COUNTERS], c.measures.used.T])

    def step(self) -> None:
        """After every step of the environment."""
        self.steps.append(self.env.elapsed)
        self.guarded += float(getattr(self.env, "guarded", self.env.elapsed[:0]).sum())

    def take(self) -> dict[str, float]:
        """The means under their names, and a new beginning."""
        core = self.env.core
        now = self._counters()
        since = (now - np.where(core.episodes == self.episodes, self.before, 0.0)).sum(axis=1)
        slots, queue, delay, started, *used = since.tolist()
        self.before, self.episodes = now, core.episodes.copy()
        elapsed = np.concatenate(self.steps) if self.steps else np.zeros(1, np.int64)
        passed, guarded = float(elapsed.sum()), self.guarded
        self.steps, self.guarded = [], 0.0
        found: dict[str, Any] = {
            "time/elapsed slots per decision (mean)": elapsed.mean(),
            "time/elapsed slots per decision (p95)": np.percentile(elapsed, 95),
        }
        if slots > 0:
            found["cluster/mean queue"] = queue / slots
            for r, total in enumerate(core.batch.total.tolist()):
                name = "cluster/utilisation" + (f" of resource {r}" if len(used) > 1 else "")
                found |= {name: used[r] / slots / total} if total > 0 else {}
        if started > 0:
            found["cluster/delay"] = delay / started
        if hasattr(self.env, "guarded") and passed > 0:
            found["guard/intervention rate"] = guarded / passed
        return {name: float(value) for name, value in found.items()}
