"""`packenv.save_model`: Stable-Baselines3 models, with their wrappers, as agents."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from packenv.envs.episodes.core import Core
from packenv.envs.observation.layout import observation_space
from packenv.envs.options import ONE_ARRAY
from packenv.envs.registration import id_of, kind_of
from packenv.errors import InputError
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.networks import FROM_WEIGHTS, UNMASKED
from packenv.learning.agents.saved import save_agent
from packenv.learning.agents.weights import Weights
from packenv.policy import name_of

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
    space = observation_space(core.layout, core.sizes, core.options, core.workload)
    shape = getattr(getattr(model, "observation_space", None), "shape", None)
    if shape and space.shape and shape != space.shape:
        options = f"{core.definition.name} with these options shows {space.shape}"
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


LAYERS = {
    "mlp_extractor.policy_net.": ("mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2", "action_net"),  # of PPO and A2C
    "q_net.q_net.": ("q_net.q_net.0", "q_net.q_net.2", "q_net.q_net.4"),  # of DQN
}
"""The three layers in a model's state, by what the names of all its hidden layers begin with."""

UNUSED = ("mlp_extractor.value_net.", "value_net.", "q_net_target.")
"""What the names of other weights begin with that a model may have: they choose no action."""

NO_MODEL = "not a model with MlpPolicy and two hidden layers, of Stable-Baselines3 or sb3-contrib"


def save_model(model: Any, path: str | Path, environment: str, **options: Any) -> SavedAgent:
    """Save a trained model, and return it as a policy.

    The files are PATH.safetensors and PATH.json, the policy is `agent:PATH`. It runs at the simulator's speed in
    `packenv.evaluate`, `judge`, `leaderboard`, `plan`, and the commands. It takes the likeliest actions. Without masks, the first
    or the nearest valid action replaces an invalid one, as `invalid` was in training.

    model        PPO, A2C or DQN of Stable-Baselines3, or MaskablePPO of sb3-contrib, with `MlpPolicy`, two hidden layers of any
                 widths (the default has two), and tanh or ReLU
    environment  its id, as in `gymnasium.make`; `options` are those of training. The observation is "flat" or "normalized"
    guard        an option of the environment: with `guard="bf-js"` that policy takes over while more than `guard_limit` wait

    The statistics of a VecNormalize between the model and its environment are included. Raises InputError for a model of another
    form, with your features extractor, trained with other options, or behind another wrapper that may change its observations or
    actions.
    """
    import gymnasium

    kind = kind_of(environment)
    core = gymnasium.make(id_of(kind), **options).unwrapped.core  # type: ignore[attr-defined]
    chosen, definition = core.definition.chosen(options), core.definition
    if core.options.observation not in ONE_ARRAY:
        raise InputError(f"observation {core.options.observation}: a library's model is saved with one of {', '.join(ONE_ARRAY)}")
    weights, activation = weights_of(model)
    masked = "action_masks" in inspect.signature(model.predict).parameters
    invalid = core.options.invalid
    if not masked and invalid == "wait":
        advice = "train it with one of these, and give it here too; MaskablePPO needs no such option"
        raise InputError(f"a model without masks is saved with invalid='first' or 'nearest', not {invalid!r}: {advice}")
    normalizers = normalizers_of(model, core)
    if len(normalizers) > 1:
        raise InputError("a model is saved with the statistics of one VecNormalize, not of several")
    for normalizer in normalizers:
        scale = 1 / np.sqrt(normalizer.obs_rms.var + normalizer.epsilon)
        weights |= {"seen.mean": normalizer.obs_rms.mean, "seen.scale": scale, "seen.most": np.array([normalizer.clip_obs])}
    network = f"{core.options.observation}-{activation}" + ("" if masked else UNMASKED)
    if network not in FROM_WEIGHTS:
        raise InputError(f"a model is saved if its activation is tanh or relu, not {activation}")
    shared = {"observation": core.options.observation, "J": core.setting.levels, "types": core.options.types}
    shared |= {} if masked else {"invalid": invalid}
    specific = {key: chosen[key] for key in definition.own_options if key in chosen}
    guard = core.options.guard
    named = guard if guard is None or isinstance(guard, str) else name_of(guard)
    about = {
        "environment": {
            "kind": kind,
            "resources": core.workload.D,
            "options": {**shared, "window": core.options.window, **specific},
        },
        "network": {"kind": network, "hidden": len(weights["actor.layers.0.bias"])},
        "guard": None if named is None else {"policy": named, "limit": core.options.guard_limit},
        "workload": core.workload.name,
        "algorithm": type(model).__name__,
        "samples": int(getattr(model, "num_timesteps", 0)),
    }
    agent = SavedAgent(f"agent:{path}", about, weights)
    FROM_WEIGHTS[network](agent.name, weights, core.layout)
    save_agent(path, about, weights)
    return agent


def weights_of(model: Any) -> tuple[Weights, str]:
    """Return an actor's layers and activation (InputError for other models)."""
    policy: Any = getattr(model, "policy", None)
    if policy is None or not hasattr(model, "predict"):
        raise InputError(f"{type(model).__name__}: {NO_MODEL}; packenv.evaluate_agent takes a function of observations and masks")
    _check_parts(type(model).__name__, policy)
    state = {key: np.asarray(value.detach().cpu()) for key, value in policy.state_dict().items()}
    for begin, layers in LAYERS.items():
        hidden = {key for key in state if key.startswith(begin) and key.endswith(".weight")}
        others = {key for key in state if not key.startswith((begin, *layers, *UNUSED))}
        if hidden <= {f"{layer}.weight" for layer in layers} <= state.keys() and not others:
            names = {f"actor.layers.{n}": layer for n, layer in enumerate(layers)}
            weights = {f"{name}.{part}": state[f"{layer}.{part}"] for name, layer in names.items() for part in ("weight", "bias")}
            return weights, policy.activation_fn.__name__.lower()
    raise InputError(f"{type(model).__name__}: {NO_MODEL}")


def _check_parts(name: str, policy: Any) -> None:
    """Raise InputError for a custom policy class or features extractor."""
    extractors = {getattr(part, "features_extractor", None) for part in (policy, getattr(policy, "q_net", None))} - {None}
    for part in (policy, *extractors):
        kind = type(part)
        library = kind.__module__.startswith(("stable_baselines3.", "sb3_contrib."))
        if not library or (part is not policy and kind.__name__ != "FlattenExtractor"):
            raise InputError(f"{name}: a model is saved with MlpPolicy as it is, and this one has {kind.__name__}")
