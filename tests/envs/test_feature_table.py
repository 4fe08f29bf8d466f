"""The tables of features and of arrays in the docstrings say what the code writes."""

from __future__ import annotations

import re
from typing import Any

import pytest

import packenv
from packenv.envs.core import features
from packenv.envs.core.features import ACTION_FEATURES, CONTEXT_FEATURES
from tests.envs.grid import KINDS, PAIR, UNEQUAL
from tests.envs.playing import plain_env

ROW = re.compile(r"^\| (\d+) `(\w+)` \| (.+) \| ([\w ]+) \|$", re.MULTILINE)
ARRAY = re.compile(r"^\| `(\w+)` \| \((.+?),?\) \|", re.MULTILINE)


def docstring(kind: str) -> str:
    return str(type(plain_env(kind).unwrapped).__doc__)


@pytest.mark.parametrize("table", [ACTION_FEATURES, CONTEXT_FEATURES])
def test_positions_have_the_names_of_the_table(table: tuple[features.Feature, ...]) -> None:
    assert [getattr(features, feature.name.upper()) for feature in table] == list(range(len(table)))


@pytest.mark.parametrize("kind", KINDS)
def test_documented_features_are_those_of_the_space(kind: str) -> None:
    rows = ROW.findall(docstring(kind))
    space: Any = plain_env(kind, observation="actions").observation_space
    named = [feature.name for feature in ACTION_FEATURES + CONTEXT_FEATURES]
    assert [name for _, name, _, _ in rows] == named
    widths = space["actions"].shape[1], space["context"].shape[0]
    assert [int(n) for n, *_ in rows] == [*range(widths[0]), *range(widths[1])]
    assert f"`actions` (A, {widths[0]})" in docstring(kind) and f"`context` ({widths[1]},)" in docstring(kind)


def value_of(expression: str, sizes: dict[str, int]) -> int:
    """An expression such as `D + 2J + 1` of the sizes."""
    product = re.sub(r"(\d)([A-Z])", r"\1*\2", expression.replace("·", "*").replace("*2J", "*(2*J)"))
    return int(eval(product, {}, sizes))


@pytest.mark.parametrize("options", [{}, UNEQUAL, {"workload": PAIR}], ids=["fig4b", "unequal", "pair"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("observation", ["full", "compact"])
def test_documented_shapes_are_those_of_the_space(kind: str, observation: str, options: dict[str, Any]) -> None:
    env: Any = plain_env(kind, observation=observation, mask_in_observation=True, **options)
    own = env.unwrapped.core.sizes
    sizes = {"D": own.resources, "L": own.servers, "G": own.kinds, "J": own.levels, "K": own.window}
    sizes["A"] = int(env.action_space.n)
    documented = dict(ARRAY.findall(docstring(kind)))
    assert set(env.observation_space.spaces) <= set(documented)
    for name, space in env.observation_space.spaces.items():
        axes = [axis.split(" or ") for axis in documented[name].split(", ")]
        assert space.shape == tuple(value_of(axis[0 if observation == "full" else -1], sizes) for axis in axes), name


@pytest.mark.parametrize("kind", ["Placement", "ServerFill"])
def test_waiting_writes_the_features_marked_for_it(kind: str) -> None:
    """After enough slots each feature marked `of_wait` has been written, and no other one."""
    marked = {n for n, feature in enumerate(ACTION_FEATURES) if feature.of_wait}
    if kind == "Placement":  # no server is at hand
        marked = {features.VALID, features.WAITS, features.WAITING}
    env: Any = plain_env(kind, observation="actions", workload=packenv.workload("paper/fig4b"), intensity=0.9)
    observation, info = env.reset(seed=0)
    written: set[int] = set()
    for _ in range(300):
        written |= set(observation["actions"][-1].nonzero()[0].tolist())
        observation, *_, info = env.step(int(info["action_mask"].argmax()))
    assert written == marked
