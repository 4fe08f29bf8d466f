"""Placement: its options, actions and arrays on a given cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import Definition, Layout, Sizes
from packenv.envs.observation.layout import checked_actions, needs_of_types, observed_shapes, orders_for
from packenv.envs.options import Options, one_of
from packenv.envs.placement.policy_action import policy_action
from packenv.envs.placement.rules import WINDOW, PlacementRules
from packenv.policy import BY_LINE, BY_QUEUE

RULES = ("largest", "head", "window")  # in the order of packenv.envs.placement.rules


def layout(sizes: Sizes, capacity: NDArray[np.int64], options: Options, *, rule: str = "largest") -> Layout:
    """Placement on a cluster of capacity (L, D) units."""
    starts = one_of("rule", rule, RULES)
    full = options.observation == "full"
    per_server = sizes.window if starts == WINDOW else sizes.types
    actions = checked_actions(sizes.servers * per_server + 1)
    always = {
        "virtual_queues": (sizes.kinds * sizes.types, 4 if full else 2),
        "servers": (sizes.servers, sizes.resources + (sizes.types if full else 0)),
    }
    return Layout(
        rules=PlacementRules(starts, per_server),
        needs=needs_of_types(sizes, capacity, orders_for(sizes, options.observation) | (0, BY_LINE, BY_QUEUE)[starts]),
        actions=actions,
        observed=observed_shapes(sizes, options, actions, always, {}),
        summaries=options.describes_actions,
    )


DEFAULTS = {"observation": "normalized", "reward": "size", "invalid": "nearest", "segment": 100}

DEFINITION = Definition("Placement", layout, policy_action, defaults=DEFAULTS)
