"""What each environment shows of itself: five servers, their virtual queues or jobs, and the queue's history.

Valid actions at random for 1,500 slots, on figure 4(b)'s workload at intensity 0.95, or for whole jobs on `analytics` with five
servers; a picture is taken after every decision.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
from PIL import Image

import packenv  # noqa: F401  (registers the environments)
from experiments.script_options import options_of
from packenv.envs.registration import FORMER, id_of
from packenv.workloads.named.analytics import analytics

SLOTS = 1500
OF_TASKS: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.95, "J": 4, "horizon": 10 * SLOTS}
OPTIONS = dict.fromkeys(("Placement", "ServerFill", "Configuration"), OF_TASKS)
OPTIONS["JobFill"] = {"workload": analytics(jobs=20, servers=5), "passing": False}


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    for kind in OPTIONS:
        slot, pixels = played(kind, SLOTS // 10 if options.quick else SLOTS)
        path = options.folder / f"{kind.lower()}.png"
        Image.fromarray(pixels).save(path)
        print(f"{path}: slot {slot}")


def played(kind: str, slots: int) -> tuple[int, Any]:
    """The slot that was reached, and the last picture (height, width, 3) of valid actions taken at random."""
    env: Any = gymnasium.make(id_of(kind), render_mode="rgb_array", **FORMER[kind] | OPTIONS[kind])
    _, info = env.reset(seed=0)
    env.action_space.seed(0)
    slot, pixels = 0, None
    while slot < slots:
        *_, info = env.step(env.action_space.sample(mask=info["action_mask"]))
        slot += info["elapsed"]
        pixels = env.render()
    env.close()
    return slot, pixels


if __name__ == "__main__":
    main()
