"""The environment of a Stable-Baselines3 model, and its wrappers."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium

from packenv.envs.episodes.core import Core
from packenv.envs.interfaces.spaces import observation_space
from packenv.errors import InputError

HARMLESS = {
    "gymnasium": (
        *("PassiveEnvChecker", "OrderEnforcing", "TimeLimit", "Autoreset", "NormalizeReward"),
        *("RecordEpisodeStatistics", "RecordVideo", "HumanRendering"),
    ),
    "stable_baselines3": ("Monitor", "VecMonitor", "VecCheckNan", "VecVideoRecorder"),
    "sb3_contrib": ("ActionMasker",),
    "packenv": ("DiscountElapsed",),
}
"""Wrappers, by package, that change neither observations nor actions; those that only write `reward` do not either."""

UNKNOWN = (
    "the model was loaded without its environment. packenv assumes that it was trained with these options on unchanged "
    "observations. Otherwise, load it with env= and its VecNormalize"
)


def normalizers_of(model: Any, core: Core) -> list[Any]:
    """Return the VecNormalizes around a model's environment, innermost first.

    `core` is of the environment that the call describes. Raises InputError for a model trained with other options or
    observations, or behind a wrapper that may change observations or actions. A model loaded without its environment passes with
    a warning.
    """
    env: Any = model.get_env() if hasattr(model, "get_env") else None
    if env is None and hasattr(model, "get_env"):
        warnings.warn(UNKNOWN, stacklevel=3)
    normalizers = []
    while hasattr(env, "venv"):
        if type(env).__name__ == "VecNormalize":
            normalizers += [env] if env.norm_obs else []
        else:
            _check_harmless(type(env))
        env = env.venv
    if hasattr(env, "envs"):  # DummyVecEnv
        env = env.envs[0]
        while isinstance(env, gymnasium.Wrapper):
            _check_harmless(type(env))
            env = env.env
    elif env is not None and not hasattr(env, "core"):  # processes: SubprocVecEnv
        env = env.get_attr("unwrapped", [0])[0]
    held = getattr(env, "core", None)
    if isinstance(held, Core):
        _check_options(held, core)
    shown = observation_space(core.layout, core.sizes, core.options, core.workload)
    shape = getattr(getattr(model, "observation_space", None), "shape", None)
    if shape and shown.shape and shape != shown.shape:
        options = f"{core.definition.name} with these options shows {shown.shape}"
        raise InputError(f"the model was trained on observations of the shape {shape}, and {options}")
    return normalizers[::-1]


def _check_harmless(wrapper: type) -> None:
    only_reward = issubclass(wrapper, gymnasium.RewardWrapper) and not {"step", "reset"} & vars(wrapper).keys()
    if not only_reward and wrapper.__name__ not in HARMLESS.get(wrapper.__module__.partition(".")[0], ()):
        advice = (
            "only VecNormalize is known; instead of the model, pass a function from observations and masks to actions "
            "(to EvaluateRatio as `agent`)"
        )
        raise InputError(f"the model was trained behind {wrapper.__name__}, which may change what it sees or does: {advice}")


def _check_options(held: Core, core: Core) -> None:
    """Raise InputError for options that change observations or actions."""
    trained, called = _meaning(held), _meaning(core)
    if different := [name for name in called if trained.get(name) != called[name]]:
        name = different[0]
        raise InputError(
            f"the model was trained with {name}={trained.get(name)!r}, not {name}={called[name]!r}: use the training's values"
        )


def _meaning(core: Core) -> dict[str, Any]:
    options = core.options
    shared = {name: getattr(options, name) for name in ("observation", "mask_in_observation", "types", "window", "invalid")}
    rules = tuple(core.layout.rules)
    return {"environment": core.definition.name, "J": core.sizes.levels, **shared, **core.specific, "rules": rules}
