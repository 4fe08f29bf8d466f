"""Behaviour cloning: imitate the policy of a recorded dataset, and play both on the same new jobs.

    packenv record paper/fig4b --intensity 0.9 --policy bf-js --episodes 40 --out fig4b-bf-js-v0
    python examples/behaviour_cloning.py fig4b-bf-js-v0

Needs the extras `agents` and `offline`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import minari
import numpy as np
import torch
from torch import nn

from packenv.envs import PolicyAgent

HELD_OUT = 10**6  # seeds from here on are in no dataset


def load(dataset: minari.MinariDataset) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(N, features), (N,) actions and (N, actions) masks of all steps."""
    seen, actions, masks = [], [], []
    for episode in dataset:
        seen.append(torch.as_tensor(episode.observations[:-1], dtype=torch.float32))  # nothing is done after the last one
        actions.append(torch.tensor(episode.actions, dtype=torch.int64))
        masks.append(torch.tensor(episode.infos["action_mask"][:-1], dtype=torch.bool))
    return torch.cat(seen), torch.cat(actions), torch.cat(masks)


def clone(dataset: minari.MinariDataset, epochs: int, hidden: int = 64) -> nn.Module:
    """A network that gives each action a score; the recorded actions get the highest ones among those that are valid."""
    seen, actions, masks = load(dataset)
    network = nn.Sequential(nn.Linear(seen.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, masks.shape[1]))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    for epoch in range(epochs):
        right = 0
        for batch in torch.randperm(len(actions)).split(256):
            scores = network(seen[batch]).masked_fill(~masks[batch], -1e9)
            loss = nn.functional.cross_entropy(scores, actions[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            right += int((scores.argmax(dim=1) == actions[batch]).sum())
        if epoch % 10 == 0 or epoch == epochs - 1:
            print(f"epoch {epoch}: {right / len(actions):.1%} of the recorded actions")
    return network


def mean_return(env: gymnasium.Env[Any, Any], choose: Any, episodes: int) -> float:
    """Of the same jobs for every policy: those of the seeds from HELD_OUT on."""
    total = 0.0
    for seed in range(HELD_OUT, HELD_OUT + episodes):
        (seen, info), over = env.reset(seed=seed), False
        while not over:
            seen, reward, terminated, truncated, info = env.step(choose(seen, info))
            total, over = total + float(reward), terminated or truncated
    return total / episodes


def main() -> None:
    words = argparse.ArgumentParser(description="Behaviour cloning from a dataset that `packenv record` has written.")
    words.add_argument("dataset", type=Path, help="the folder that was given as --out")
    words.add_argument("--policy", default="bf-js", help="the policy that was recorded, to compare with")
    words.add_argument("--epochs", type=int, default=60)
    words.add_argument("--episodes", type=int, default=20, help="to compare on")
    given = words.parse_args()
    torch.manual_seed(0)
    dataset = minari.MinariDataset(given.dataset / "data")
    network = clone(dataset, given.epochs)
    env = dataset.recover_environment()
    rng, agent = np.random.default_rng(0), PolicyAgent(given.policy, env)

    def imitate(seen: Any, info: dict[str, Any]) -> int:
        values = torch.as_tensor(seen, dtype=torch.float32)
        with torch.no_grad():
            return int(network(values).masked_fill(torch.as_tensor(info["action_mask"]) == 0, -1e9).argmax())

    def any_valid(seen: Any, info: dict[str, Any]) -> int:
        return int(rng.choice(np.flatnonzero(info["action_mask"])))

    def as_recorded(seen: Any, info: dict[str, Any]) -> int:
        return int(agent.predict(seen)[0])

    players = {given.policy: as_recorded, "the clone": imitate, "random valid": any_valid}
    print(f"mean return of {given.episodes} episodes that are not in the dataset:")
    for name, choose in players.items():
        print(f"  {name}: {mean_return(env, choose, given.episodes):,.4g}")


if __name__ == "__main__":
    main()
