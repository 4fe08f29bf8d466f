"""Spaces with finite bounds that hold for every observation."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from packenv.envs.core.definition import Layout, Sizes
from packenv.envs.core.features import HIGHEST
from packenv.envs.observation.one_array import flattening_of
from packenv.envs.options import LATEST, ONE_ARRAY, Options
from packenv.units import UNIT
from packenv.workloads.workload import Workload


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
