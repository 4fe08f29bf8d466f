"""`sat`: the SAT scheduler of Zhang and Yao (PAPERS §3).

It knows all jobs in advance, and replays the shortest schedule found.
"""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster import Needs
from packenv.policies.replay import Replaying, Starts, replay_needs, starts_of
from packenv.policy import Setting
from packenv.theory.makespan.optimum import optimal_schedule


class Sat(NamedTuple):
    """Replay the shortest schedule found in `limit` seconds.

    The search also stops within `gap` of the lower bound. `fixed`: each task is assigned in advance to the server with the least
    work. `workers`: cores used, 0 for all.
    """

    limit: float = 60.0
    fixed: bool = False
    workers: int = 0  # 0: all cores
    gap: float = 0.0

    def needs(self, setting: Setting) -> Needs:
        return replay_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> Starts:
        optimum = optimal_schedule(
            setting.workload, self.limit, gap=self.gap, fixed_allocation=self.fixed, workers=self.workers or None, seed=seed
        )
        return starts_of(setting, optimum.schedule.start, optimum.schedule.server, "sat")

    @property
    def rule(self) -> Replaying:
        return Replaying()

    @property
    def rehearsal(self) -> Sat:
        """This policy with a minimal search.

        Running it compiles the same code without the wait.
        """
        return self._replace(limit=1e-3)
