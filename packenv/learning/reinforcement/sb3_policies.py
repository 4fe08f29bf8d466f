"""The networks as Stable-Baselines3's policies: the network's scores are the logits, or the action values.

The masked softmax and its entropy are computed here, since Stable-Baselines3's objects for distributions cost more time
than the network.
"""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from packenv.learning.networks.network import Network, mask_of


class NetworkPolicy:
    """What the actor-critic policies have in common; `net_arch` is what `form_of` returns."""

    network: Network

    def _build(self: Any, lr_schedule: Schedule) -> None:
        self.network = Network(self.observation_space, int(self.action_space.n), **self.net_arch)
        self.action_net = self.value_net = nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def forward(self, obs: Any, deterministic: bool = False, action_masks: Any = None) -> tuple[Tensor, Tensor, Tensor]:
        """Actions (E,), values (E, 1) and log-probabilities (E,)."""
        values, logits, _ = self._both(obs, action_masks)
        actions = _chosen(logits, deterministic)
        return actions, values, logits.gather(1, actions.unsqueeze(1)).squeeze(1)

    def evaluate_actions(self, obs: Any, actions: Tensor, action_masks: Any = None) -> tuple[Tensor, Tensor, Tensor]:
        """Values (E, 1), log-probabilities of the actions (E,) and the entropy (E,)."""
        values, logits, mask = self._both(obs, action_masks)
        entropy = -(logits.exp() * logits * mask).sum(dim=1)
        return values, logits.gather(1, actions.unsqueeze(1)).squeeze(1), entropy

    def _predict(self, observation: Any, deterministic: bool = False, action_masks: Any = None) -> Tensor:
        return _chosen(self._both(observation, action_masks)[1], deterministic)

    def _both(self, obs: Any, action_masks: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Values (E, 1), log-probabilities (E, A) and the mask."""
        mask = mask_of(obs, action_masks)
        read = self.network.read(obs, mask)
        return self.network.values(read), torch.log_softmax(self.network.scores(read, mask), dim=1), mask

    def predict_values(self, obs: Any) -> Tensor:
        """(E, 1) values of the states."""
        return self.network.values(self.network.read(obs, mask_of(obs)))


def _chosen(logits: Tensor, deterministic: bool) -> Tensor:
    if deterministic:
        return logits.argmax(dim=1)
    noise = torch.empty_like(logits).exponential_()  # the largest of logits - log(noise) is a draw from the softmax
    return (logits - noise.log()).argmax(dim=1)


class MaskablePolicy(NetworkPolicy, MaskableActorCriticPolicy):  # type: ignore[misc]
    """For MaskablePPO."""


class PlainPolicy(NetworkPolicy, ActorCriticPolicy):  # type: ignore[misc]
    """For PPO and A2C: masked all the same, by the mask in the observation."""


class ActionValues(QNetwork):
    """DQN's network: the scores are the action values."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Discrete, **arguments: Any) -> None:
        form = arguments.pop("net_arch")
        super().__init__(observation_space, action_space, net_arch=[], **arguments)
        self.q_net = nn.Sequential()  # replaced by:
        self.network = Network(observation_space, int(action_space.n), critic=False, **form)

    def forward(self, obs: Any) -> Tensor:
        """(E, A) action values."""
        mask = mask_of(obs)
        return self.network.scores(self.network.read(obs, mask), mask)


class ValuesPolicy(DQNPolicy):
    """For DQN."""

    def make_q_net(self) -> QNetwork:
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return ActionValues(**arguments).to(self.device)


POLICIES: dict[str, Any] = {"maskable-ppo": MaskablePolicy, "ppo": PlainPolicy, "a2c": PlainPolicy, "dqn": ValuesPolicy}
EXTRACTOR = {"features_extractor_class": FlattenExtractor}  # has no weights, and is not used


def network_of(policy: Any) -> Network:
    """The network of a policy of this module."""
    holder: Any = policy.q_net if isinstance(policy, DQNPolicy) else policy
    network: Network = holder.network
    return network
