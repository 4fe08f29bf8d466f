"""`sat`: the SAT scheduler of seed 002 (PAPERS §3), which knows all jobs beforehand: an offline optimum, replayed."""

from __future__ import annotations

from typing import NamedTuple

from baselines.replay import Replaying, Starts, replay_needs, starts_of
from packenv.cluster import Needs
from packenv.policy import Setting
from packenv.theory.optimum import optimal_schedule


class Sat(NamedTuple):
    """The shortest schedule that CP-SAT finds in `limit` seconds; `fixed`: each task's server is decided beforehand."""

    limit: float = 60.0
    fixed: bool = False
    workers: int = 0  # 0: all cores

    def needs(self, setting: Setting) -> Needs:
        return replay_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> Starts:
        workers = None if self.workers == 0 else self.workers
        found = optimal_schedule(setting.workload, self.limit, fixed_allocation=self.fixed, workers=workers, seed=seed)
        return starts_of(setting, found.schedule.start, found.schedule.server, "sat")

    @property
    def parameters(self) -> Replaying:
        return Replaying()

    @property
    def rehearsal(self) -> Sat:
        """The same machine code without the long search."""
        return self._replace(limit=1e-3)
