"""Saved agents: weights (safetensors) and what they are (JSON), read without executing anything.

`NAME.safetensors` and `NAME.json` belong together: the description has the hash of the weights. An agent is a policy:
`--policy agent:fig4b` or `agent:path/to/NAME`, in Python `load_agent("fig4b")`.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from packenv.cluster import Cluster, Needs
from packenv.envs.core.batch import make_batch, on_cluster
from packenv.envs.core.books import forget_books
from packenv.envs.core.rules import MAKERS, OWN_OPTIONS, Rules, Sizes, sizes_of
from packenv.envs.observation.actions import COMPANY, CONTEXT, FEATURES, FIRST_FEATURES, INVALID, REST
from packenv.envs.options import split
from packenv.envs.policies.guard import checked_guard, together
from packenv.errors import InputError, nearest
from packenv.files import atomic_path, write_json
from packenv.learning.agents.guarded import Guarded, GuardedState
from packenv.learning.agents.learned import TERMS, Learned, LearnedState, LinearNetwork, PlainNetwork, SharedNetwork
from packenv.policy import Setting, guarantee_of, initial_state_of, needs_of
from packenv.units import UNIT

Weights = dict[str, NDArray[np.float32]]
PRETRAINED = Path(__file__).parent / "pretrained"
FORMAT = 1


class SavedAgent:
    """A network that plays one of the environments, as a policy. Raises InputError for weights that do not fit the rest.

    `about`: "environment" {"kind", "resources", "options"}, "network" {"kind", "hidden"}, "guard" {"policy", "limit"} or
    None, and whatever else is known of it.
    """

    def __init__(self, name: str, about: dict[str, Any], weights: Weights) -> None:
        self.name, self.about, self.weights = name, about, weights
        try:
            self.kind = str(about["environment"]["kind"])
            self.resources = int(about["environment"]["resources"])
            options = dict(about["environment"]["options"])
            self.network = str(about["network"]["kind"])
            guard = about["guard"]
            self.levels = int(options["J"])
            self.guard = None if guard is None else checked_guard(str(guard["policy"]))
            self.limit = 0 if guard is None else int(guard["limit"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{name}: not the description of an agent: {error!r}") from None
        if self.kind not in MAKERS or self.network not in NETWORKS:
            raise InputError(f"{name}: an agent for {self.kind!r} with network {self.network!r}, which is not known here")
        self.own = {key: options.pop(key) for key in OWN_OPTIONS[self.kind] if key in options}
        self.options = split(options, OWN_OPTIONS[self.kind])
        face = self.rules(np.full((1, 1), UNIT)).face
        self.parameters = Learned(face) if self.guard is None else Guarded(Learned(face), self.guard, self.limit)
        """What compiled code knows of it; what was learned is in the state."""

    def sizes(self, capacity: NDArray[np.int64]) -> Sizes:
        return sizes_of(capacity, self.levels, self.options)

    def rules(self, capacity: NDArray[np.int64]) -> Rules:
        """What the environment would be on this cluster."""
        return MAKERS[self.kind](self.sizes(capacity), capacity, self.options, **self.own)

    def needs(self, setting: Setting) -> Needs:
        """Raises InputError where tasks have another number of resources than those that it learned on."""
        here = setting.capacity.shape[1]
        if here != self.resources:
            raise InputError(f"{self.name}: learned with D = {self.resources} resources, {setting.workload.name} has D = {here}")
        own = self.rules(setting.capacity).needs
        return own if self.guard is None else together(own, needs_of(self.guard, self._seen_by_guard(setting)))

    def initial_state(self, setting: Setting, seed: int) -> Any:
        rules = self.rules(setting.capacity)
        network = NETWORKS[self.network](self.name, self.weights, rules)
        scale = np.array([setting.workload.mean_service])
        own = LearnedState(None, network, scale)  # type: ignore[arg-type]  # `attach` brings the batch
        if self.guard is None:
            return own
        return GuardedState(own, initial_state_of(self.guard, self._seen_by_guard(setting), seed), np.zeros(1, np.int64))

    def attach(self, cluster: Cluster, state: Any) -> Any:
        if self.guard is not None:
            return state._replace(agent=self._attach(cluster, state.agent))
        return self._attach(cluster, state)

    def _attach(self, cluster: Cluster, state: LearnedState) -> LearnedState:
        if state.batch is None:
            rules, unread = self.rules(cluster.capacity), unread_by(state.network)
            if unread & REST:
                rules = replace(rules, books=False)
            batch = make_batch(cluster, rules, self.sizes(cluster.capacity), float(state.mean_service[0]))
            batch.assign("unread", unread)
            return state._replace(batch=batch)
        batch = on_cluster(state.batch, cluster)
        forget_books(batch)
        return state._replace(batch=batch)

    def guarantee(self, setting: Setting) -> float:
        """The share of ρ* that its guard's theorem promises; 0 without a guard."""
        return 0.0 if self.guard is None else guarantee_of(self.guard, self._seen_by_guard(setting))

    def _seen_by_guard(self, setting: Setting) -> Setting:
        """The guard has the agent's types."""
        return setting._replace(levels=self.levels)


def unread_by(network: SharedNetwork | LinearNetwork | PlainNetwork) -> int:
    """What of the observation `actions` the network does not look at."""
    if isinstance(network, PlainNetwork):
        return 0
    if isinstance(network, LinearNetwork):
        return REST | INVALID
    return INVALID | (COMPANY if len(network.first) == FIRST_FEATURES + CONTEXT else 0)


def _shared(name: str, weights: Weights, rules: Rules) -> SharedNetwork:
    width = _given(name, weights, "actor.first.bias").shape[0]
    inputs = FEATURES + CONTEXT
    if weights["actor.first.weight"].shape == (width, FIRST_FEATURES + CONTEXT):
        inputs = FIRST_FEATURES + CONTEXT  # made before the others were there
    if "actions" not in rules.seen:
        raise InputError(f"{name}: a shared network sees observation='actions'")
    return SharedNetwork(
        first=_matrix(name, weights, "actor.first", (width, inputs)),
        first_bias=_given(name, weights, "actor.first.bias"),
        second=_matrix(name, weights, "actor.second", (width, 2 * width)),
        second_bias=_vector(name, weights, "actor.second.bias", width),
        last=_matrix(name, weights, "actor.last", (1, width))[:, 0].copy(),
        hidden=np.zeros((rules.actions, width), np.float32),
        base=np.zeros(width, np.float32),
        mean=np.zeros(width, np.float32),
        out=np.zeros(width, np.float32),
    )


def _linear(name: str, weights: Weights, rules: Rules) -> LinearNetwork:
    if "actions" not in rules.seen:
        raise InputError(f"{name}: a linear network sees observation='actions'")
    found = _given(name, weights, "actor.weights")
    if found.shape != (2, TERMS):
        raise InputError(f"{name}: 'actor.weights' has the shape {found.shape} instead of {(2, TERMS)}")
    return LinearNetwork(found, np.zeros(TERMS, np.float32), np.zeros(TERMS, np.float32))


def _plain(name: str, weights: Weights, rules: Rules) -> PlainNetwork:
    width = _given(name, weights, "actor.layers.0.bias").shape[0]
    seen = sum(math.prod(shape) for shape in rules.seen.values())
    return PlainNetwork(
        first=_matrix(name, weights, "actor.layers.0", (width, seen)),
        first_bias=_given(name, weights, "actor.layers.0.bias"),
        second=_matrix(name, weights, "actor.layers.1", (width, width)),
        second_bias=_vector(name, weights, "actor.layers.1.bias", width),
        last=_matrix(name, weights, "actor.layers.2", (rules.actions, width)),
        last_bias=_vector(name, weights, "actor.layers.2.bias", rules.actions),
        seen=np.zeros(seen, np.float32),
        hidden=np.zeros((2, width), np.float32),
        scores=np.zeros(rules.actions, np.float32),
    )


NETWORKS = {"shared": _shared, "linear": _linear, "mlp": _plain}


def _given(name: str, weights: Weights, key: str) -> NDArray[np.float32]:
    if key not in weights:
        raise InputError(f"{name}: its weights lack {key!r}")
    found = np.ascontiguousarray(weights[key], np.float32)
    if not np.isfinite(found).all():
        raise InputError(f"{name}: {key!r} has weights that are not finite")
    return found


def _matrix(name: str, weights: Weights, key: str, shape: tuple[int, int]) -> NDArray[np.float32]:
    """(inputs, outputs)"""
    found = _given(name, weights, f"{key}.weight")
    if found.shape != shape:
        sizes = f"{key} has the shape {found.shape}, this cluster or these options need {shape}"
        raise InputError(f"{name}: made for another cluster or environment: {sizes}")
    return np.ascontiguousarray(found.T)


def _vector(name: str, weights: Weights, key: str, width: int) -> NDArray[np.float32]:
    found = _given(name, weights, key)
    if found.shape != (width,):
        raise InputError(f"{name}: {key!r} has the shape {found.shape} instead of ({width},)")
    return found


def save_agent(path: str | Path, about: dict[str, Any], weights: Weights) -> None:
    """Write PATH.safetensors and PATH.json, each whole or not at all."""
    data = save({key: np.ascontiguousarray(value, np.float32) for key, value in weights.items()})
    with atomic_path(f"{path}.safetensors") as temporary:
        Path(temporary).write_bytes(data)
    write_json(f"{path}.json", about | {"format": FORMAT, "weights": hashlib.sha256(data).hexdigest()})


def load_agent(name: str | Path) -> SavedAgent:
    """An agent that ships with packenv, by name, or one from a path (with or without .json). Raises InputError."""
    text = str(name)
    stem = text.removesuffix(".json").removesuffix(".safetensors")
    inside = PRETRAINED / stem
    base = inside if stem == Path(stem).name and inside.with_name(f"{stem}.json").exists() else Path(stem)
    told, weighed = base.with_name(f"{base.name}.json"), base.with_name(f"{base.name}.safetensors")
    for file in (told, weighed):
        if not file.is_file():
            raise InputError(f"no agent {text!r}: {file} does not exist{nearest(stem, shipped())}")
    try:
        about = json.loads(told.read_text())
    except ValueError:
        raise InputError(f"{told}: not JSON") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f"{told}: not the description of an agent of format {FORMAT}")
    data = weighed.read_bytes()
    if about.get("weights") != hashlib.sha256(data).hexdigest():
        raise InputError(f"{weighed}: not the weights that {told.name} describes")
    try:
        weights = load(data)
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{weighed}: not a file of weights: {error}") from None
    return SavedAgent(f"agent:{text}", about, weights)


def shipped() -> list[str]:
    """Names of the agents that come with packenv."""
    return sorted(file.stem for file in PRETRAINED.glob("*.json"))


def find_agent(text: str) -> SavedAgent:
    """The policy `agent:TEXT`."""
    if not text:
        raise InputError(f"agent: say which, by name or path; shipped: {', '.join(shipped()) or 'none'}")
    return load_agent(text)


find_agent.takes_text = True  # type: ignore[attr-defined]
