"""Parts of all layouts: sizes, orders, shapes, and finite spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from packenv.cluster.servers import scalar_capacity, server_kinds
from packenv.envs.core.definition import Layout, Shapes, Sizes
from packenv.envs.core.features import CONTEXT, FEATURES, HIGHEST
from packenv.envs.observation.one_array import flattening_of
from packenv.envs.options import LATEST, ONE_ARRAY, Options
from packenv.errors import InputError
from packenv.policy import BY_DEMAND, BY_LINE, BY_MIX, BY_QUEUE, BY_SIZE, BY_TYPE, Needs
from packenv.theory.rounded_types import equal_widths
from packenv.units import UNIT
from packenv.workloads.workload import Workload

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


def action_space(layout: Layout) -> spaces.Discrete[np.int64]:
    return spaces.Discrete(layout.actions)


def observation_space(layout: Layout, sizes: Sizes, options: Options, workload: Workload) -> spaces.Space[Any]:
    """Return a Dict of float32 Boxes, or one flat Box."""
    if options.observation in ONE_ARRAY:
        low = flattening_of(options.observation, layout).lowest(layout.actions)
        return spaces.Box(low, np.ones_like(low), dtype=np.float32)
    units = workload.servers.units
    capacity = units.max(axis=0) / UNIT
    largest = float(capacity.max())
    most_jobs = float(units.max())  # tasks of one unit each
    latest = float(LATEST) if options.horizon is None else float(options.horizon)
    latest += options.warm.slots if options.warm else 0
    many = float(options.waiting_limit)
    full = options.observation == "full"
    of_action, of_context = layout.features.of_action, layout.features.of_context
    virtual_queue = [many, largest, many * largest, latest] if full else [many, largest]
    types = [most_jobs] * sizes.types
    highs: dict[str, list[float]] = {
        "queue": [*capacity, latest, 1.0],
        "virtual_queues": virtual_queue,
        "servers": [*capacity, *types, 1.0],
        "server": [*capacity, *types, latest, latest],
        "cluster": [1.0] * (sizes.resources + sizes.types + 1),
        "configurations": [most_jobs * sizes.servers] * sizes.types,
        "actions": [HIGHEST] * len(of_action),
        "context": [HIGHEST] * len(of_context),
    }
    if not full and "servers" in layout.observed:
        highs["servers"] = [*capacity, 1.0]
    boxes: dict[str, spaces.Space[object]] = {}
    for name, shape in layout.observed.items():
        high = np.broadcast_to(np.array(highs[name][: shape[-1]], np.float32), shape)
        low = np.zeros(shape, np.float32)
        if name == "actions":
            low[:, [n for n, feature in enumerate(of_action) if feature.negative]] = -HIGHEST
        boxes[name] = spaces.Box(low, high, dtype=np.float32)
    if options.mask_in_observation:
        boxes["action_mask"] = spaces.Box(0.0, 1.0, (layout.actions,), np.float32)
    return spaces.Dict(tuple(boxes.items()))  # a dict would be sorted
