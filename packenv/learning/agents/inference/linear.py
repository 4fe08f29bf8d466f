"""The linear network: a weighted sum of a few terms of an action, with weights that depend on how many tasks wait."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE
from packenv.compiled.decorators import compiled
from packenv.envs.core import features
from packenv.envs.core.definition import Layout
from packenv.envs.core.features import NO_INVALID, NO_TYPES, OF_TASKS
from packenv.envs.core.state import Batch
from packenv.errors import InputError
from packenv.learning.agents.inference.vectors import Floats, add_scaled, copy_to
from packenv.learning.agents.inference.weights import Weights, array

TERM_NAMES = (
    *(
        "size",
        "room left",
        "room filled",
        "√ room left",
        "√ room filled",
        "large",
        "size · jobs",
        "queue",
        "complements",
        "waits",
    ),
    *("large · complements", "large · companions", "large, no complements", "large, no companions", "excess"),
)
"""What `set_terms` writes, in its order; words of packenv.envs.core.features, a task above ½ being large."""
TERMS = len(TERM_NAMES)
COUNT = np.float32(5.0)
"""Features that are counts are log(1 + n) / COUNT."""
SIZE = 0
"""The first term of an action: the size of the task that starts."""


class LinearNetwork(NamedTuple):
    """Weights w and v: the score of an action is ⟨w + q·v, its terms⟩, q being the logarithm of the tasks waiting."""

    weights: Floats  # (2, TERMS) w, v
    at_hand: Floats  # (TERMS,) scratch: w + q·v
    terms: Floats  # (TERMS,) scratch

    @property
    def unread(self) -> int:
        """The parts of the observation that this network never reads, as bits."""
        return NO_TYPES | NO_INVALID


def linear_network(agent: str, weights: Weights, layout: Layout) -> LinearNetwork:
    """The network from its saved weights. Raises InputError where they do not fit the environment's layout."""
    if "actions" not in layout.observed:
        raise InputError(f"{agent}: a linear network sees observation='actions'")
    if layout.features is not OF_TASKS:
        raise InputError(f"{agent}: a linear network reads the features of sizes and servers: choose sum or shared")
    terms = array(agent, weights, "actor.weights")
    if terms.shape != (2, TERMS):
        raise InputError(f"{agent}: 'actor.weights' has the shape {terms.shape} instead of {(2, TERMS)}")
    return LinearNetwork(terms, np.zeros(TERMS, np.float32), np.zeros(TERMS, np.float32))


def best_of_linear(network: LinearNetwork, b: Batch) -> int:
    """The valid action of the highest score, the first of equals."""
    weights, terms, mask = network.at_hand, network.terms, b.mask[0]
    copy_to(weights, network.weights[0])
    for a in range(mask.shape[0]):
        if mask[a]:
            add_scaled(weights, b.actions[0, a, features.WAITING], network.weights[1])
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


@compiled
def set_terms(terms: Floats, row: Floats) -> None:
    """Write the terms of an action from its features (packenv.envs.core.features)."""
    terms[SIZE] = row[features.SIZE]
    terms[1] = row[features.ROOM_LEFT]  # room left in the server
    terms[2] = row[features.ROOM_FILLED]  # room left once the largest tasks that fit have started too
    terms[3] = math.sqrt(row[features.ROOM_LEFT])
    terms[4] = math.sqrt(row[features.ROOM_FILLED])
    large = 1.0 if row[features.SIZE] > 0.5 else 0.0
    terms[5] = large
    terms[6] = row[features.SIZE] * row[features.JOBS] * COUNT  # size · log(1 + jobs in the server)
    terms[7] = row[features.QUEUE_PER_ROOT] * COUNT  # tasks in the virtual queue
    terms[8] = row[features.COMPLEMENTS] * COUNT  # waiting tasks that would fill an empty server with this one
    terms[9] = row[features.WAITS]  # 1: to pass
    terms[10] = large * row[features.COMPLEMENTS] * COUNT  # for a large task: waiting tasks that would fill the server with it
    terms[11] = large * row[features.COMPANIONS] * COUNT  # and all that would fit beside it
    terms[12] = large if row[features.COMPLEMENTS] == 0.0 else 0.0  # a large task without any of the former
    terms[13] = large if row[features.COMPANIONS] == 0.0 else 0.0  # and without any of the latter
    terms[14] = (1.0 - 2.0 * large) * row[features.EXCESS] * COUNT  # whether small tasks are scarce, or large ones


def terms_of(actions: Floats) -> NDArray[np.float64]:
    """(N, A, TERMS) from the features (N, A, F) of N observations."""
    rows = np.ascontiguousarray(actions.reshape(-1, actions.shape[-1]), np.float32)
    terms = np.zeros((len(rows), TERMS), np.float32)
    set_all_terms(terms, rows)
    return terms.reshape(*actions.shape[:2], TERMS).astype(np.float64)


@compiled
def set_all_terms(terms: Floats, rows: Floats) -> None:
    for n in range(rows.shape[0]):
        set_terms(terms[n], rows[n])
