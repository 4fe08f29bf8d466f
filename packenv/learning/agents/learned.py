"""A learned policy in the compiled loop: the environment's own observation and actions, and the network's best action.

What the agent sees and does here is what it saw and did in training: the same functions write the observation and carry
out the action (packenv.envs), and the networks are those of packenv.learning.networks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster
from packenv.compiled.decorators import dispatched, inner
from packenv.envs.core.books import keep_books
from packenv.envs.core.state import DECIDING, Batch
from packenv.envs.core.step import act, begin, observe
from packenv.policy import schedules

Floats = NDArray[np.float32]


class Learned(NamedTuple):
    """The environment's face; what was learned is in the state."""

    face: Any


class LearnedState(NamedTuple):
    """What an agent keeps through a run."""

    batch: Batch  # None before the cluster is known
    network: Any
    mean_service: NDArray[np.float64]  # (1,) slots


@schedules(Learned)
def schedule_learned(policy: Learned, cluster: Cluster, state: LearnedState) -> None:
    b = state.batch
    turn = b.turn[0]
    keep_books(b)
    begin(policy.face, b)
    while turn.phase == DECIDING:
        observe(policy.face, b)
        action = only_action(b)
        if action == NONE:
            action = best_action(state.network, b)
        b.action[0] = action
        act(policy.face, b)


@inner
def only_action(b: Batch) -> int:
    """The only valid action; NONE if there are several."""
    only = NONE
    for a in range(b.mask.shape[1]):
        if b.mask[0, a]:
            if only != NONE:
                return NONE
            only = a
    return only


def best_action(network: Any, b: Batch) -> int:
    """The valid action of the highest score, the first of equals."""
    raise NotImplementedError


class SharedNetwork(NamedTuple):
    """Every action scored by the same weights; matrices are (inputs, outputs). Hidden width H, F features, C of context."""

    first: Floats  # (F + C, H)
    first_bias: Floats  # (H,)
    second: Floats  # (2 H, H)
    second_bias: Floats  # (H,)
    last: Floats  # (H,)
    hidden: Floats  # (A, H) scratch
    base: Floats  # (H,) scratch
    mean: Floats  # (H,) scratch
    out: Floats  # (H,) scratch


class PlainNetwork(NamedTuple):
    """Two hidden layers over the whole observation, N numbers."""

    first: Floats  # (N, H)
    first_bias: Floats  # (H,)
    second: Floats  # (H, H)
    second_bias: Floats  # (H,)
    last: Floats  # (H, A)
    last_bias: Floats  # (A,)
    seen: Floats  # (N,) scratch
    hidden: Floats  # (2, H) scratch
    scores: Floats  # (A,) scratch


TERMS = 15
COUNT = np.float32(5.0)
"""Counts are told as log(1 + n) / 5."""
SIZE = 0
"""The first term of an action: the size of the task that starts."""


class LinearNetwork(NamedTuple):
    """Terms of every action added up, with weights that depend on how much waits."""

    weights: Floats  # (2, TERMS) w, v
    at_hand: Floats  # (TERMS,) scratch: w + q·v
    terms: Floats  # (TERMS,) scratch


@inner
def set_to(out: Floats, row: Floats) -> None:
    for h in range(out.shape[0]):
        out[h] = row[h]


@inner
def add_scaled(out: Floats, x: np.float32, weights: Floats) -> None:
    """out += x · weights."""
    if x != 0.0:
        for h in range(out.shape[0]):
            out[h] += x * weights[h]


@inner
def rectify(out: Floats) -> None:
    for h in range(out.shape[0]):
        out[h] = max(out[h], np.float32(0.0))


def best_of_shared(network: SharedNetwork, b: Batch) -> int:
    """The score of an action: what it is, beside the mean of all that are valid."""
    actions, context, mask = b.actions[0], b.context[0], b.mask[0]
    features, width = network.first.shape[0] - context.shape[0], network.base.shape[0]
    base, mean, out = network.base, network.mean, network.out
    set_to(base, network.first_bias)
    for h in range(width):
        mean[h] = np.float32(0.0)
    for k in range(context.shape[0]):
        add_scaled(base, context[k], network.first[features + k])
    valid = 0
    for a in range(mask.shape[0]):
        if mask[a]:
            valid += 1
            hidden = network.hidden[a]
            set_to(hidden, base)
            for k in range(features):
                add_scaled(hidden, actions[a, k], network.first[k])
            rectify(hidden)
            add_scaled(mean, np.float32(1.0), hidden)
    set_to(base, network.second_bias)
    for k in range(width):
        add_scaled(base, mean[k] / np.float32(valid), network.second[width + k])
    best, best_score = NONE, np.float32(0.0)
    for a in range(mask.shape[0]):
        if mask[a]:
            set_to(out, base)
            for k in range(width):
                add_scaled(out, network.hidden[a, k], network.second[k])
            score = np.float32(0.0)
            for h in range(width):
                score += max(out[h], np.float32(0.0)) * network.last[h]
            if best == NONE or score > best_score:
                best, best_score = a, score
    return best


def best_of_linear(network: LinearNetwork, b: Batch) -> int:
    """⟨w + q·v, terms⟩, with q the logarithm of what waits, feature 18 of every action."""
    weights, terms, mask = network.at_hand, network.terms, b.mask[0]
    set_to(weights, network.weights[0])
    for a in range(mask.shape[0]):
        if mask[a]:
            add_scaled(weights, b.actions[0, a, 18], network.weights[1])
            break
    best, best_score = NONE, np.float32(0.0)
    for a in range(mask.shape[0]):
        if mask[a]:
            set_terms(terms, b.actions[0, a])
            score = np.float32(0.0)
            for k in range(TERMS):
                score += terms[k] * weights[k]
            if best == NONE or score > best_score:
                best, best_score = a, score
    return best


@inner
def set_terms(terms: Floats, features: Floats) -> None:
    """What the score of an action is made of: see packenv.envs.observation.actions."""
    terms[SIZE] = features[2]
    terms[1] = features[3]  # room left,
    terms[2] = features[4]  # and after the largest that fit
    terms[3] = math.sqrt(features[3])
    terms[4] = math.sqrt(features[4])
    large = 1.0 if features[2] > 0.5 else 0.0
    terms[5] = large
    terms[6] = features[2] * features[12] * COUNT  # size · log(1 + jobs in the server)
    terms[7] = features[17] * COUNT  # tasks in the virtual queue,
    terms[8] = features[14] * COUNT  # and complements of the task
    terms[9] = features[1]  # 1: to pass
    terms[10] = large * features[14] * COUNT  # company of a large task: exact,
    terms[11] = large * features[15] * COUNT  # and any;
    terms[12] = large if features[14] == 0.0 else 0.0  # none of it
    terms[13] = large if features[15] == 0.0 else 0.0
    terms[14] = (1.0 - 2.0 * large) * features[16] * COUNT  # small tasks are scarce, or large ones


def best_of_plain(network: PlainNetwork, b: Batch) -> int:
    """Scores of all actions from all that is seen."""
    squash_seen(network, b)
    first, second, scores = network.hidden[0], network.hidden[1], network.scores
    set_to(first, network.first_bias)
    for n in range(network.seen.shape[0]):
        add_scaled(first, network.seen[n], network.first[n])
    rectify(first)
    set_to(second, network.second_bias)
    for h in range(first.shape[0]):
        add_scaled(second, first[h], network.second[h])
    rectify(second)
    set_to(scores, network.last_bias)
    for h in range(second.shape[0]):
        add_scaled(scores, second[h], network.last[h])
    best = NONE
    for a in range(scores.shape[0]):
        if b.mask[0, a] and (best == NONE or scores[a] > scores[best]):
            best = a
    return best


@inner
def squash_seen(network: PlainNetwork, b: Batch) -> None:
    """All that is seen, in the order of its names, as log(1 + x): nothing that is seen is negative."""
    n = 0
    n = squash_rows(network.seen, n, b.actions[0])
    n = squash(network.seen, n, b.cluster[0])
    n = squash(network.seen, n, b.configurations[0])
    n = squash(network.seen, n, b.context[0])
    n = squash_rows(network.seen, n, b.queue[0])
    n = squash(network.seen, n, b.server[0])
    n = squash_rows(network.seen, n, b.servers[0])
    squash_rows(network.seen, n, b.virtual_queues[0])


@inner
def squash(out: Floats, n: int, row: Floats) -> int:
    for k in range(row.shape[0]):
        out[n] = math.log1p(row[k])
        n += 1
    return n


@inner
def squash_rows(out: Floats, n: int, rows: Floats) -> int:
    for r in range(rows.shape[0]):
        n = squash(out, n, rows[r])
    return n


dispatched(
    best_action,
    {
        ("best_action", SharedNetwork): best_of_shared,
        ("best_action", LinearNetwork): best_of_linear,
        ("best_action", PlainNetwork): best_of_plain,
    },
)
