"""What the environment Placement shows of itself: five servers, their virtual queues, and the queue's history.

Valid actions at random on figure 4(b)'s workload at intensity 0.95, for 1,500 slots; a picture is taken after every decision.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
from figure_script import options_of
from PIL import Image

import packenv  # noqa: F401  (registers the environments)

SLOTS = 1500


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    env = gymnasium.make(
        "packenv/Placement-v0", workload="paper/fig4b", intensity=0.95, J=4, horizon=10 * SLOTS, render_mode="rgb_array"
    )
    _, info = env.reset(seed=0)
    env.action_space.seed(0)
    slot = 0
    while slot < (SLOTS // 10 if options.quick else SLOTS):
        *_, info = env.step(env.action_space.sample(mask=info["action_mask"]))
        slot += info["elapsed"]
        pixels: Any = env.render()
    path = options.folder / "environment.png"
    Image.fromarray(pixels).save(path)
    print(f"{path}: slot {slot}")
    env.close()


if __name__ == "__main__":
    main()
