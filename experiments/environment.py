"""What each environment shows of itself, as a film: five servers, their virtual queues or jobs, and the queue's history.

A policy of the literature plays 1,500 slots of figure 4(b)'s workload at intensity 0.95, or 20 jobs of `analytics`;
random choices among the jobs of `hpc/lublin-90`.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium

import packenv  # noqa: F401  (registers the environments)
from experiments.script_options import options_of
from packenv.envs.registration import id_of
from packenv.runs.recording import film
from packenv.workloads.named.analytics import analytics

SLOTS, PICTURES = 1500, 30
POLICY = {"Placement": "bf-js", "ServerFill": "bf-js", "Configuration": "vqs", "JobFill": "tetris", "NextJob": "random"}
OF_TASKS: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.95, "J": 4, "horizon": SLOTS}
ALL_GROUPS: dict[str, Any] = {"choices": None, "window": 128, "ask": "always", "passing": True}
OF_JOBS = ALL_GROUPS | {"workload": analytics(jobs=20, servers=5)}
OF_KIND = {"JobFill": OF_JOBS, "NextJob": {"workload": "hpc/lublin-90", "jobs": 300}}


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    for kind, policy in POLICY.items():
        settings = OF_KIND.get(kind, OF_TASKS)
        if options.quick:
            settings = settings | {"horizon": SLOTS // 10}
        env: Any = gymnasium.make(id_of(kind), render_mode="rgb_array", **settings)
        path = options.folder / f"{kind.lower()}.gif"
        print(f"{path}: {film(env, policy, path, frames=PICTURES)} pictures of {policy}")
        env.close()


if __name__ == "__main__":
    main()
