"""Mean queue, delay and utilisation of the clusters that train an agent, from the counters that the simulator keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.envs.interfaces.sb3 import PackVecEnv

COUNTERS = ("measured", "queue_sum", "delay_sum", "delay_count")


class ClusterAverages:
    """Means over all environments since the last `take`.

    Of an environment whose episode ended since then, only the new episode counts.
    """

    def __init__(self, env: PackVecEnv) -> None:
        self.env = env
        self.start()

    def start(self) -> None:
        """Measure from here on."""
        self.guarded = 0.0  # slots in which the guard scheduled
        self.elapsed: list[NDArray[np.int64]] = []  # slots, (E,) for each step
        self.episodes = self.env.core.episodes.copy()
        self.before = self._counters()

    def step(self) -> None:
        """Call this after every step of the environments."""
        self.elapsed.append(self.env.elapsed)
        self.guarded += float(self.env.guarded.sum())

    def take(self) -> dict[str, float]:
        """The means by name, and start again."""
        core, now = self.env.core, self._counters()
        since = (now - np.where(core.episodes == self.episodes, self.before, 0.0)).sum(axis=1)
        slots, queue, delay, started, *used = since.tolist()
        elapsed = np.concatenate(self.elapsed) if self.elapsed else np.zeros(1, np.int64)
        passed, guarded = float(elapsed.sum()), self.guarded
        self.start()
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
        if passed > 0:
            found["guard/intervention rate"] = guarded / passed
        return {name: float(value) for name, value in found.items()}

    def _counters(self) -> NDArray[np.float64]:
        """(4 + D, E): the counters of each cluster, and unit-slots in service by resource."""
        c = self.env.core.batch.c
        return np.concatenate([[c.head[name].astype(np.float64) for name in COUNTERS], c.measures.used.T])
