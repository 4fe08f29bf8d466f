"""The multilayer perceptron: scores of all actions from the whole observation, for one number of servers and types."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE
from packenv.compiled.decorators import compiled
from packenv.envs.core.definition import Layout
from packenv.envs.core.state import Batch
from packenv.learning.agents.inference.vectors import Floats, add_scaled, copy_to, rectify, saturate
from packenv.learning.agents.inference.weights import Weights, array, matrix, vector


class MlpNetwork(NamedTuple):
    """Two hidden layers of widths H and K over the whole observation, N numbers; matrices are (inputs, outputs)."""

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

    @property
    def unread(self) -> int:
        """The parts of the observation that this network never reads, as bits: none."""
        return 0


def mlp_network(agent: str, weights: Weights, layout: Layout) -> MlpNetwork:
    """The network from its saved weights. Raises InputError where they do not fit the environment's layout."""
    return mlp_of(agent, weights, sum(math.prod(shape) for shape in layout.observed.values()), layout.actions)


def mlp_of(agent: str, weights: Weights, inputs: int, actions: int, tanh: bool = False) -> MlpNetwork:
    """The network for `inputs` numbers and `actions` actions. Raises InputError for weights of another."""
    first_bias, second_bias = (array(agent, weights, f"actor.layers.{n}.bias") for n in range(2))
    width, next_width = first_bias.size, second_bias.size
    return MlpNetwork(
        first=matrix(agent, weights, "actor.layers.0", (width, inputs)),
        first_bias=first_bias,
        second=matrix(agent, weights, "actor.layers.1", (next_width, width)),
        second_bias=second_bias,
        last=matrix(agent, weights, "actor.layers.2", (actions, next_width)),
        last_bias=vector(agent, weights, "actor.layers.2.bias", actions),
        inputs=np.zeros((1, inputs), np.float32),
        first_hidden=np.zeros(width, np.float32),
        second_hidden=np.zeros(next_width, np.float32),
        scores=np.zeros(actions, np.float32),
        tanh=int(tanh),
    )


def best_of_mlp(network: MlpNetwork, b: Batch) -> int:
    """The valid action of the highest score, the first of equals."""
    read_observation(network, b)
    score_actions(network)
    best = NONE
    for a in range(network.scores.shape[0]):
        if b.mask[0, a] and (best == NONE or network.scores[a] > network.scores[best]):
            best = a
    return best


@compiled
def score_actions(network: MlpNetwork) -> None:
    """Write the scores of what is seen."""
    first, second, scores = network.first_hidden, network.second_hidden, network.scores
    copy_to(first, network.first_bias)
    for n in range(network.inputs.shape[1]):
        add_scaled(first, network.inputs[0, n], network.first[n])
    activate(network, first)
    copy_to(second, network.second_bias)
    for h in range(first.shape[0]):
        add_scaled(second, first[h], network.second[h])
    activate(network, second)
    copy_to(scores, network.last_bias)
    for h in range(second.shape[0]):
        add_scaled(scores, second[h], network.last[h])


@compiled
def activate(network: MlpNetwork, row: Floats) -> None:
    if network.tanh:
        saturate(row)
    else:
        rectify(row)


@compiled
def read_observation(network: MlpNetwork, b: Batch) -> None:
    """Write log(1 + x) of the whole observation, in the order of its names; nothing in it is negative."""
    n, inputs = 0, network.inputs[0]
    n = read_rows(inputs, n, b.actions[0])
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
