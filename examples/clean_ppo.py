"""PPO in one file in CleanRL's style, with its hyper-parameters but the discount, without masks.

Only `compare` uses packenv: it plays the agent, the first valid action and BF-J/S on the same jobs.
Run `python examples/clean_ppo.py --seed 1`. It takes about two minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Categorical

import packenv

Choose = Callable[[NDArray[np.float32], dict[str, Any]], NDArray[np.int64]]


@dataclass(frozen=True)
class Settings:
    """CleanRL's defaults for `ppo.py`, except the discount: what an action does shows within some ten decisions."""

    env_id: str = "packenv/ServerFill-v1"
    seed: int = 1
    total_timesteps: int = 500_000
    num_envs: int = 4
    num_steps: int = 128  # of each environment, between two updates
    learning_rate: float = 2.5e-4  # falls to 0
    minibatches: int = 4
    epochs: int = 4
    gamma: float = 0.9  # of CleanRL 0.99
    gae_lambda: float = 0.9  # 0.95
    clip: float = 0.2
    entropy: float = 0.01
    value: float = 0.5
    max_grad_norm: float = 0.5


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """A linear layer with orthogonal weights and no bias at first."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    """An actor and a critic, each with two hidden layers of 64 units."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.critic = nn.Sequential(layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))
        self.actor = nn.Sequential(layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, actions, 0.01))

    def value(self, seen: Tensor) -> Tensor:
        """(N,) how much reward is to come."""
        value: Tensor = self.critic(seen).squeeze(-1)
        return value

    def policy(self, seen: Tensor) -> Any:
        """The probabilities of the actions: a Categorical."""
        return Categorical(logits=self.actor(seen), validate_args=False)


def train(s: Settings, report: Callable[[int, float], None] = lambda step, episode: None) -> Agent:
    """Train an agent; `report` is told the steps so far and the return of each episode that ends."""
    torch.set_num_threads(1)  # the networks are small: more threads would wait for each other
    torch.manual_seed(s.seed)
    rng = np.random.default_rng(s.seed)
    begin_again = {"autoreset_mode": AutoresetMode.SAME_STEP}
    envs = gym.make_vec(s.env_id, num_envs=s.num_envs, vectorization_mode="sync", vector_kwargs=begin_again)
    inputs = int(np.prod(envs.single_observation_space.shape or ()))
    agent = Agent(inputs, int(envs.single_action_space.n))  # type: ignore[attr-defined]
    optimiser = torch.optim.Adam(agent.parameters(), lr=s.learning_rate, eps=1e-5)

    shape = s.num_steps, s.num_envs
    seen, actions = torch.zeros(*shape, inputs), torch.zeros(shape)
    logprobs, rewards, dones, values = (torch.zeros(shape) for _ in range(4))
    following, _ = envs.reset(seed=s.seed)
    observation, done, total = torch.as_tensor(following), torch.zeros(s.num_envs), np.zeros(s.num_envs)
    batch = s.num_steps * s.num_envs
    updates = s.total_timesteps // batch

    for update in range(updates):
        optimiser.param_groups[0]["lr"] = s.learning_rate * (1 - update / updates)
        for t in range(s.num_steps):
            seen[t], dones[t] = observation, done
            with torch.no_grad():
                policy = agent.policy(observation)
                actions[t] = policy.sample()
                logprobs[t], values[t] = policy.log_prob(actions[t]), agent.value(observation)
            following, reward, terminated, truncated, _ = envs.step(actions[t].long().numpy())
            rewards[t] = torch.as_tensor(reward)
            observation, done = torch.as_tensor(following), torch.as_tensor(terminated | truncated).float()
            total += reward
            for row in np.flatnonzero(terminated | truncated):
                report(update * batch + (t + 1) * s.num_envs, float(total[row]))
                total[row] = 0

        with torch.no_grad():  # generalised advantage estimation
            advantages, last = torch.zeros(shape), torch.zeros(s.num_envs)
            next_value, next_done = agent.value(observation), done
            for t in reversed(range(s.num_steps)):
                delta = rewards[t] + s.gamma * next_value * (1 - next_done) - values[t]
                advantages[t] = last = delta + s.gamma * s.gae_lambda * (1 - next_done) * last
                next_value, next_done = values[t], dones[t]
            returns = advantages + values

        kept = seen, actions, logprobs, advantages, returns, values
        flat = [array.flatten(0, 1) for array in kept]
        for _ in range(s.epochs):
            for rows in np.split(rng.permutation(batch), s.minibatches):
                loss = loss_of(agent, s, *(array[rows] for array in flat))
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), s.max_grad_norm)
                optimiser.step()
    envs.close()
    return agent


def loss_of(
    agent: Agent, s: Settings, seen: Tensor, actions: Tensor, old: Tensor, gained: Tensor, returns: Tensor, values: Tensor
) -> Tensor:
    """The clipped loss of a minibatch."""
    policy, value = agent.policy(seen), agent.value(seen)
    ratio = (policy.log_prob(actions) - old).exp()
    gained = (gained - gained.mean()) / (gained.std() + 1e-8)
    of_policy = -torch.min(gained * ratio, gained * ratio.clamp(1 - s.clip, 1 + s.clip)).mean()
    clipped = values + (value - values).clamp(-s.clip, s.clip)
    of_value = 0.5 * torch.max((value - returns) ** 2, (clipped - returns) ** 2).mean()
    return of_policy - s.entropy * policy.entropy().mean() + s.value * of_value


def compare(agent: Agent, env_id: str, slots: int, seeds: Sequence[int]) -> dict[str, list[float]]:
    """The mean queue of each seed, all on the same jobs: of the agent, of its likeliest actions, of two rules."""

    def sampled(seen: NDArray[np.float32], info: dict[str, Any]) -> NDArray[np.int64]:
        with torch.no_grad():
            return agent.policy(torch.as_tensor(seen)).sample().numpy()

    def likeliest(seen: NDArray[np.float32], info: dict[str, Any]) -> NDArray[np.int64]:
        with torch.no_grad():
            return agent.actor(torch.as_tensor(seen)).argmax(dim=1).numpy()

    def first_valid(seen: NDArray[np.float32], info: dict[str, Any]) -> NDArray[np.int64]:
        return info["action_mask"].argmax(axis=1)

    def random_valid(seen: NDArray[np.float32], info: dict[str, Any]) -> NDArray[np.int64]:
        return (info["action_mask"] * rng.random(info["action_mask"].shape)).argmax(axis=1)

    rng = np.random.default_rng(0)
    rules = {"ppo": sampled, "ppo, likeliest": likeliest, "first valid": first_valid, "random valid": random_valid}
    found = {name: mean_queues(env_id, choose, slots, seeds) for name, choose in rules.items()}
    workload = packenv.workload("paper/fig4b")
    runs: list[Any] = [packenv.simulate(workload, "bf-js", slots=slots, seed=seed, warmup=0) for seed in seeds]
    found["bf-js"] = [float(run.mean_queue) for run in runs]
    return found


def mean_queues(env_id: str, choose: Choose, slots: int, seeds: Sequence[int]) -> list[float]:
    """The mean queue of an episode of so many slots for each seed."""
    options: dict[str, Any] = {"horizon": slots, "waiting_limit": 100_000}
    envs: Any = gym.make_vec(env_id, num_envs=len(seeds), vectorization_mode="vector_entry_point", **options)
    seen, info = envs.reset(seed=list(seeds))
    queues: NDArray[np.float64] = np.full(len(seeds), np.nan)
    while np.isnan(queues).any():
        seen, _, _, truncated, info = envs.step(choose(seen, info))
        queues = np.where(truncated & np.isnan(queues), info["mean_queue"], queues)
    return [float(queue) for queue in queues]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env-id", default=Settings.env_id)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    parser.add_argument("--total-timesteps", type=int, default=Settings.total_timesteps)
    parser.add_argument("--slots", type=int, default=200_000, help="of each run of the comparison")
    parser.add_argument("--runs", type=int, default=8, help="seeds of the comparison, from 1,000,000 on")
    parser.add_argument("--json", help="a file for the learning curve and the comparison")
    given = parser.parse_args(arguments)
    settings = Settings(given.env_id, given.seed, given.total_timesteps)
    started, curve = time.perf_counter(), []

    def report(step: int, episode: float) -> None:
        curve.append((step, episode))
        if len(curve) % 50 == 0:
            mean = np.mean([episode for _, episode in curve[-50:]])
            print(f"{step:,} steps, {time.perf_counter() - started:.0f} s: mean return {mean:.1f}", flush=True)

    agent = train(settings, report)
    found = compare(agent, given.env_id, given.slots, range(1_000_000, 1_000_000 + given.runs))
    for name, queues in found.items():
        print(f"{name}: mean queue {np.mean(queues):.2f}, {np.mean(queues) / np.mean(found['bf-js']):.3f} times that of bf-js")
    if given.json:
        record = {"env_id": given.env_id, "seed": given.seed, "curve": curve, "mean_queue": found}
        Path(given.json).write_text(json.dumps(record))


if __name__ == "__main__":
    main()
