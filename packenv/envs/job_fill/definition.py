"""JobFill: its options, actions and arrays on a given cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import Definition, Layout, Sizes
from packenv.envs.job_fill.features import CLUSTER_FEATURES, GROUP_FEATURES
from packenv.envs.job_fill.policy_action import policy_action
from packenv.envs.job_fill.rules import JobFillRules
from packenv.envs.options import Options, one_of, whole
from packenv.errors import InputError
from packenv.policy import Needs

DEFAULTS = {
    **{"workload": "analytics", "horizon": None, "window": 32, "choices": 4, "waiting_limit": 1_000_000},
    **{"observation": "normalized", "reward": "overtaking", "invalid": "first", "passing": False},
}

WHOLE = {"choices": None, "window": 8}

ASKED = ("changed", "always")


def layout(
    sizes: Sizes,
    capacity: NDArray[np.int64],
    options: Options,
    *,
    passing: bool = True,
    ask: str = "changed",
    choices: int | None = None,
) -> Layout:
    """JobFill on a cluster of capacity (L, D) units."""
    if not options.describes_actions:
        raise InputError(f"JobFill has the observations 'actions' and 'normalized', not {options.observation!r}")
    if choices is not None:
        whole("choices", choices, 2, sizes.window)
    actions = (choices or sizes.window) + 1
    return Layout(
        rules=JobFillRules(one_of("passing", passing, (False, True)), one_of("ask", ask, ASKED), choices or 0),
        needs=Needs(vectors=sizes.resources > 1, table=True, durations=True),
        actions=actions,
        observed={"actions": (actions, len(GROUP_FEATURES)), "context": (len(CLUSTER_FEATURES),)},
        groups=sizes.window,
        by_data=ask == "always",
        of_action=GROUP_FEATURES,
        of_context=CLUSTER_FEATURES,
    )


def instead(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Other defaults where as many groups are offered as the window says: asked for, or by an argument that goes with it."""
    every = "choices" not in arguments and ("window" in arguments or arguments.get("ask", "changed") != "changed")
    return WHOLE if every or arguments.get("choices", 0) is None else {}


DEFINITION = Definition("JobFill", layout, policy_action, follows_jobs=True, defaults=DEFAULTS, instead=instead)
