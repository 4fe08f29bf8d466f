"""Datasets for offline learning, in Minari's form.

They hold episodes of a policy on an environment, with masks and reference scores. They are Arrow files and JSON, so loading
one executes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from packenv import __version__
from packenv.envs.policy_agents.agent import PolicyAgent
from packenv.errors import InputError, library_needed
from packenv.files import atomic_path, whole_folder
from packenv.runs.agent_score import chooser as model_chooser

RANDOM = "random"
"""Policy name for uniformly random valid actions."""

BEST = "bf-js"
"""Policy of the upper reference score. RANDOM gives the lower one."""

FRAMES, FRAME_MS, LAST_MS = 120, 80, 2000  # of a film, milliseconds
COLOURS = 64
DATA = "data"  # the folder in a dataset's folder that Minari reads
Choose = Callable[[Any, dict[str, Any]], int]


class Recorded(NamedTuple):
    """Counts and scores of a dataset."""

    episodes: int
    steps: int
    mean_return: float
    reference_scores: dict[str, float]  # mean return of RANDOM and BEST on the same jobs


class Episode(NamedTuple):
    """One episode: T steps, T + 1 observations and infos."""

    seed: int
    observations: dict[str, NDArray[Any]] | NDArray[Any]  # (T + 1, …), each of them
    actions: NDArray[np.int64]  # (T,)
    rewards: NDArray[np.float64]  # (T,)
    terminated: bool
    truncated: bool
    infos: dict[str, NDArray[Any]]  # each (T + 1, …)


def record(
    env: gymnasium.Env[Any, Any],
    policy: str,
    folder: str | Path,
    seeds: Sequence[int],
    ended: Callable[[], None] = lambda: None,
    description: str = "",
) -> Recorded:
    """Write a Minari dataset of the episodes of these seeds.

    The folder is new, and written whole or not at all.
    env        made by `gymnasium.make` with options that JSON can hold, so that the dataset can make it again
    policy     a name ("bf-js", "agent:fig4b"), or RANDOM
    folder     named like the dataset: NAME-vN
    ended      called after each of the 3 · len(seeds) episodes: of the dataset and of the two reference policies
    Raises InputError if the policy cannot play the environment, or the folder cannot be written.
    """
    minari = minari_library()
    out = Path(folder)
    check_name(out)
    actions = {name: chooser(env, name) for name in dict.fromkeys((policy, RANDOM, BEST))}
    if env.spec is None:
        raise InputError("a dataset is recorded on an environment that gymnasium.make has made")
    means = {RANDOM: 0.0, BEST: 0.0}
    with whole_folder(out) as temporary:
        (temporary / DATA).mkdir()
        storage = minari.dataset.minari_storage.MinariStorage.new(
            temporary / DATA,
            observation_space=env.observation_space,
            action_space=env.action_space,
            env_spec=env.spec,
            data_format="arrow",
        )
        returns, steps = [], 0
        for seed in seeds:
            episode = play(env, actions[policy], seed)
            storage.update_episodes([_buffer(minari, episode)])
            returns.append(float(episode.rewards.sum()))
            steps += len(episode.actions)
            ended()
        for name in means:
            if name == policy:
                means[name] = fmean(returns)
                continue
            scores = []
            for seed in seeds:
                scores.append(float(play(env, actions[name], seed).rewards.sum()))
                ended()
            means[name] = fmean(scores)
        about = description or f"{policy} on {env.spec.id}"
        storage.update_metadata(
            {
                "dataset_id": out.name,
                "minari_version": minari.__version__,
                "algorithm_name": policy,
                "description": about,
                "requirements": [f"packenv>={__version__}"],
                "ref_min_score": means[RANDOM],
                "ref_max_score": means[BEST],
                "num_episodes_average_score": len(seeds),
                "reference_scores": {f"{RANDOM} valid": means[RANDOM], BEST: means[BEST]},
                "mean_return": fmean(returns),
                "seeds": [int(seed) for seed in seeds],
            }
        )
    return Recorded(len(seeds), steps, fmean(returns), means)


def film(env: gymnasium.Env[Any, Any], policy: Any, path: str | Path, seed: int = 0, frames: int = FRAMES) -> int:
    """Write a GIF of a seed's episode and return its number of frames.

    There are `frames` to twice as many, equally spaced in slots as far as decisions allow.
    env     made with `render_mode="rgb_array"`
    policy  a name ("bf-js", "agent:fig4b"), a model with `predict`, or RANDOM
    Raises InputError if the policy cannot play the environment, or the file cannot be written.
    """
    from PIL import Image

    if env.render_mode != "rgb_array":
        raise InputError('a film needs an environment made with render_mode="rgb_array"')
    choose = chooser(env, policy)
    observation, info = env.reset(seed=seed)
    pictures: list[Any] = []
    apart, due, steps, over = 1, 0, 0, False  # slots between pictures, the slot of the next one
    while True:
        if over or info["slot"] >= due:
            pictures.append(Image.fromarray(np.asarray(env.render())).quantize(COLOURS))
            due = int(info["slot"]) // apart * apart + apart
        # Too many frames: drop every second one, and double the distance.
        if len(pictures) >= 2 * frames:
            pictures, apart = pictures[::2], 2 * apart
        if over:
            break
        observation, _, terminated, truncated, info = env.step(choose(observation, {**info, "steps": steps}))
        steps, over = steps + 1, terminated or truncated
    with atomic_path(path) as temporary:
        lasts = [FRAME_MS] * (len(pictures) - 1) + [LAST_MS]
        pictures[0].save(temporary, "GIF", save_all=True, append_images=pictures[1:], duration=lasts, loop=0, optimize=False)
    return len(pictures)


def minari_library() -> Any:
    """Return Minari. Raises InputError if it is not installed."""
    try:
        import minari
        import minari.dataset.minari_storage
    except ImportError as error:
        raise InputError(library_needed("recording", "offline", error)) from None
    return minari


def check_name(folder: Path) -> None:
    """Raise InputError unless the name is valid for a dataset, and new."""
    stem, _, version = folder.name.rpartition("-v")
    if not (version.isascii() and version.isdigit()) or not stem.replace("-", "").replace("_", "").isalnum():
        raise InputError(f"{folder}: the name of a dataset is NAME-vN, such as fig4b-bf-js-v0")
    if folder.exists() or folder.is_symlink():
        raise InputError(f"{folder}: exists already: choose another name")


def chooser(env: gymnasium.Env[Any, Any], policy: Any) -> Choose:
    """Return the function that chooses a policy's or model's actions.

    See `packenv.evaluate_agent`. Raises InputError for an unknown policy, or one that cannot play the environment.
    """
    if isinstance(policy, str) and policy == RANDOM:
        return _random_valid
    if not isinstance(policy, type) and (hasattr(policy, "predict") or callable(policy)):
        choose = model_chooser(policy)
        return lambda observation, info: int(choose(_as_batch(observation), np.asarray(info["action_mask"])[None])[0])
    agent = PolicyAgent(policy, env)
    return lambda observation, info: int(agent.predict(observation)[0])


def _as_batch(observation: Any) -> Any:
    """Return an observation as a batch of one environment."""
    return {name: value[None] for name, value in observation.items()} if isinstance(observation, dict) else observation[None]


def _random_valid(observation: Any, info: dict[str, Any]) -> int:
    """Return a random valid action, fixed by seed and step."""
    rng = np.random.default_rng((info["seed"], info["steps"]))
    return int(rng.choice(np.flatnonzero(info["action_mask"])))


def play(env: gymnasium.Env[Any, Any], choose: Choose, seed: int) -> Episode:
    observation, info = env.reset(seed=seed)
    observations, infos = [observation], [info]
    actions: list[int] = []
    rewards: list[float] = []
    terminated = truncated = False
    while not (terminated or truncated):
        actions.append(choose(observation, {**info, "steps": len(actions)}))
        observation, reward, terminated, truncated, info = env.step(actions[-1])
        observations.append(observation)
        infos.append(info)
        rewards.append(float(reward))
    return Episode(
        seed,
        stacked(observations) if isinstance(observation, dict) else np.stack(observations),
        np.array(actions, np.int64),
        np.array(rewards, np.float64),
        terminated,
        truncated,
        stacked(infos),
    )


def stacked(steps: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays (steps, …) by name."""
    return {name: np.stack([np.asarray(step[name]) for step in steps]) for name in steps[0]}


def _buffer(minari: Any, episode: Episode) -> Any:
    """Return the episode in Minari's form."""
    ends = np.arange(1, len(episode.actions) + 1) == len(episode.actions)
    return minari.data_collector.EpisodeBuffer(
        seed=episode.seed,
        observations=episode.observations,
        actions=episode.actions,
        rewards=episode.rewards,
        terminations=ends & episode.terminated,
        truncations=ends & episode.truncated,
        infos={name: values if values.ndim > 1 else values.tolist() for name, values in episode.infos.items()},
    )
