"""Train plain MaskablePPO to admit and preempt, and compare it with vLLM's rule on the same requests.

$ pip install sb3-contrib
$ python plugins/llm/examples/ppo_replica.py --steps 200000
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from packenv.extend import ratio_of_means
from packenv_llm.environment import ReplicaEnv
from packenv_llm.rules import find_rule
from packenv_llm.simulation import simulate

RULES = ("vllm", "vllm:watermark=0.02", "short-first")


def agent_times(env: ReplicaEnv, model: MaskablePPO, seed: int) -> tuple[float, float]:
    """Return the agent's mean times to the first and to the last token, in seconds."""
    observation, done = env.reset(seed=seed)[0], False
    while not done:
        action = model.predict(observation, action_masks=env.action_masks(), deterministic=True)[0]
        observation, _, done, _, _ = env.step(action)
    request = env.core.request
    return float((request["first"] - request["arrival"]).mean()), float((request["last"] - request["arrival"]).mean())


def rule_times(env: ReplicaEnv, rule: str, seed: int) -> tuple[float, float]:
    """Return a rule's mean times on the requests of `env.reset(seed=seed)`."""
    drawn = int(np.random.Generator(np.random.PCG64(seed)).integers(2**31))
    requests = env.source.draw(drawn, env.size, env.rate)
    run = simulate(requests, env.replica, find_rule(rule), seed)
    return float((run.first - requests.arrival).mean()), float((run.last - requests.arrival).mean())


def main() -> None:
    """Train, then print the agent's ratio to each rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200_000, help="decisions to learn from")
    parser.add_argument("--episodes", type=int, default=40, help="fresh episodes to compare on")
    parser.add_argument("--load", type=float, default=0.9, help="arrivals as a share of the bound")
    options = parser.parse_args()
    torch.set_num_threads(1)
    env = ReplicaEnv(load=options.load)
    # A table of the reward per episode every ten rollouts of 2,048 decisions.
    model = MaskablePPO("MlpPolicy", env, seed=0, device="cpu", verbose=1).learn(options.steps, log_interval=10)
    print(f"comparing on {options.episodes} fresh episodes …", flush=True)
    seeds = range(10_000, 10_000 + options.episodes)
    agent = np.array([agent_times(env, model, seed) for seed in seeds])  # (episodes, 2)
    for rule in RULES:
        other = np.array([rule_times(env, rule, seed) for seed in seeds])
        first, last = (ratio_of_means(agent[:, column], other[:, column]) for column in (0, 1))
        print(f"MaskablePPO over {rule}: mean TTFT {first}, mean E2E {last}")


if __name__ == "__main__":
    main()
