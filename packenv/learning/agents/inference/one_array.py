"""A library's network: two hidden layers over the one array within [−1, 1] that environments show by default."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE
from packenv.compiled.decorators import compiled
from packenv.envs.core.definition import Layout
from packenv.envs.core.features import VALID
from packenv.envs.core.state import Batch
from packenv.envs.core.step import replace_invalid
from packenv.envs.observation.one_array import ServerFlattening, bounded, flatten, flattening_of
from packenv.learning.agents.inference.mlp import MlpNetwork, mlp_of, score_actions
from packenv.learning.agents.inference.vectors import Floats
from packenv.learning.agents.inference.weights import Weights, vector

UNMASKED = "-unmasked"
"""The end of the kind of a network that may choose an action that is not valid."""

NOT_NORMALIZED = np.zeros(0, np.float32)


class OneArrayNetwork(NamedTuple):
    """What an MlpNetwork scores from the array; `masked` 0: as the library does, it may choose an action that is not valid."""

    layers: MlpNetwork
    servers: int  # of the observation "flat"; 0: the observation is "normalized"
    of_action: Floats  # (2, F) factors and offsets of "normalized"
    of_context: Floats  # (2, C)
    mean: Floats  # (N,) of VecNormalize: taken from the array,
    scale: Floats  # (N,) then multiplied,
    most: float  # and cut off at ± this; without VecNormalize these have length 0
    masked: int

    @property
    def unread(self) -> int:
        """The parts of the observation that this network never reads, as bits: none."""
        return 0


def one_array_network(
    agent: str, weights: Weights, layout: Layout, *, observation: str, masked: bool, tanh: bool
) -> OneArrayNetwork:
    """The network from its saved weights. Raises InputError where they do not fit the environment's layout."""
    flat = flattening_of(observation, layout)
    inputs = len(flat.names(layout.actions))
    normalized = "seen.mean" in weights
    return OneArrayNetwork(
        layers=mlp_of(agent, weights, inputs, layout.actions, tanh),
        mean=vector(agent, weights, "seen.mean", inputs) if normalized else NOT_NORMALIZED,
        scale=vector(agent, weights, "seen.scale", inputs) if normalized else NOT_NORMALIZED,
        most=float(vector(agent, weights, "seen.most", 1)[0]) if normalized else 0.0,
        servers=flat.servers if isinstance(flat, ServerFlattening) else 0,
        of_action=flat.action_scale,
        of_context=flat.context_scale,
        masked=int(masked),
    )


FROM_LIBRARY = {
    f"{observation}-{activation}{suffix}": partial(
        one_array_network, observation=observation, masked=not suffix, tanh=activation == "tanh"
    )
    for observation in ("flat", "normalized")
    for activation in ("tanh", "relu")
    for suffix in ("", UNMASKED)
}
"""Makes the network of a library's model, by the kind that a saved agent names."""


def best_of_one_array(network: OneArrayNetwork, b: Batch) -> int:
    """The action of the highest score, the first of equals: of the valid ones, or what the environment puts in its place."""
    write_array(network, b)
    inputs = network.layers.inputs
    for n in range(network.mean.shape[0]):
        inputs[0, n] = min(max((inputs[0, n] - network.mean[n]) * network.scale[n], -network.most), network.most)
    score_actions(network.layers)
    scores, best = network.layers.scores, NONE
    for a in range(scores.shape[0]):
        if (b.mask[0, a] or not network.masked) and (best == NONE or scores[a] > scores[best]):
            best = a
    b.action[0] = best
    replace_invalid(b)
    return int(b.action[0])


@compiled
def write_array(network: OneArrayNetwork, b: Batch) -> None:
    """Write the observation of the library, as packenv.envs.observation.one_array makes it."""
    inputs = network.layers.inputs
    if network.servers > 0:
        inputs[:] = 0.0
        flatten(b.actions, b.context, network.servers, inputs)
        return
    n = 0
    for a in range(b.actions.shape[1]):
        row = b.actions[0, a]
        for f in range(row.shape[0]):
            inputs[0, n] = bounded(row[f] * network.of_action[0, f] + network.of_action[1, f] * row[VALID])
            n += 1
    for f in range(b.context.shape[1]):
        inputs[0, n] = bounded(b.context[0, f] * network.of_context[0, f] + network.of_context[1, f])
        n += 1
