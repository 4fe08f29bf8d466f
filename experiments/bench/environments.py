"""The rows of `packenv bench` for environments: speed single, batched and in Stable-Baselines3, and memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from packenv.envs.registration import FORMER, id_of

BATCH, SB3_BATCH = 1024, 512
MOST_MEMORY = 64 * 1024  # bytes per environment
MOST_OVERHEAD = 0.10  # of MaskablePPO's loop


class EnvEffort(NamedTuple):
    """How often and for how long each environment is measured."""

    repeats: int
    single_steps: int
    batch_steps: int
    samples: int


QUICK = EnvEffort(1, 20_000, 100, 2 * SB3_BATCH * 32)
FULL = EnvEffort(3, 100_000, 300, 4 * SB3_BATCH * 64)

Measured = tuple[str, str, float, str, float | None, float | None]
"""Group, what, measured, unit, ratio, target of the ratio."""


def environment_rows(
    yardstick: Callable[[], float], effort: EnvEffort, say: Callable[[str], None], sb3: bool = True
) -> Iterator[Measured]:
    """All rows. The yardstick is measured again next to each row, so that a busy machine slows both."""
    group = "environments"
    for kind in ("ServerFill", "Placement"):
        say(f"one {kind}")
        speed, ratio = _beside(yardstick, partial(single_speed, kind, effort.single_steps), effort.repeats)
        yield group, f"{kind}: one, through gym.make", speed, "steps/s", ratio, 1.0
    for kind, observation, target in (
        ("Placement", "full", 8.0),
        ("Placement", "compact", 8.0),
        ("ServerFill", "full", 3.0),
        ("ServerFill", "compact", 3.0),
        ("Configuration", "full", None),
    ):
        say(f"{BATCH:,} of {kind}")
        speed, ratio = _beside(yardstick, partial(batched_speed, kind, observation, effort.batch_steps), effort.repeats)
        yield group, f"{kind}: {BATCH:,} in a batch, {observation}", speed, "decisions/s", ratio, target
    say("memory")
    size = memory("Placement", waiting=500)
    yield group, "Placement: memory per environment, 500 waiting", size / 1024, "kB", MOST_MEMORY / size, 1.0
    if sb3:
        say("Stable-Baselines3")
        total, environment = sb3_overhead(effort.samples)
        share = environment / (total - environment)
        yield group, f"MaskablePPO, {SB3_BATCH} of ServerFill: the environment's share", share, "", MOST_OVERHEAD / share, 1.0


def _beside(yardstick: Callable[[], float], measure: Callable[[], float], repeats: int) -> tuple[float, float]:
    """The best speed, and the best ratio to the faster of the yardsticks measured just before and just after."""
    speeds, ratios = [], []
    for _ in range(repeats):
        before = yardstick()
        speed = measure()
        speeds.append(speed)
        ratios.append(speed / max(before, yardstick()))
    return max(speeds), max(ratios)


def single_speed(kind: str, steps: int) -> float:
    """Steps per second of one environment through `gymnasium.make`, always the first valid action."""
    import gymnasium

    import packenv  # noqa: F401  (registers)

    env = gymnasium.make(id_of(kind), **FORMER[kind], servers=5, J=4)
    _, info = env.reset(seed=0)
    chosen, spent, done = int(info["action_mask"].argmax()), 0.0, 0
    while done < steps:
        began = time.perf_counter()
        for _ in range(100):  # the time includes the choice of the action
            _, _, terminated, truncated, info = env.step(chosen)
            chosen = int(info["action_mask"].argmax())
            if terminated or truncated:
                _, info = env.reset()
                chosen = int(info["action_mask"].argmax())
        spent += time.perf_counter() - began
        done += 100
    return done / spent


def batched_speed(kind: str, observation: str, steps: int) -> float:
    """Decisions per second of a batch after `steps` warm-up steps: jobs, observations, masks and resets included."""
    env = _batch(kind, BATCH, observation=observation)
    _, info = env.reset(seed=0)
    spent = 0.0
    for n in range(2 * steps):
        actions = info["action_mask"].argmax(axis=1)
        began = time.perf_counter()
        *_, info = env.step(actions)
        if n >= steps:
            spent += time.perf_counter() - began
    return BATCH * steps / spent


def _batch(kind: str, rows: int, **options: Any) -> Any:
    import gymnasium

    import packenv  # noqa: F401

    return gymnasium.make_vec(id_of(kind), num_envs=rows, vectorization_mode="vector_entry_point", **FORMER[kind] | options)


def memory(kind: str, waiting: int, rows: int = 64) -> float:
    """Bytes per environment when `waiting` tasks wait in one of them: all arrays, those of future jobs included."""
    env = _batch(kind, rows, observation="compact", waiting_limit=waiting, horizon=1_000_000, intensity=2.0)
    _, info = env.reset(seed=0)
    last = np.full(rows, info["action_mask"].shape[1] - 1)
    while env.core.batch.c.head["waiting"].max() < waiting:  # nothing ever starts
        env.step(last)
    return sum(array.nbytes for array in _arrays(env.core.batch)) / rows


def _arrays(frame: Any) -> Iterator[Any]:
    for name in frame._fields:
        value = getattr(frame, name)
        if isinstance(value, np.ndarray):
            yield value
        elif hasattr(value, "_fields"):
            yield from _arrays(value)


def sb3_overhead(samples: int) -> tuple[float, float]:
    """Seconds that MaskablePPO takes for about half of `samples`, the rest warming it up; and the environment's part of them."""
    from sb3_contrib import MaskablePPO

    from packenv.envs.interfaces.sb3 import PackVecEnv

    class Timed(PackVecEnv):
        spent = 0.0

        def step_wait(self) -> Any:
            began = time.perf_counter()
            result = super().step_wait()
            self.spent += time.perf_counter() - began
            return result

        def env_method(self, *arguments: Any, **options: Any) -> list[Any]:
            began = time.perf_counter()
            result = super().env_method(*arguments, **options)
            self.spent += time.perf_counter() - began
            return result

    env = Timed("ServerFill", SB3_BATCH, seed=0, **FORMER["ServerFill"])
    steps = samples // (2 * SB3_BATCH)
    model = MaskablePPO("MultiInputPolicy", env, n_steps=steps, batch_size=4096, device="cpu", seed=0)
    model.learn(SB3_BATCH * steps)  # the first round warms up
    env.spent = 0.0
    began = time.perf_counter()
    model.learn(SB3_BATCH * steps, reset_num_timesteps=False)
    return time.perf_counter() - began, env.spent
