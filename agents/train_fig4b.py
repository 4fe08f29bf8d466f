"""How an agent learns, from top to bottom in one file: PPO for ServerFill on figure 4(b)'s workload, one agent for all loads.

    python -m agents.train_fig4b --samples 16000000 --out fig4b

The same as `packenv train` with its defaults, without its checkpoints, evaluations and logs. PPO: Schulman et al., 2017;
advantages: GAE with a discount for every slot that passed, not for every step (packenv.learning.buffers).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import click
import numpy as np
import torch
from torch.nn.functional import mse_loss

import packenv
from packenv.envs.faces.sb3 import PackVecEnv
from packenv.learning.agents.description import describe
from packenv.learning.agents.saved import SavedAgent, save_agent
from packenv.learning.algorithms import CLIP, MAX_GRADIENT, VALUE_WEIGHT
from packenv.learning.buffers import advantages
from packenv.learning.networks import Network, mask_of
from packenv.learning.settings import Settings

LOADS = 0.85, 0.97  # each episode draws its own


@click.command()
@click.option("--samples", default=16_000_000, show_default=True)
@click.option("--envs", default=512, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--out", default="fig4b", show_default=True, help="The agent: OUT.safetensors and OUT.json.")
def main(samples: int, envs: int, seed: int, out: str) -> None:
    """Train one agent, compare it with BF-J/S, save it."""
    s = Settings(packenv.workload("paper/fig4b"), arrivals={"intensity": LOADS}, samples=samples, envs=envs, seed=seed)
    torch.manual_seed(seed)
    torch.set_num_threads(2)

    # clusters side by side; where more than 500 tasks wait, BF-J/S schedules and the agent is not asked
    env = PackVecEnv(s.environment, s.envs, bare=True, seed=seed, **s.env_options())
    net = Network(env.observation_space, int(env.core.rules.actions), s.network, s.hidden)
    optimizer = torch.optim.Adam(net.parameters(), lr=s.learning_rate, eps=1e-5)

    # one rollout: T steps of E clusters
    shape = s.steps, s.envs
    shapes = {name: space.shape or () for name, space in env.observation_space.spaces.items()}  # type: ignore[attr-defined]
    seen = {name: torch.zeros(*shape, *own) for name, own in shapes.items()}
    actions = torch.zeros(shape, dtype=torch.int64)
    log_probs, values, rewards = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
    elapsed, terminal, ended = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape, dtype=torch.bool)

    now = tensors(env.reset())
    env.stagger()
    began = time.monotonic()
    iterations = -(-samples // (s.steps * s.envs))
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = s.learning_rate * (1.0 - 0.9 * iteration / iterations)

        # act: draw from the softmax of the scores
        for t in range(s.steps):
            with torch.no_grad():
                probabilities, values[t], _ = look(net, now)
                actions[t] = torch.multinomial(probabilities.exp(), 1).squeeze(1)
            log_probs[t] = probabilities.gather(1, actions[t].unsqueeze(1)).squeeze(1)
            for name, array in now.items():
                seen[name][t] = array
            following, reward, done, _ = env.step(actions[t].numpy())
            now = tensors(following)
            rewards[t], elapsed[t], ended[t] = torch.from_numpy(reward), torch.from_numpy(env.elapsed), torch.from_numpy(done)
            if done.any():  # an endless workload is cut short, never done: what was to come still counts
                with torch.no_grad():
                    terminal[t, env.terminal_rows] = look(net, tensors(env.terminal_observations))[1]

        # how much better each action was than expected, with what comes later discounted by the slots until then
        with torch.no_grad():
            last = look(net, now)[1]
        discounts = torch.exp(-elapsed / s.timescale)
        rewards *= s.reward_scale
        given = [array.numpy() for array in (rewards, discounts, values, last, ended, terminal)]
        better = torch.from_numpy(advantages(*given, gae_lambda=s.gae_lambda))  # type: ignore[misc, arg-type]
        returns = better + values

        # learn: make better actions likelier, but not much in one go
        flat = {name: array.flatten(0, 1) for name, array in seen.items()}
        parts = [array.flatten() for array in (actions, log_probs, better, returns)]
        for _ in range(s.epochs):
            for chosen in torch.split(torch.randperm(actions.numel()), s.batch):
                action, old, advantage, wanted = (array[chosen] for array in parts)
                probabilities, value, entropy = look(net, {name: array[chosen] for name, array in flat.items()})
                ratio = torch.exp(probabilities.gather(1, action.unsqueeze(1)).squeeze(1) - old)
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                gain = torch.minimum(advantage * ratio, advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                loss = -gain - s.entropy * entropy.mean() + VALUE_WEIGHT * mse_loss(value, wanted)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(net.parameters(), MAX_GRADIENT)
                optimizer.step()
        if (iteration + 1) % max(iterations // 20, 1) == 0:
            made = (iteration + 1) * s.steps * s.envs
            speed = made / (time.monotonic() - began)
            waiting = env.core.batch.c.head["waiting"].mean()
            print(f"{made:,} samples, {speed:,.0f} per second, {waiting:.1f} waiting", file=sys.stderr, flush=True)

    # what came of it, on jobs that no cluster has seen
    about = describe(s, f"python -m agents.train_fig4b --samples {samples} --seed {seed}", samples, "last", {})
    agent = SavedAgent(out, about, net.exported())
    save_agent(out, about, net.exported())
    for load in (LOADS[0], sum(LOADS) / 2, LOADS[1]):
        workload = packenv.workload("paper/fig4b", intensity=load)
        queues = [np.mean([queue(workload, policy, n) for n in range(4)]) for policy in (agent, "bf-js")]
        print(f"intensity {load:.2f}: mean queue {queues[0]:.1f}, BF-J/S {queues[1]:.1f}, ratio {queues[0] / queues[1]:.3f}")


def look(net: Network, seen: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log-probabilities (E, A), values (E,) and entropies (E,)."""
    mask = mask_of(seen)
    read = net.read(seen, mask)
    probabilities = torch.log_softmax(net.scores(read, mask), dim=1)
    return probabilities, net.values(read).squeeze(1), -(probabilities.exp() * probabilities * mask).sum(dim=1)


def tensors(observation: Any) -> dict[str, torch.Tensor]:
    """NumPy's arrays as PyTorch's, without a copy."""
    return {name: torch.from_numpy(array) for name, array in observation.items()}


def queue(workload: packenv.Workload, policy: object, n: int) -> float:
    """Mean queue over a run of jobs."""
    return packenv.simulate(workload, policy, slots=200_000, seed=1_000_000 + n).mean_queue or 0.0


if __name__ == "__main__":
    main()
