"""The network that is trained: an actor and a critic, in PyTorch.

Compiled inference (packenv.learning.agents.networks) reads the exported weights by the same names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from packenv.envs.core.features import FEATURES, VALID
from packenv.errors import ArgumentError, InputError, nearest
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.weights import Weights, with_later_features
from tests.reference.networks.layers import LinearActor, Mlp, SharedActor, SharedCritic, SumActor, VaryingActor
from tests.reference.networks.valid_actions import Observation, valid_actions

NETWORKS = ("shared", "linear", "sum", "varying", "mlp")
INVALID = -1e8
"""The score of an action that is not valid: its probability is 0."""


def flattened(observation: Observation) -> Tensor:
    """(E, inputs) sign(x) · log(1 + |x|) of all arrays but the mask, in the order of their names."""
    x = torch.cat([observation[name].flatten(1) for name in sorted(observation) if name != "action_mask"], dim=1)
    return torch.sign(x) * torch.log1p(torch.abs(x))


class Network(nn.Module):
    """An actor of one of five kinds ("shared", "linear", "sum", "varying", "mlp"), and a critic unless `critic` is False.

    `seen` is the space of observations, `hidden` the width of hidden layers, `waiting` the position of the waiting tasks in
    the context (`packenv.envs.core.features.Features.waiting`). Raises InputError for an unknown kind, or an observation
    that the kind cannot read.
    """

    def __init__(
        self,
        observation: spaces.Space[Any],
        actions: int,
        kind: str,
        hidden: int,
        critic: bool = True,
        waiting: int | None = None,
    ) -> None:
        super().__init__()
        if kind not in NETWORKS:
            raise InputError(f"unknown network {kind!r}{nearest(kind, NETWORKS)}")
        assert isinstance(observation, spaces.Dict)
        shapes = {name: space.shape or () for name, space in observation.spaces.items() if name != "action_mask"}
        self.by_action = kind != "mlp"
        self.actor: nn.Module
        self.critic: nn.Module
        if self.by_action:
            if set(shapes) != {"actions", "context"}:
                raise InputError(f"the {kind} network reads the observation `actions`; for others there is the network mlp")
            self.widths = shapes["actions"][1], shapes["context"][0]
            self.actor = actor_of(kind, *self.widths, hidden, waiting)
            self.critic = SharedCritic(*self.widths, hidden) if critic else nn.Identity()
        else:
            inputs = sum(int(np.prod(shape)) for shape in shapes.values())
            self.actor = Mlp(inputs, hidden, actions)
            self.critic = Mlp(inputs, hidden, 1) if critic else nn.Identity()
        self._initialise()

    def _initialise(self) -> None:
        """Orthogonal weights; the last layer's are small, so all actions start about equally likely."""
        for part, last in ((self.actor, 0.01), (self.critic, 1.0)):
            layers = [layer for layer in part.modules() if isinstance(layer, nn.Linear)]
            for layer in layers:
                nn.init.orthogonal_(layer.weight, gain=last if layer is layers[-1] else 2**0.5)
                nn.init.zeros_(layer.bias)

    def start_from(self, agent: SavedAgent) -> None:
        """Copy the actor of a saved agent; `varying` also begins as a `sum` does.

        Features that the agent did not know have weights of 0. Raises InputError if the agent is another kind of network, or
        has other sizes.
        """
        state = self.actor.state_dict()
        weights = with_later_features(agent.weights, *self.widths, agent.context) if self.by_action else agent.weights
        saved = {name.removeprefix("actor."): torch.from_numpy(array) for name, array in weights.items()}
        if isinstance(self.actor, VaryingActor) and agent.network == "sum":
            saved["per_waiting"] = torch.zeros_like(state["per_waiting"])
        if {name: array.shape for name, array in state.items()} != {name: array.shape for name, array in saved.items()}:
            raise InputError(f"{agent.name}: its network is not of the kind and size that is to be trained")
        self.actor.load_state_dict(saved)

    def read(self, observation: Observation, mask: Tensor) -> Any:
        """The observation in the form that actor and critic take: `ValidActions`, or all arrays in one."""
        return valid_actions(observation, mask) if self.by_action else flattened(observation)

    def scores(self, read: Any, mask: Tensor) -> Tensor:
        """(E, A) the actor's score of every action; INVALID where the mask is 0."""
        scores: Tensor = self.actor(read)
        if self.by_action:
            return scores.new_full((mask.numel(),), INVALID).index_copy(0, read.place, scores).view_as(mask)
        return scores.masked_fill(mask == 0, INVALID)

    def values(self, read: Any) -> Tensor:
        """(E, 1) the critic's value."""
        value: Tensor = self.critic(read)
        return value

    def exported(self) -> Weights:
        """The actor's weights under the names that compiled inference knows."""
        return {f"actor.{name}": value.detach().cpu().numpy().copy() for name, value in self.actor.state_dict().items()}


def actor_of(kind: str, features: int, context: int, hidden: int, waiting: int | None) -> nn.Module:
    """The actor of a kind of network that scores every action by the same weights. Raises InputError if it cannot read these."""
    if kind == "linear":
        if features != FEATURES:
            raise ArgumentError("the linear network reads the features of sizes and servers: choose `network` sum or shared")
        return LinearActor()
    if kind == "varying":
        if waiting is None:
            raise ArgumentError("the varying network needs the number of waiting tasks, not in the context: choose `network` sum")
        return VaryingActor(features, context, waiting)
    return SharedActor(features, context, hidden) if kind == "shared" else SumActor(features, context)


def mask_of(observation: Observation, masks: Any = None) -> Tensor:
    """(E, A) float: 1 where an action is valid, by one of the `masks`, or else by the one in the observation.

    Where no action is valid (an episode that is over) all are 1, so that no probability is undefined.
    """
    if masks is not None:
        mask = torch.as_tensor(masks).float()
    else:
        mask = observation["action_mask"] if "action_mask" in observation else observation["actions"][:, :, VALID]
    return torch.where(mask.sum(dim=1, keepdim=True) > 0, mask, torch.ones_like(mask))
