"""ServerFill: its options, actions and arrays on a given cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import Definition, Layout, Sizes
from packenv.envs.observation.layout import needs_of_types, observed_shapes, orders_for
from packenv.envs.options import Options, one_of, whole
from packenv.envs.server_fill.policy_action import policy_action
from packenv.envs.server_fill.rules import ServerFillRules
from packenv.policy import BY_INDEX, BY_ROOM

DEFAULTS = {
    **{"observation": "flat", "reward": "work", "invalid": "first", "segment": 100},
    **{"passing": False, "types": 16, "choices": 4},
}

ORDERS = ("tightest", "index")  # in the order of packenv.envs.server_fill.rules


def layout(
    sizes: Sizes,
    capacity: NDArray[np.int64],
    options: Options,
    *,
    order: str = "tightest",
    passing: bool = True,
    choices: int | None = None,
) -> Layout:
    """ServerFill on a cluster of capacity (L, D) units."""
    if choices is not None:
        whole("choices", choices, 2, sizes.types)
    rules = ServerFillRules(one_of("order", order, ORDERS), one_of("passing", passing, (False, True)), choices or 0)
    actions = (choices or sizes.types) + 1
    full = options.observation == "full"
    orders = orders_for(sizes, options.observation)
    if sizes.resources == 1:
        orders |= (BY_ROOM, BY_INDEX)[rules.order]
    always = {"virtual_queues": (sizes.types, 4 if full else 2), "server": (sizes.resources + (sizes.types + 2 if full else 0),)}
    only_full = {"cluster": (sizes.resources + sizes.types + 1,)}
    return Layout(
        rules=rules,
        needs=needs_of_types(sizes, capacity, orders),
        actions=actions,
        observed=observed_shapes(sizes, options, actions, always, only_full),
        offered=1,
        summaries=options.observation != "compact",
    )


DEFINITION = Definition("ServerFill", layout, policy_action, defaults=DEFAULTS)
