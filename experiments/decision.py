"""A decision of `agent:fig4b`, as a picture: the scores of the tasks it could start, and what speaks for the one it takes.

On figure 4(b)'s workload at intensity 0.95, the first decision with a hundred tasks waiting in which the agent leaves the largest
task that fits, which is best fit's, for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import packenv  # noqa: F401  (registers the environments)
from experiments.script_options import options_of
from packenv.content.charts import COLOURS, GREY
from packenv.envs.core import features
from packenv.envs.registration import id_of
from packenv.learning.agents.networks import COUNT, TERM_NAMES, TERMS, set_terms
from packenv.learning.agents.saved import load_agent
from packenv.report.plot_style import light_grid

Floats = NDArray[np.float32]

WAITING = 100  # tasks, at least
ROOM = 0.6  # of the server at least: so that there is a choice
SHOWN = 9  # terms
SETTING: dict[str, Any] = {
    "workload": "paper/fig4b",
    "intensity": 0.95,
    "types": 40,
    "observation": "actions",
    "choices": None,
    "horizon": 1_000_000,
}


def parts_of_scores(weights: Floats, actions: Floats, mask: NDArray[np.bool_]) -> Floats:
    """(A, TERMS) what each term adds to the score of each action; zeros for those that are not valid."""
    at_hand = weights[0] + actions[mask][0, features.WAITING] * weights[1]
    terms = np.zeros((len(actions), TERMS), np.float32)
    for action in np.flatnonzero(mask):
        set_terms(terms[action], actions[action])
    parts: Floats = terms * at_hand
    return parts


def find_decision(env: Any, weights: Floats, least: int) -> tuple[Floats, NDArray[np.bool_], Floats, int]:
    """Play until the agent leaves the largest task that fits: features of the actions, mask, parts of scores, tasks waiting."""
    seen, info = env.reset(seed=0)
    while True:
        actions, mask = seen["actions"], info["action_mask"].astype(bool)
        parts = parts_of_scores(weights, actions, mask)
        choice, largest = choices(actions, mask, parts)
        waiting = round(float(np.expm1(seen["context"][0] * COUNT)))
        if choice != largest and waiting >= least and room(actions, choice) >= ROOM:
            return actions, mask, parts, waiting
        seen, _, terminated, truncated, info = env.step(choice)
        if terminated or truncated:
            seen, info = env.reset()


def choices(actions: Floats, mask: NDArray[np.bool_], parts: Floats) -> tuple[int, int]:
    """The agent's action, and that of the largest task that fits."""
    return int(np.where(mask, parts.sum(axis=1), -np.inf).argmax()), int(np.where(mask, actions[:, features.SIZE], -1).argmax())


def room(actions: Floats, action: int) -> float:
    """What is free of the server, of which the action would take a part."""
    return float(actions[action, features.SIZE] + actions[action, features.ROOM_LEFT])


def draw(actions: Floats, mask: NDArray[np.bool_], parts: Floats, waiting: int) -> Figure:
    """Scores by size at the left, and what each term says for the task taken over the largest at the right."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    size, score = actions[:, features.SIZE], parts.sum(axis=1)
    valid = np.flatnonzero(mask)
    choice, largest = choices(actions, mask, parts)
    counts = np.expm1(actions[:, features.QUEUE_COUNT] * COUNT)
    left.scatter(size[valid], score[valid], s=12 + 12 * counts[valid], color=GREY, alpha=0.5, linewidth=0)
    for action, colour, name in ((choice, COLOURS[0], "taken"), (largest, COLOURS[1], "largest that fits")):
        left.scatter(size[action], score[action], s=12 + 12 * counts[action], color=colour, label=f"{name}: {size[action]:.3f}")
    left.legend(loc="lower right", frameon=False)
    left.set_xlabel("size (area: tasks in its virtual queue)")
    left.set_ylabel("score")
    left.set_title(f"{waiting} tasks wait; {room(actions, choice):.3f} of the server is free", fontsize=10)
    light_grid(left)

    difference = parts[choice] - parts[largest]
    order = np.argsort(-np.abs(difference))[:SHOWN]
    values = [*difference[order], difference.sum() - difference[order].sum(), difference.sum()]
    names = [*(TERM_NAMES[term] for term in order), "all other terms", "together"]
    right.barh(range(len(values)), values, color=[COLOURS[0] if value > 0 else COLOURS[1] for value in values])
    right.set_yticks(range(len(values)), names)
    right.invert_yaxis()
    right.axvline(0, color=GREY, linewidth=0.8)
    right.set_xlabel("score minus the largest score")
    right.set_title("What speaks for it (blue), and against it", fontsize=10)
    light_grid(right)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    env: Any = gymnasium.make(id_of("ServerFill"), **SETTING).unwrapped
    weights = load_agent("fig4b").weights["actor.weights"]
    figure = draw(*find_decision(env, weights, WAITING // 10 if options.quick else WAITING))
    path = options.folder / "decision.png"
    figure.savefig(path, dpi=150)
    print(path)


if __name__ == "__main__":
    main()
