"""Imitation: the weighted sum is fitted to a policy's actions.

An agent that starts with random actions overloads its clusters and learns from overloaded clusters only. An agent near a sensible
policy learns with short queues, and evolution need not find the policy again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from packenv.envs.core.definition import Layout
from packenv.envs.core.features import VALID
from packenv.envs.policy_agents.agent import PolicyAgent
from packenv.envs.registration import find_definition, find_vector_class
from packenv.errors import InputError
from packenv.learning.settings import Settings
from packenv.learning.weighted_sums import Doubles, Observation, terms

SECONDS = 5.0  # between lines on how far it is
RIDGE = 1e-3
"""Times half the squared length of the weights: where a sum takes all of the policy's actions, none are likeliest."""
ENVIRONMENTS, TABLES = 64, 4  # that the policy plays side by side
DRIVEN = {"JobFill": {"passing": True, "ask": "always"}}
"""Options with which a policy that knows jobs drives an environment exactly."""


class Demonstrations(NamedTuple):
    """N decisions of a policy."""

    observations: Observation
    actions: NDArray[np.int64]  # (N,)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Return which actions were valid, (N, A)."""
        return self.observations["actions"][:, :, VALID] > 0

    def without_passing(self) -> Demonstrations:
        """Return decisions with a choice without passing (the last action)."""
        actions = self.observations["actions"].copy()
        actions[:, -1] = 0.0
        chosen = (self.actions < actions.shape[1] - 1) & ((actions[:, :, VALID] > 0).sum(axis=1) > 1)
        observations = {**self.observations, "actions": actions}
        return Demonstrations({name: array[chosen] for name, array in observations.items()}, self.actions[chosen])


def demonstrations(env: Any, policy: str, steps: int, say: Callable[[str], None], seed: int) -> Demonstrations:
    """Return a policy's decisions in `steps` steps per environment.

    Decisions with a single valid action are left out, and decisions that no valid action can carry out: then the environment
    takes some valid action. `say` receives progress. Raises InputError if the policy cannot drive the environment.
    """
    agent, random = PolicyAgent(policy, env), np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    observations: list[Observation] = []
    chosen_actions: list[NDArray[np.int64]] = []
    reported, rows = time.monotonic(), np.arange(env.num_envs)
    for step in range(steps):
        if time.monotonic() - reported > SECONDS:
            reported = time.monotonic()
            say(f"watches {policy}: step {step:,} of {steps:,}, {env.num_envs} environments")
        masks = env.action_masks()
        actions, _ = agent.predict(observation)
        informative = masks[rows, actions] & (masks.sum(axis=1) > 1)
        observations.append({name: array[informative] for name, array in observation.items()})
        chosen_actions.append(actions[informative])
        instead = (random.random(masks.shape) * masks).argmax(axis=1)
        observation, *_ = env.step(np.where(masks[rows, actions], actions, instead))
    stacked = {name: np.concatenate([batch[name] for batch in observations]) for name in observation}
    return Demonstrations(stacked, np.concatenate(chosen_actions))


def fit(kind: str, layout: Layout, examples: Demonstrations) -> tuple[Doubles, float]:
    """Return likeliest weights (conditional logit), and their share of matches."""
    features, valid, rows = terms(kind, layout, examples.observations), examples.valid, np.arange(len(examples.actions))

    def loss(weights: Doubles) -> tuple[float, Doubles]:
        likely = log_softmax(np.where(valid, features @ weights, -np.inf), axis=1)
        slope = np.exp(likely)
        slope[rows, examples.actions] -= 1.0
        value = -likely[rows, examples.actions].mean() + RIDGE / 2 * (weights @ weights)
        return float(value), np.einsum("na,nak->k", slope, features) / len(rows) + RIDGE * weights

    weights = minimize(loss, np.zeros(features.shape[2]), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    taken = np.where(valid, features @ weights, -np.inf).argmax(axis=1)
    return weights, float((taken == examples.actions).mean())


def imitate_policy(settings: Settings, layout: Layout, say: Callable[[str], None]) -> tuple[Doubles, str]:
    """Return weights that imitate, at most 1, and the fit (InputError)."""
    assert settings.imitate is not None
    options = {key: value for key, value in settings.env_options().items() if key not in ("guard", "guard_limit")}
    options |= DRIVEN.get(settings.environment, {})
    count = TABLES if find_definition(settings.environment).follows_jobs else ENVIRONMENTS
    env = find_vector_class(settings.environment)(count, autoreset_mode="SameStep", **options)
    examples = demonstrations(env, settings.imitate, settings.imitation_steps, say, settings.seed_after(1))
    if not settings.own_options().get("passing", True):
        examples = examples.without_passing()
    if len(examples.actions) == 0:
        raise InputError(f"--imitate {settings.imitate}: it made no choice in {settings.imitation_steps} steps")
    weights, share = fit(settings.network, layout, examples)
    line = f"imitates {settings.imitate}: the same action in {share:.1%} of {len(examples.actions):,} choices"
    return weights / max(float(np.abs(weights).max()), 1e-9), line
