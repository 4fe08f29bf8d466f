"""Observations in one array within [−1, 1], from action features."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.envs.core.definition import Layout
from packenv.envs.core.features import (
    COMPANIONS,
    COMPLEMENTS,
    EXCESS,
    FLAG,
    JOBS,
    OF_TASKS,
    QUEUE_PER_ROOT,
    ROOM,
    ROOM_FILLED,
    ROOM_LEFT,
    SIZE,
    VALID,
    Feature,
)
from packenv.errors import InputError

Floats = NDArray[np.float32]


class Flattening:
    """The observation "normalized", for generic clients.

    It has the features of action 0, then of action 1, … then of the context: A·F + C numbers. Flags stay as they are. Shares and
    logarithms log(1 + n) / 5 become twice the feature less 1, cut off at 1 (n = 147). Features that may be negative are doubled.
    A network with small first weights sees little of numbers near 0 or with little variation. Features of invalid actions are 0.
    Their number depends on the servers and types, not on the load.
    """

    def __init__(self, layout: Layout) -> None:
        self.of_action, self.of_context = layout.features.of_action, layout.features.of_context
        self.action_scale, self.context_scale = _scale(self.of_action), _scale(self.of_context)

    def __call__(self, actions: Floats, context: Floats) -> Floats:
        """Return a new (…, A·F + C) from (…, A, F), (…, C)."""
        *rows, count, features = actions.shape
        flat = np.empty((*rows, count * features + len(self.of_context)), np.float32)
        of_actions = flat[..., : count * features].reshape(actions.shape)
        np.multiply(actions, self.action_scale[0], out=of_actions)
        of_actions += self.action_scale[1] * actions[..., VALID : VALID + 1]
        np.multiply(context, self.context_scale[0], out=flat[..., count * features :])
        flat[..., count * features :] += self.context_scale[1]
        return np.clip(flat, -1.0, 1.0, out=flat)

    def lowest(self, actions: int) -> Floats:
        """Return the lower bounds, (A·F + C,), all upper ones being 1."""
        of_action = np.array([0.0 if feature.scale == FLAG else -1.0 for feature in self.of_action], np.float32)
        return np.concatenate((np.tile(of_action, actions), np.full(len(self.of_context), -1.0, np.float32)))

    def names(self, actions: int) -> tuple[str, ...]:
        """Return the names of features, (A·F + C,)."""
        of_actions = [f"action_{n}.{feature.name}" for n in range(actions) for feature in self.of_action]
        return (*of_actions, *(f"context.{feature.name}" for feature in self.of_context))


def _scale(features: tuple[Feature, ...]) -> Floats:
    factors = [1.0 if feature.scale == FLAG else 2.0 for feature in features]
    offsets = [0.0 if feature.scale == FLAG or feature.negative else -1.0 for feature in features]
    return np.array([factors, offsets], np.float32)


def check_one_array(observation: str, observed: object, name: str, mask_in_observation: bool) -> None:
    """Raise InputError without action features, or for another mask."""
    if observed != {"actions", "context"}:
        raise InputError(f"{name} has no features of actions, which observation={observation!r} needs")
    if mask_in_observation:
        raise InputError(f"observation={observation!r} has the mask already, as the features `action_….valid`")


SPREAD = (SIZE, ROOM_LEFT, QUEUE_PER_ROOT, COMPLEMENTS, COMPANIONS)  # twice the feature, less 1
OF_ACTION = (
    "valid",
    *("size", "room_left", "queue_per_root", "complements", "companions"),
    *("room_filled", "root_of_room_left", "root_of_room_filled", "excess", "size_less_first", "first_room_filled_less"),
)
OF_SERVER = ("room", "jobs")
ENLARGED = 4.0
WIDTH = len(OF_ACTION)


class ServerFlattening(Flattening):
    """The observation "flat" of decisions about a few servers.

    Each starting action has the numbers of OF_ACTION, zeros if invalid. Then follow the numbers of OF_SERVER of each server, and
    the context. Actions differ in how little room they leave, by a few hundredths of a server. So small rooms are square roots,
    and differences from the first action are four times as large, cut off at ±1.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        if layout.offered == 0 or layout.features is not OF_TASKS:
            raise InputError("the observation 'flat' is of few servers: ServerFill, and Placement with choices, have it")
        self.servers = layout.offered

    def __call__(self, actions: Floats, context: Floats) -> Floats:
        """Return a new (…, (A − 1)·12 + 2 S + C)."""
        width = (actions.shape[-2] - 1) * len(OF_ACTION) + self.servers * len(OF_SERVER) + context.shape[-1]
        flat = np.zeros((*context.shape[:-1], width), np.float32)
        rows = actions.reshape(-1, *actions.shape[-2:]), context.reshape(-1, context.shape[-1])
        flatten(*rows, self.servers, flat.reshape(-1, width))
        return flat

    def lowest(self, actions: int) -> Floats:
        """Return the lower bounds: 0 for flags, otherwise −1."""
        low = np.full(len(self.names(actions)), -1.0, np.float32)
        low[: (actions - 1) * len(OF_ACTION) : len(OF_ACTION)] = 0.0
        return low

    def names(self, actions: int) -> tuple[str, ...]:
        """`action_0.valid`, `action_0.size`, …, `server.room`, `server.jobs`, `context.waiting_tasks`, …"""
        of_actions = [f"action_{n}.{name}" for n in range(actions - 1) for name in OF_ACTION]
        servers = ["server"] if self.servers == 1 else [f"server_{k}" for k in range(self.servers)]
        of_server = [f"{server}.{name}" for server in servers for name in OF_SERVER]
        return (*of_actions, *of_server, *(f"context.{feature.name}" for feature in self.of_context))


@compiled
def flatten(actions: Floats, context: Floats, servers: int, flat: Floats) -> None:
    """Write `flat` (E, …), initially zeros, from `actions` and `context`."""
    starts = actions.shape[1] - 1
    for e in range(actions.shape[0]):
        out, first = flat[e], actions[e, 0]
        # each start: valid, its features spread over [−1, 1], and how it differs from the first
        for n in range(starts):
            action, k = actions[e, n], n * WIDTH
            if action[VALID] == 0.0:
                continue
            out[k] = 1.0
            for m in range(len(SPREAD)):
                out[k + 1 + m] = bounded(2.0 * action[SPREAD[m]] - 1.0)
            out[k + 6] = bounded(ENLARGED * action[ROOM_FILLED] - 1.0)
            out[k + 7] = bounded(2.0 * math.sqrt(action[ROOM_LEFT]) - 1.0)
            out[k + 8] = bounded(2.0 * math.sqrt(action[ROOM_FILLED]) - 1.0)
            out[k + 9] = bounded(2.0 * action[EXCESS])
            out[k + 10] = bounded(ENLARGED * (action[SIZE] - first[SIZE]))
            out[k + 11] = bounded(ENLARGED * (first[ROOM_FILLED] - action[ROOM_FILLED]))
        # each server, from its first start; then the context
        k = starts * WIDTH
        for server in range(servers):
            best = actions[e, server * (starts // servers)]
            out[k] = bounded(2.0 * best[ROOM] - 1.0)
            out[k + 1] = bounded(2.0 * best[JOBS] - 1.0)
            k += len(OF_SERVER)
        for m in range(context.shape[1]):
            out[k + m] = bounded(2.0 * context[e, m] - 1.0)


@compiled
def bounded(x: float) -> float:
    return min(max(x, -1.0), 1.0)


def flattening_of(observation: str, layout: Layout) -> Flattening:
    """Return a layout's "normalized" or "flat" (InputError if missing)."""
    return ServerFlattening(layout) if observation == "flat" else Flattening(layout)
