"""What each environment shows of itself: five servers, their virtual queues, and the queue's history.

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
    for kind in ("Placement", "ServerFill", "Configuration"):
        slot, pixels = played(kind, SLOTS // 10 if options.quick else SLOTS)
        path = options.folder / f"{kind.lower()}.png"
        Image.fromarray(pixels).save(path)
        print(f"{path}: slot {slot}")


def played(kind: str, slots: int) -> tuple[int, Any]:
    """The slot that was reached, and the last picture (height, width, 3) of valid actions taken at random."""
    env: Any = gymnasium.make(
        f"packenv/{kind}-v0", workload="paper/fig4b", intensity=0.95, J=4, horizon=10 * SLOTS, render_mode="rgb_array"
    )
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
