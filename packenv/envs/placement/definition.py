"""Placement: its options, actions and arrays on a given cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import Definition, Layout, Sizes
from packenv.envs.observation.layout import checked_actions, needs_of_types, observed_shapes, orders_for
from packenv.envs.options import Options, one_of, whole
from packenv.envs.placement.policy_action import policy_action
from packenv.envs.placement.rules import LARGEST, WINDOW, PlacementRules
from packenv.errors import InputError
from packenv.policy import BY_LINE, BY_QUEUE, BY_ROOM

MOST_OFFERED = 1000

OF_ALL = ("full", "compact")
"""Observations that do not say which servers are offered."""

RULES = ("largest", "head", "window")  # in the order of packenv.envs.placement.rules


WHOLE = {"observation": "normalized", "types": None, "choices": None, "passing": True}
"""Defaults of actions that are of every server, where those below are of some."""

DEFAULTS = {
    **{"observation": "flat", "reward": "work", "invalid": "first", "segment": 100},
    **{"passing": False, "types": 16, "choices": (3, 4)},
}


def layout(
    sizes: Sizes,
    capacity: NDArray[np.int64],
    options: Options,
    *,
    rule: str = "largest",
    passing: bool = True,
    choices: tuple[int, int] | None = None,
) -> Layout:
    """Placement on a cluster of capacity (L, D) units."""
    starts = one_of("rule", rule, RULES)
    one_of("passing", passing, (False, True))
    orders = orders_for(sizes, options.observation) | (0, BY_LINE, BY_QUEUE)[starts]
    if choices is None:
        if not passing:
            raise InputError("passing=False goes with choices: an agent that is offered every server may always wait")
        servers, per_server = 0, sizes.window if starts == WINDOW else sizes.types
        actions = checked_actions(sizes.servers * per_server + 1)
    else:
        servers, per_server = checked_choices(choices, sizes.types, starts, options)
        actions = servers * per_server + 1
        orders |= BY_ROOM if sizes.resources == 1 else 0
    full = options.observation == "full"
    always = {
        "virtual_queues": (sizes.kinds * sizes.types, 4 if full else 2),
        "servers": (sizes.servers, sizes.resources + (sizes.types if full else 0)),
    }
    return Layout(
        rules=PlacementRules(starts, per_server, servers, int(passing)),
        needs=needs_of_types(sizes, capacity, orders),
        actions=actions,
        observed=observed_shapes(sizes, options, actions, always, {}),
        summaries=options.describes_actions,
        offered=servers,
    )


def checked_choices(choices: Any, types: int, starts: int, options: Options) -> tuple[int, int]:
    """How many servers are offered, and virtual queues of each. Raises InputError."""
    if not isinstance(choices, Sequence) or len(choices) != 2:
        raise InputError(f"choices must be a pair (servers, virtual queues of each) or None, not {choices!r}")
    if starts != LARGEST:
        raise InputError("choices are of rule 'largest': with another rule, choices=None")
    if not options.describes_actions:
        raise InputError(f"observation {options.observation!r} does not say which servers are offered: with it, choices=None")
    whole("choices: servers", choices[0], 1, MOST_OFFERED)
    whole("choices: virtual queues", choices[1], 2, types)
    return int(choices[0]), int(choices[1])


def instead(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Other defaults where every server is offered: as asked for, or as the rule or the observation takes it."""
    choices, rule, observation = (arguments.get(key, "default") for key in ("choices", "rule", "observation"))
    every = choices is None or rule not in ("default", "largest") or (choices == "default" and observation in OF_ALL)
    return WHOLE if every else {}


DEFINITION = Definition("Placement", layout, policy_action, defaults=DEFAULTS, instead=instead)
