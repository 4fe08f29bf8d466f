"""Parts of all layouts: sizes, orders, and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.servers import scalar_capacity, server_kinds
from packenv.envs.core.definition import Shapes, Sizes
from packenv.envs.core.features import CONTEXT, FEATURES
from packenv.errors import InputError
from packenv.policy import BY_DEMAND, BY_LINE, BY_MIX, BY_QUEUE, BY_SIZE, BY_TYPE, Needs
from packenv.theory.rounded_types import equal_widths

if TYPE_CHECKING:
    from packenv.envs.options import Options

MOST_ACTIONS = 2**20


def sizes_of(capacity: NDArray[np.int64], levels: int, options: Options) -> Sizes:
    """Return an environment's sizes, with J = `levels`."""
    servers, resources = capacity.shape
    kinds = len(server_kinds(scalar_capacity(capacity))[1])
    if options.types is not None:
        return Sizes(servers, resources, kinds, options.types, 0, options.window)
    return Sizes(servers, resources, kinds, 2 * levels, levels, options.window)


def needs_of_types(sizes: Sizes, capacity: NDArray[np.int64], orders: int) -> Needs:
    """Return needs with I's types, or types of equal width."""
    vectors = sizes.resources > 1
    needs = Needs(orders, vectors=vectors, levels=sizes.levels, devices=vectors)
    if sizes.levels:
        return needs
    most = scalar_capacity(capacity).max()
    return needs._replace(types=equal_widths(int(most), sizes.types))


def orders_for(sizes: Sizes, observation: str) -> int:
    """Return the orders that observations and masks read."""
    orders = BY_TYPE | (BY_LINE | BY_MIX if observation != "compact" else 0)
    if sizes.resources > 1:
        return orders | BY_DEMAND | BY_QUEUE
    return orders | BY_SIZE | (BY_QUEUE if observation == "full" else 0)


def checked_actions(actions: int) -> int:
    """Return the number of actions, at most MOST_ACTIONS (InputError)."""
    if actions > MOST_ACTIONS:
        raise InputError(f"{actions} actions are too many; ServerFill's do not grow with the number of servers")
    return actions


def observed_shapes(sizes: Sizes, options: Options, actions: int, always: Shapes, full: Shapes) -> Shapes:
    """Return an observation's shapes, with `full` only for "full"."""
    if options.describes_actions:
        return {"actions": (actions, FEATURES), "context": (CONTEXT,)}
    if options.observation == "compact":
        return always
    return {"queue": (sizes.window, sizes.resources + 2), **always, **full}
