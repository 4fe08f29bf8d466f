"""How much better actions were than expected, when time passes between decisions.

A decision that starts a task takes no time and another takes a hundred slots, so rewards are discounted by the slots that
passed, γ_t = exp(−elapsed_t / timescale): with a constant discount per step the value of a state would depend on how many
tasks start at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
KEPT = 0.9  # of the weight of older rollouts in the average reward, per rollout


class AverageReward:
    """The running average r̄ = Σ reward / Σ elapsed slots over all environments; older rollouts weigh KEPT less each time.

    With it the agent maximises the long-run reward per slot: a step is worth reward − r̄·elapsed and nothing is
    discounted, so the critic estimates the bias (relative value) of a state. There is one r̄ for all environments; where
    each episode draws its own load, it is the average over the loads.
    """

    def __init__(self) -> None:
        self.reward = self.elapsed = 0.0

    def update(self, rewards: Floats, elapsed: Floats) -> float:
        """Add a rollout and return r̄ with it."""
        self.reward = KEPT * self.reward + float(rewards.sum(dtype=np.float64))
        self.elapsed = KEPT * self.elapsed + float(elapsed.sum(dtype=np.float64))
        return self.rate

    @property
    def rate(self) -> float:
        """r̄, reward per slot."""
        return self.reward / max(self.elapsed, 1.0)


def advantages(
    rewards: Floats,
    discounts: Floats,
    values: Floats,
    last: Floats,
    ended: NDArray[np.bool_],
    terminal: Floats,
    gae_lambda: float,
) -> Floats:
    """(T, E) advantages A_t = δ_t + γ_t λ A_{t+1} with δ_t = r_t + γ_t V_{t+1} − V_t (GAE, arXiv 1506.02438).

    Where an episode ends with step t, V_{t+1} is `terminal` (0 if the episode is over, the value of its last state if it
    was cut short) and no later advantage counts. `last` (E,): the values after the last step.
    """
    result = np.zeros_like(values)
    after = np.zeros_like(last)
    following = last
    for t in reversed(range(len(rewards))):
        following = np.where(ended[t], terminal[t], following)
        delta = rewards[t] + discounts[t] * following - values[t]
        after = delta + discounts[t] * gae_lambda * np.where(ended[t], 0.0, after)
        result[t] = after
        following = values[t]
    return result
