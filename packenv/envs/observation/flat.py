"""The observation "flat" of decisions about one server: few numbers of each action, spread so that small networks see them.

From the features of "actions" (packenv.envs.observation.features), in one array within [−1, 1]: for each action that starts a
task the numbers of OF_ACTION, zeros where it is not valid; then those of OF_SERVER; then the context. What decides is how
little room an action leaves, and by how much that differs from the first action's: a few hundredths of a server. Hence the
roots of small rooms, and differences four times as large, cut off at ±1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import Layout
from packenv.envs.observation.features import (
    COMPANIONS,
    COMPLEMENTS,
    CONTEXT_FEATURES,
    EXCESS,
    JOBS,
    QUEUE_PER_ROOT,
    ROOM,
    ROOM_FILLED,
    ROOM_LEFT,
    SIZE,
    VALID,
    features_of,
)
from packenv.envs.observation.normalized import Flattening
from packenv.errors import InputError

Floats = NDArray[np.float32]

SPREAD = (SIZE, ROOM_LEFT, QUEUE_PER_ROOT, COMPLEMENTS, COMPANIONS)  # twice the feature, less 1
OF_ACTION = (
    "valid",
    *("size", "room_left", "queue_per_root", "complements", "companions"),
    *("room_filled", "root_of_room_left", "root_of_room_filled", "excess", "size_less_first", "first_room_filled_less"),
)
OF_SERVER = ("room", "jobs")
ENLARGED = 4.0


class ServerFlattening(Flattening):
    """From the features of actions and of the context to the observation "flat"."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        if not layout.one_server or features_of(layout)[1] is not CONTEXT_FEATURES:
            raise InputError("the observation 'flat' is of decisions about one server: ServerFill has it")

    def __call__(self, actions: Floats, context: Floats) -> Floats:
        """(…, (A − 1)·12 + 2 + C) from (…, A, F) and (…, C), in a new array. The last action passes and is left out."""
        starts = actions[..., :-1, :]
        *rows, count, _ = starts.shape
        most = count * len(OF_ACTION)
        flat = np.empty((*rows, most + len(OF_SERVER) + context.shape[-1]), np.float32)
        of_action = flat[..., :most].reshape(*rows, count, len(OF_ACTION))
        size, filled = starts[..., SIZE], starts[..., ROOM_FILLED]
        of_action[..., 0] = 1.0
        for n, feature in enumerate(SPREAD, 1):
            of_action[..., n] = 2.0 * starts[..., feature] - 1.0
        of_action[..., 6] = ENLARGED * filled - 1.0
        of_action[..., 7] = 2.0 * np.sqrt(starts[..., ROOM_LEFT]) - 1.0
        of_action[..., 8] = 2.0 * np.sqrt(filled) - 1.0
        of_action[..., 9] = 2.0 * starts[..., EXCESS]
        of_action[..., 10] = ENLARGED * (size - size[..., :1])
        of_action[..., 11] = ENLARGED * (filled[..., :1] - filled)
        of_action *= starts[..., VALID, None]
        flat[..., most] = 2.0 * actions[..., 0, ROOM] - 1.0
        flat[..., most + 1] = 2.0 * actions[..., 0, JOBS] - 1.0
        flat[..., most + 2 :] = 2.0 * context - 1.0
        return np.clip(flat, -1.0, 1.0, out=flat)

    def lowest(self, actions: int) -> Floats:
        """((A − 1)·12 + 2 + C,) −1, or 0 for flags; none is above 1."""
        low = np.full(len(self.names(actions)), -1.0, np.float32)
        low[: (actions - 1) * len(OF_ACTION) : len(OF_ACTION)] = 0.0
        return low

    def names(self, actions: int) -> tuple[str, ...]:
        """`action_0.valid`, `action_0.size`, …, `server.room`, `server.jobs`, `context.waiting_tasks`, …"""
        of_actions = [f"action_{n}.{name}" for n in range(actions - 1) for name in OF_ACTION]
        of_server = [f"server.{name}" for name in OF_SERVER]
        return (*of_actions, *of_server, *(f"context.{feature.name}" for feature in self.of_context))


def flattening_of(observation: str, layout: Layout) -> Flattening:
    """What makes the observation "normalized" or "flat" of a layout. Raises InputError where it has not the latter."""
    return ServerFlattening(layout) if observation == "flat" else Flattening(layout)
