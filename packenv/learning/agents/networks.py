"""Networks of saved agents in compiled code.

Each of the three is a NamedTuple with a function `score_…` that writes a score for every action. `best_action` chooses by the
scores. `unread`: parts of the observation that need not be written, as bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE
from packenv.compiled.decorators import compiled, dispatched
from packenv.envs.core import features as feature
from packenv.envs.core.definition import Layout
from packenv.envs.core.features import CONTEXT, FIRST_FEATURES, NO_COMPANY, NO_INVALID, NO_TYPES, OF_TASKS
from packenv.envs.core.state import Batch
from packenv.envs.core.step import replace_invalid
from packenv.envs.observation.one_array import ServerFlattening, bounded, flatten, flattening_of
from packenv.errors import InputError
from packenv.learning.agents.weights import Weights, array, matrix, of_features, vector

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def zeros(*shape: int) -> Floats:
    return np.zeros(shape, np.float32)


# --- vectors


@compiled
def copy_to(out: Floats, row: Floats) -> None:
    for h in range(out.shape[0]):
        out[h] = row[h]


@compiled
def add_scaled(out: Floats, x: np.float32, weights: Floats) -> None:
    if x != 0.0:
        for h in range(out.shape[0]):
            out[h] += x * weights[h]


@compiled
def product(row: Floats, weights: Floats) -> np.float32:
    total = np.float32(0.0)
    for k in range(weights.shape[0]):
        total += row[k] * weights[k]
    return total


@compiled
def activate(out: Floats, tanh: int) -> None:
    for h in range(out.shape[0]):
        out[h] = np.tanh(out[h]) if tanh else max(out[h], np.float32(0.0))


# --- weighted sums


class WeightedSum(NamedTuple):
    """A weighted sum per action: ⟨w + q·v, terms⟩.

    q is log(1 + waiting tasks). The action that waits also gets ⟨u, context⟩. Terms are the features of the action, or the
    results of `set_terms` (`of_terms`). Then q is a feature of every action, and the context is not read.
    """

    weights: Floats  # (2, K) w, v
    of_context: Floats  # (C,) u
    waiting: int  # the position of q: in the context, or among the features
    of_terms: int
    at_hand: Floats  # (K,) scratch: w + q·v
    terms: Floats  # (K,) scratch
    scores: Floats  # (A,) scratch

    @property
    def unread(self) -> int:
        return NO_TYPES | NO_INVALID if self.of_terms else 0


@compiled
def score_by_sum(network: WeightedSum, b: Batch) -> None:
    mask, weights = b.mask[0], network.at_hand
    # how many tasks wait: a feature of the context, or of each valid action
    q = np.float32(0.0)
    if network.of_terms:
        for a in range(mask.shape[0]):
            if mask[a]:
                q = b.actions[0, a, network.waiting]
                break
    else:
        q = b.context[0, network.waiting]
    copy_to(weights, network.weights[0])
    add_scaled(weights, q, network.weights[1])
    for a in range(mask.shape[0]):
        if mask[a]:
            row = b.actions[0, a]
            if network.of_terms:
                set_terms(network.terms, row)
                network.scores[a] = product(network.terms, weights)
            else:
                network.scores[a] = product(row, weights)
                if row[feature.WAITS] > 0:
                    network.scores[a] += product(b.context[0], network.of_context)


TERM_NAMES = (
    *("size", "room left", "room filled", "√ room left", "√ room filled", "large", "size · jobs", "queue"),
    *("complements", "waits", "large · complements", "large · companions", "large, no complements", "large, no companions"),
    "excess",
)
"""What `set_terms` writes, in its order; words of packenv.envs.core.features, a task above ½ being large."""
TERMS = len(TERM_NAMES)
COUNT = np.float32(5.0)
"""Features that are counts are log(1 + n) / COUNT."""
SIZE = 0
"""The first term of an action: the size of the task that starts."""


@compiled
def set_terms(terms: Floats, row: Floats) -> None:
    """Write the terms of an action from its features (packenv.envs.core.features)."""
    terms[SIZE] = row[feature.SIZE]
    terms[1] = row[feature.ROOM_LEFT]  # room left in the server
    terms[2] = row[feature.ROOM_FILLED]  # room left once the largest tasks that fit have started too
    terms[3] = math.sqrt(row[feature.ROOM_LEFT])
    terms[4] = math.sqrt(row[feature.ROOM_FILLED])
    large = 1.0 if row[feature.SIZE] > 0.5 else 0.0
    terms[5] = large
    terms[6] = row[feature.SIZE] * row[feature.JOBS] * COUNT  # size · log(1 + jobs in the server)
    terms[7] = row[feature.QUEUE_PER_ROOT] * COUNT  # tasks in the virtual queue
    terms[8] = row[feature.COMPLEMENTS] * COUNT  # waiting tasks that would fill an empty server with this one
    terms[9] = row[feature.WAITS]  # 1: to pass
    terms[10] = large * row[feature.COMPLEMENTS] * COUNT  # for a large task: waiting tasks that would fill the server with it
    terms[11] = large * row[feature.COMPANIONS] * COUNT  # and all that would fit beside it
    terms[12] = large if row[feature.COMPLEMENTS] == 0.0 else 0.0  # a large task without any of the former
    terms[13] = large if row[feature.COMPANIONS] == 0.0 else 0.0  # and without any of the latter
    terms[14] = (1.0 - 2.0 * large) * row[feature.EXCESS] * COUNT  # whether small tasks are scarce, or large ones


def terms_of(actions: Floats) -> Doubles:
    """Return terms, (N, A, TERMS), from features, (N, A, F)."""
    rows = np.ascontiguousarray(actions.reshape(-1, actions.shape[-1]), np.float32)
    terms = zeros(len(rows), TERMS)
    set_all_terms(terms, rows)
    return terms.reshape(*actions.shape[:2], TERMS).astype(np.float64)


@compiled
def set_all_terms(terms: Floats, rows: Floats) -> None:
    for n in range(rows.shape[0]):
        set_terms(terms[n], rows[n])


def sum_network(agent: str, weights: Weights, layout: Layout, *, kind: str) -> WeightedSum:
    """Return `linear`, `sum` (v = 0) or `varying` (or InputError)."""
    if "actions" not in layout.observed:
        raise InputError(f"{agent}: a {kind} network sees observation='actions'")
    count, context = layout.observed["actions"][1], layout.observed["context"][0]
    if kind == "linear":
        if layout.features is not OF_TASKS:
            raise InputError(f"{agent}: a linear network reads the features of sizes and servers: choose sum or shared")
        both = array(agent, weights, "actor.weights")
        if both.shape != (2, TERMS):
            raise InputError(f"{agent}: 'actor.weights' has the shape {both.shape} instead of {(2, TERMS)}")
        return WeightedSum(both, zeros(0), feature.WAITING, 1, zeros(TERMS), zeros(TERMS), zeros(layout.actions))
    waiting, both = layout.features.waiting, zeros(2, count)
    both[0] = of_features(agent, weights, "actor.of_action", count)
    if kind == "varying":
        if waiting is None:
            raise InputError(f"{agent}: a varying network sees how many tasks wait in its context")
        both[1] = of_features(agent, weights, "actor.per_waiting", count)
    of_context = of_features(agent, weights, "actor.of_context", context)
    return WeightedSum(both, of_context, waiting or 0, 0, zeros(count), zeros(0), zeros(layout.actions))


# --- the shared network


class SharedNetwork(NamedTuple):
    """Equal weights for every action, and all actions' mean.

    Two hidden layers of width H over F features of an action and C of the context. The mean is over the valid actions. Matrices
    are (inputs, outputs).
    """

    first: Floats  # (F + C, H)
    first_bias: Floats  # (H,)
    second: Floats  # (2 H, H)
    second_bias: Floats  # (H,)
    last: Floats  # (H,)
    hidden: Floats  # (A, H) scratch
    base: Floats  # (H,) scratch
    mean: Floats  # (H,) scratch
    out: Floats  # (H,) scratch
    scores: Floats  # (A,) scratch

    @property
    def unread(self) -> int:
        return NO_INVALID | (NO_COMPANY if len(self.first) == FIRST_FEATURES + CONTEXT else 0)


@compiled
def score_shared(network: SharedNetwork, b: Batch) -> None:
    actions, context, mask = b.actions[0], b.context[0], b.mask[0]
    features, width = network.first.shape[0] - context.shape[0], network.base.shape[0]
    base, mean, out = network.base, network.mean, network.out
    # the first layer of each valid action, and its mean
    copy_to(base, network.first_bias)
    for k in range(context.shape[0]):
        add_scaled(base, context[k], network.first[features + k])
    mean[:] = np.float32(0.0)
    valid = 0
    for a in range(mask.shape[0]):
        if mask[a]:
            valid += 1
            hidden = network.hidden[a]
            copy_to(hidden, base)
            for k in range(features):
                add_scaled(hidden, actions[a, k], network.first[k])
            activate(hidden, 0)
            add_scaled(mean, np.float32(1.0), hidden)
    # the second layer, of the action and of the mean, and the score
    copy_to(base, network.second_bias)
    for k in range(width):
        add_scaled(base, mean[k] / np.float32(valid), network.second[width + k])
    for a in range(mask.shape[0]):
        if mask[a]:
            copy_to(out, base)
            for k in range(width):
                add_scaled(out, network.hidden[a, k], network.second[k])
            activate(out, 0)
            network.scores[a] = product(out, network.last)


def shared_network(agent: str, weights: Weights, layout: Layout) -> SharedNetwork:
    """Return the network (InputError if the layout does not fit)."""
    width = array(agent, weights, "actor.first.bias").shape[0]
    if "actions" not in layout.observed:
        raise InputError(f"{agent}: a shared network sees observation='actions'")
    inputs = layout.observed["actions"][1] + layout.observed["context"][0]
    if layout.features is OF_TASKS and array(agent, weights, "actor.first.weight").shape == (width, FIRST_FEATURES + CONTEXT):
        inputs = FIRST_FEATURES + CONTEXT  # saved before the last features existed
    return SharedNetwork(
        first=matrix(agent, weights, "actor.first", (width, inputs)),
        first_bias=array(agent, weights, "actor.first.bias"),
        second=matrix(agent, weights, "actor.second", (width, 2 * width)),
        second_bias=vector(agent, weights, "actor.second.bias", width),
        last=matrix(agent, weights, "actor.last", (1, width))[:, 0].copy(),
        hidden=zeros(layout.actions, width),
        base=zeros(width),
        mean=zeros(width),
        out=zeros(width),
        scores=zeros(layout.actions),
    )


# --- the multilayer perceptron


UNMASKED = "-unmasked"
"""The end of the kind of a network that may choose an action that is not valid."""
WHOLE, FLAT, NORMALIZED = 0, 1, 2
"""What it sees: log(1 + x) of the whole observation; one array of a library, "flat" or "normalized"."""


class Mlp(NamedTuple):
    """Two hidden layers H, K over N numbers, as (inputs, outputs) matrices."""

    first: Floats  # (N, H)
    first_bias: Floats  # (H,)
    second: Floats  # (H, K)
    second_bias: Floats  # (K,)
    last: Floats  # (K, A)
    last_bias: Floats  # (A,)
    inputs: Floats  # (1, N) scratch
    first_hidden: Floats  # (H,) scratch
    second_hidden: Floats  # (K,) scratch
    scores: Floats  # (A,) scratch
    tanh: int  # 1: the activation of the hidden layers; 0: max(x, 0)
    seen: int
    servers: int  # of "flat"
    of_action: Floats  # (2, F) factors and offsets of "normalized"
    of_context: Floats  # (2, C)
    mean: Floats  # (N,) of VecNormalize: taken from the array,
    scale: Floats  # (N,) then multiplied,
    most: float  # and cut off at ± this; without VecNormalize these have length 0

    @property
    def unread(self) -> int:
        return 0


@compiled
def score_mlp(network: Mlp, b: Batch) -> None:
    inputs, first, second, scores = network.inputs, network.first_hidden, network.second_hidden, network.scores
    # what it sees
    if network.seen == WHOLE:
        read_observation(inputs[0], b)
    elif network.seen == FLAT:
        inputs[:] = 0.0
        flatten(b.actions, b.context, network.servers, inputs)
    else:
        read_normalized(network, b)
    for n in range(network.mean.shape[0]):
        inputs[0, n] = min(max((inputs[0, n] - network.mean[n]) * network.scale[n], -network.most), network.most)
    # the layers
    copy_to(first, network.first_bias)
    for n in range(inputs.shape[1]):
        add_scaled(first, inputs[0, n], network.first[n])
    activate(first, network.tanh)
    copy_to(second, network.second_bias)
    for h in range(first.shape[0]):
        add_scaled(second, first[h], network.second[h])
    activate(second, network.tanh)
    copy_to(scores, network.last_bias)
    for h in range(second.shape[0]):
        add_scaled(scores, second[h], network.last[h])


@compiled
def read_observation(inputs: Floats, b: Batch) -> None:
    """Write log(1 + x) of the whole observation, in order."""
    n = read_rows(inputs, 0, b.actions[0])
    n = read_row(inputs, n, b.cluster[0])
    n = read_row(inputs, n, b.configurations[0])
    n = read_row(inputs, n, b.context[0])
    n = read_rows(inputs, n, b.queue[0])
    n = read_row(inputs, n, b.server[0])
    n = read_rows(inputs, n, b.servers[0])
    read_rows(inputs, n, b.virtual_queues[0])


@compiled
def read_row(out: Floats, n: int, row: Floats) -> int:
    for k in range(row.shape[0]):
        out[n] = math.log1p(row[k])
        n += 1
    return n


@compiled
def read_rows(out: Floats, n: int, rows: Floats) -> int:
    for r in range(rows.shape[0]):
        n = read_row(out, n, rows[r])
    return n


@compiled
def read_normalized(network: Mlp, b: Batch) -> None:
    """Write the observation "normalized", as packenv.envs.observation.one_array makes it."""
    n, inputs = 0, network.inputs[0]
    for a in range(b.actions.shape[1]):
        row = b.actions[0, a]
        for f in range(row.shape[0]):
            inputs[n] = bounded(row[f] * network.of_action[0, f] + network.of_action[1, f] * row[feature.VALID])
            n += 1
    for f in range(b.context.shape[1]):
        inputs[n] = bounded(b.context[0, f] * network.of_context[0, f] + network.of_context[1, f])
        n += 1


class UnmaskedMlp(NamedTuple):
    """A library's network that may choose an invalid action."""

    mlp: Mlp
    unread: int = 0


def mlp_network(
    agent: str, weights: Weights, layout: Layout, *, observation: str = "", tanh: bool = False, masked: bool = True
) -> Mlp | UnmaskedMlp:
    """Return the network from weights that fit (or InputError)."""
    flat = flattening_of(observation, layout) if observation else None
    actions = layout.actions
    inputs = sum(math.prod(shape) for shape in layout.observed.values()) if flat is None else len(flat.names(actions))
    first_bias, second_bias = (array(agent, weights, f"actor.layers.{n}.bias") for n in range(2))
    width, next_width = first_bias.size, second_bias.size
    normalized = "seen.mean" in weights
    mlp = Mlp(
        first=matrix(agent, weights, "actor.layers.0", (width, inputs)),
        first_bias=first_bias,
        second=matrix(agent, weights, "actor.layers.1", (next_width, width)),
        second_bias=second_bias,
        last=matrix(agent, weights, "actor.layers.2", (actions, next_width)),
        last_bias=vector(agent, weights, "actor.layers.2.bias", actions),
        inputs=zeros(1, inputs),
        first_hidden=zeros(width),
        second_hidden=zeros(next_width),
        scores=zeros(actions),
        tanh=int(tanh),
        seen=WHOLE if flat is None else FLAT if isinstance(flat, ServerFlattening) else NORMALIZED,
        servers=flat.servers if isinstance(flat, ServerFlattening) else 0,
        of_action=zeros(2, 0) if flat is None else flat.action_scale,
        of_context=zeros(2, 0) if flat is None else flat.context_scale,
        mean=vector(agent, weights, "seen.mean", inputs) if normalized else zeros(0),
        scale=vector(agent, weights, "seen.scale", inputs) if normalized else zeros(0),
        most=float(vector(agent, weights, "seen.most", 1)[0]) if normalized else 0.0,
    )
    return mlp if masked else UnmaskedMlp(mlp)


# --- the choice


def score(network: Any, b: Batch) -> None:
    """Write the valid actions' scores, or all, into `network.scores`."""
    raise NotImplementedError  # compiled code calls one of those below


dispatched(score, {("score", WeightedSum): score_by_sum, ("score", SharedNetwork): score_shared, ("score", Mlp): score_mlp})


def best_action(network: Any, b: Batch) -> int:
    """Return the first (valid) action of the highest score."""
    raise NotImplementedError  # compiled code calls one of those below


def best_valid(network: Any, b: Batch) -> int:
    score(network, b)
    best = NONE
    for a in range(network.scores.shape[0]):
        if b.mask[0, a] and (best == NONE or network.scores[a] > network.scores[best]):
            best = a
    return best


def best_of_all(network: UnmaskedMlp, b: Batch) -> int:
    score_mlp(network.mlp, b)
    b.action[0] = np.argmax(network.mlp.scores)
    replace_invalid(b)
    return int(b.action[0])


dispatched(best_action, {("best_action", UnmaskedMlp): best_of_all}, default=best_valid)

FROM_WEIGHTS: dict[str, Callable[[str, Weights, Layout], Any]] = {
    "shared": shared_network,
    **{kind: partial(sum_network, kind=kind) for kind in ("linear", "sum", "varying")},
    "mlp": mlp_network,
    **{
        f"{observation}-{activation}{suffix}": partial(
            mlp_network, observation=observation, tanh=activation == "tanh", masked=not suffix
        )
        for observation in ("flat", "normalized")
        for activation in ("tanh", "relu")
        for suffix in ("", UNMASKED)
    },
}
"""Makes a compiled network from its saved weights, by the kind of network that a saved agent names."""
