"""Learning begins where a policy is: the actor is fitted to the actions that the policy takes in the environment.

An agent that starts with random actions overloads its clusters and then learns from overloaded clusters only; one that
starts near a sensible policy learns where queues are short, and evolution need not find what is known already.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from packenv.envs.interfaces.sb3 import PackVecEnv
from packenv.envs.registration import find_definition
from packenv.errors import InputError
from packenv.learning.imitation.demonstrations import Demonstrations, demonstrations
from packenv.learning.imitation.fit import fit
from packenv.learning.networks.network import Network
from packenv.learning.settings import EVOLUTION, Settings

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
