"""Definition of an environment: options, arrays, rules, and policies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.features import OF_TASKS, Features
from packenv.errors import InputError, nearest
from packenv.policy import Needs, Setting

Shapes = Mapping[str, tuple[int, ...]]
"""Shapes of the arrays of an observation, by name, in order."""


class Sizes(NamedTuple):
    """Numbers that determine the shapes of actions and observations."""

    servers: int  # L
    resources: int  # D
    kinds: int  # G, kinds of server by capacity
    types: int  # 2J, or as many as the option `types` says
    levels: int  # J; 0: types of equal width
    window: int  # K


@dataclass(frozen=True)
class Layout:
    """An environment on one cluster, with its options chosen."""

    rules: Any  # NamedTuple of integers: its type selects the compiled functions (packenv.envs.core.step)
    needs: Needs
    actions: int  # A
    observed: Shapes
    summaries: bool = False  # whether ages of jobs and rooms of servers are kept (packenv.envs.core.server_summaries)
    configurations: NDArray[np.int64] | None = None  # (G, N, 2J) that the actions choose from
    counts: NDArray[np.int64] | None = None  # (G,) how many of the N each kind of server has
    offered: int = 0  # servers whose starts the actions are, as many of each; 0: the actions are of every server, or of none
    groups: int = 0  # actions that start a task of a group of identical ones,
    by_data: bool = False  # and whether tasks with different data are in different groups
    facts: Callable[[Setting], NDArray[np.float64]] | None = None  # (n, K) what it reads of each row of a table, `Batch.facts`
    features: Features = OF_TASKS


@dataclass(frozen=True)
class Definition:
    """An environment, apart from the cluster.

    layout         `layout(sizes, capacity, options, *, …)` returns a Layout for (L, D) units of capacity and the shared
                   `Options`; its keyword-only parameters are the environment's own options
    policy_action  `policy_action(core, row, planned)` returns the action nearest to a policy's plan (packenv.envs.policy_agents);
                   without it policies cannot play the environment
    description    docstring in Gymnasium's form, with the environment's own headings; with `features`
                   packenv.envs.documentation adds the common ones
    follows_jobs   whether it needs a table of jobs, and reads `Batch.jobs`
    defaults       defaults that differ from those of `Options` and `layout`
    instead        `instead(arguments)` returns replacements for some of them
    measures       additional fields of the passage in `info`
    without        shared options that it lacks
    """

    name: str
    layout: Callable[..., Layout]
    policy_action: Callable[..., int] | None = None
    description: str | None = None
    features: Features | None = None
    follows_jobs: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    instead: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    measures: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def chosen(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments and defaults, where `J` replaces `types`."""
        types = {} if arguments.get("J") is None else {"types": None}
        instead = self.instead(arguments) if self.instead else {}
        return {**self.defaults, **types, **instead, **arguments}

    @property
    def own_options(self) -> tuple[str, ...]:
        """Return the names of the environment's own options."""
        parameters = inspect.signature(self.layout).parameters.values()
        return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


def one_of(option: str, value: Any, choices: tuple[Any, ...]) -> int:
    """Return a choice's position, or raise InputError with near names."""
    if value not in choices:
        raise InputError(f"unknown {option} {value!r}{nearest(str(value), [str(choice) for choice in choices])}")
    return choices.index(value)


def check_integer(option: str, value: Any, low: int, high: int) -> None:
    """Raise InputError unless an integer from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise InputError(f"{option} must be a whole number from {low} to {high}, not {value!r}")
