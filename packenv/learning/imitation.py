"""Learning begins where a policy is: the actor is fitted to the actions that the policy takes in the environment.

An agent that starts with random actions overloads its clusters and then learns from overloaded clusters only; one that
starts near a sensible policy learns where queues are short, and evolution need not find what is known already.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from packenv.envs.core.features import VALID
from packenv.envs.interfaces.sb3 import PackVecEnv
from packenv.envs.policy_agents.agent import PolicyAgent
from packenv.envs.registration import find_definition
from packenv.errors import InputError
from packenv.learning.networks.layers import LinearActor, SumActor
from packenv.learning.networks.network import Network, mask_of
from packenv.learning.networks.valid_actions import random_valid
from packenv.learning.settings import EVOLUTION, Settings

SECONDS = 5.0  # between lines on how far it is


class Demonstrations(NamedTuple):
    """N decisions of a policy."""

    observations: dict[str, Tensor]  # observations, by name
    actions: Tensor  # (N,)

    def without_passing(self) -> Demonstrations:
        """The decisions in which it did not pass, and there were other actions, for an agent that may not (the last action)."""
        actions = self.observations["actions"].clone()
        actions[:, -1] = 0.0
        kept = (self.actions < actions.shape[1] - 1) & (actions[:, :, VALID].sum(dim=1) > 1)
        observations = self.observations | {"actions": actions}
        return Demonstrations({name: array[kept] for name, array in observations.items()}, self.actions[kept])


def demonstrations(env: PackVecEnv, policy: str, steps: int, say: Callable[[str], None] = print) -> Demonstrations:
    """The policy's decisions in `steps` steps of each environment; `say` gets lines on the progress.

    Decisions with a single valid action are left out, and so are those in which no valid action does what the policy
    does; the environment then takes some valid action. Raises InputError if the policy cannot drive the environment.
    """
    agent = PolicyAgent(policy, env)
    observation: Any = env.reset()
    observations: list[Any] = []
    chosen_actions: list[Any] = []
    reported = time.monotonic()
    for step in range(steps):
        if time.monotonic() - reported > SECONDS:
            reported = time.monotonic()
            say(f"watches {policy}: step {step:,} of {steps:,}, {env.num_envs} environments")
        masks = env.action_masks()
        actions, _ = agent.predict(observation)
        valid = masks[np.arange(env.num_envs), actions] & (masks.sum(axis=1) > 1)
        observations.append({name: array[valid] for name, array in observation.items()})
        chosen_actions.append(actions[valid])
        random = random_valid(torch.from_numpy(masks)).numpy()
        chosen = np.where(masks[np.arange(env.num_envs), actions], actions, random)
        observation, _, _, _ = env.step(chosen)
    stacked = {name: torch.from_numpy(np.concatenate([batch[name] for batch in observations])) for name in observation}
    return Demonstrations(stacked, torch.from_numpy(np.concatenate(chosen_actions)))


SPREAD = 0.1  # of the target's probability is spread evenly over all valid actions
EPOCHS, BATCH, RATE = 8, 1024, 3e-3
RIDGE = 1e-3
"""Times half the squared length of the weights: where a sum takes all of the policy's actions, none are likeliest."""
ITERATIONS = 200  # of L-BFGS


def fit(network: Network, demonstrations: Demonstrations, likeliest: bool = False) -> float:
    """Fit the actor; return the share of decisions in which it then takes the policy's action.

    If `likeliest`, a weighted sum gets the weights under which the policy's actions are likeliest (conditional logit);
    otherwise the target has SPREAD.
    """
    if isinstance(network.actor, SumActor | LinearActor):
        _fit_sum(network, demonstrations, 0.0 if likeliest else SPREAD)
    else:
        _fit_by_steps(network, demonstrations)
    with torch.no_grad():
        mask = mask_of(demonstrations.observations)
        actions = network.scores(network.read(demonstrations.observations, mask), mask).argmax(dim=1)
    return float((actions == demonstrations.actions).float().mean())


def _fit_sum(network: Network, demonstrations: Demonstrations, spread: float) -> None:
    """Minimise the mean cross-entropy, which is convex in the weights, from weights of 0, with 64-bit floats."""
    mask = mask_of(demonstrations.observations).double()
    rows = network.read({name: array.double() for name, array in demonstrations.observations.items()}, mask)
    target = _target(mask, demonstrations.actions, spread)
    actor = network.actor.double()
    weights = list(actor.parameters())
    for weight in weights:
        weight.data.zero_()
    optimizer = torch.optim.LBFGS(weights, max_iter=ITERATIONS, history_size=20, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = cross_entropy(network.scores(rows, mask), target)
        value = value + RIDGE / 2 * torch.stack([(weight**2).sum() for weight in weights]).sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    actor.float()


def _fit_by_steps(network: Network, demonstrations: Demonstrations) -> None:
    optimizer = torch.optim.Adam(network.actor.parameters(), lr=RATE)
    count = len(demonstrations.actions)
    for _ in range(EPOCHS):
        order = torch.randperm(count)
        for first in range(0, count, BATCH):
            chosen = order[first : first + BATCH]
            batch = {name: array[chosen] for name, array in demonstrations.observations.items()}
            mask = mask_of(batch)
            scores = network.scores(network.read(batch, mask), mask)
            loss = cross_entropy(scores, _target(mask, demonstrations.actions[chosen], SPREAD))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()


def _target(mask: Tensor, actions: Tensor, spread: float) -> Tensor:
    """(N, A) probabilities: 1 - spread of the policy's action, and spread over all valid ones."""
    target = spread * mask / mask.sum(dim=1, keepdim=True)
    return target.scatter_add_(1, actions.unsqueeze(1), torch.full_like(target[:, :1], 1 - spread))


ENVIRONMENTS, TABLES = 64, 4  # that the policy plays side by side
DRIVEN = {"JobFill": {"passing": True, "ask": "always"}}
"""Options with which a policy that knows jobs drives an environment exactly."""


def imitate_policy(settings: Settings, network: Network, say: Callable[[str], None] = print) -> str:
    """Fit the actor to `settings.imitate` on environments of their own, without a guard; return a line on how well it fits.

    For evolution the weights of a weighted sum become those under which the policy's actions are likeliest, with the largest
    weight 1, since its candidates take the action of the highest score; others give every valid action some probability,
    so that the agent still tries them. `say` is told what goes on. Raises InputError if the policy made no choice between
    actions, or cannot drive the environment.
    """
    assert settings.imitate is not None
    options = {key: value for key, value in settings.env_options().items() if key not in ("guard", "guard_limit")}
    options |= DRIVEN.get(settings.environment, {})
    most = TABLES if find_definition(settings.environment).follows_jobs else ENVIRONMENTS
    env = PackVecEnv(settings.environment, min(most, settings.envs), bare=True, **options)
    env.seed(settings.seed_after(1))
    shown: Demonstrations = demonstrations(env, settings.imitate, settings.imitation_steps, say)
    if not settings.own_options().get("passing", True):
        shown = shown.without_passing()
    if len(shown.actions) == 0:
        raise InputError(f"--imitate {settings.imitate}: it made no choice in {settings.imitation_steps} steps")
    share = fit(network, shown, likeliest=settings.algorithm == EVOLUTION)
    return f"imitates {settings.imitate}: the same action in {share:.1%} of {len(shown.actions):,} choices"


def scaled(network: Network) -> None:
    """Divide the actor's weights by the largest: the order of the scores of a weighted sum stays."""
    with torch.no_grad():
        largest = max(float(weights.abs().max()) for weights in network.actor.parameters())
        for weights in network.actor.parameters():
            weights.div_(max(largest, 1e-9))
