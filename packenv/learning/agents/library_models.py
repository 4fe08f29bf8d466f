"""`packenv.save_model`: Stable-Baselines3 models as agents."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np

from packenv.envs.options import ONE_ARRAY
from packenv.envs.registration import id_of, kind_of
from packenv.errors import InputError
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.networks import FROM_WEIGHTS, UNMASKED
from packenv.learning.agents.saved import save_agent
from packenv.learning.agents.trained_in import normalizers_of
from packenv.learning.agents.weights import Weights
from packenv.policy import name_of

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
    for each in normalizers:
        scale = 1 / np.sqrt(each.obs_rms.var + each.epsilon)
        weights |= {"seen.mean": each.obs_rms.mean, "seen.scale": scale, "seen.most": np.array([each.clip_obs])}
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
