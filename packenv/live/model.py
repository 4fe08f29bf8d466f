"""`Model`: a Python function from observation and mask to action, as a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.state import Cluster
from packenv.compiled.decorators import beside, compiled
from packenv.envs.core.batch import make_batch, on_cluster
from packenv.envs.core.definition import Layout, Sizes
from packenv.envs.core.server_summaries import remove_completed
from packenv.envs.core.state import DECIDING, Batch
from packenv.envs.core.step import act, begin, observe, replace_invalid
from packenv.envs.observation.layout import sizes_of
from packenv.envs.observation.one_array import flattening_of
from packenv.envs.options import INVALID, ONE_ARRAY, split
from packenv.envs.registration import find_definition, kind_of
from packenv.errors import InputError
from packenv.policy import Needs, Setting

Observation = dict[str, NDArray[np.float32]] | NDArray[np.float32]
Predict = Callable[[Observation, NDArray[np.int8]], int]


@compiled
def show_first(rules: Any, b: Batch) -> bool:
    """Show the first decision of the slot, return whether there is one."""
    remove_completed(b)
    begin(rules, b)
    observe(rules, b)
    return b.turn[0].phase == DECIDING


@compiled
def show_next(rules: Any, b: Batch) -> bool:
    """Execute the action and show the next decision, return whether there is one."""
    if b.nearest:
        replace_invalid(b)
    act(rules, b)
    observe(rules, b)
    return b.turn[0].phase == DECIDING


class Model:
    """A policy `predict(observation, mask)` in an environment of packenv.

    It decides live or in `packenv.simulate`.
    environment  name, such as "packenv/ServerFill-v1"
    predict      returns the number of an action. None: nothing is decided, only shown
    options      of the environment, as for gymnasium.make: observation, J, types, window, invalid, and its own
    Raises InputError for an environment that needs a table of jobs.
    """

    def __init__(self, environment: str, predict: Predict | None, **options: Any) -> None:
        self.name, self.predict = f"model in {environment}", predict
        self.definition = find_definition(kind_of(environment))
        arguments = self.definition.chosen(options)
        self.specific = {key: arguments.pop(key) for key in self.definition.own_options if key in arguments}
        self.options = split(arguments, self.definition.own_options)
        self.shown: tuple[Observation, NDArray[np.int8]] | None = None

    def needs(self, setting: Setting) -> Needs:
        layout = self._layout(setting)[0]
        if self.definition.follows_jobs or layout.facts is not None:
            raise InputError(f"{self.definition.name} needs the table of all jobs, which is not there while they come")
        return layout.needs

    def _layout(self, setting: Setting) -> tuple[Layout, Sizes]:
        levels = self.options.J or (2 if self.options.types is not None else setting.levels)
        sizes = sizes_of(setting.capacity, levels, self.options)
        return self.definition.layout(sizes, setting.capacity, self.options, **self.specific), sizes

    def initial_state(self, setting: Setting, seed: int) -> Any:
        layout, sizes = self._layout(setting)
        mean_service = setting.workload.mean_service if self.options.describes_actions else 1.0
        return layout, sizes, mean_service, None

    def attach(self, cluster: Cluster, state: Any) -> Any:
        layout, sizes, mean_service, batch = state
        if batch is None:
            batch = make_batch(cluster, layout, sizes, mean_service)
            batch.assign("nearest", INVALID.index(self.options.invalid))
        else:
            batch = on_cluster(batch, cluster)
        return layout, sizes, mean_service, batch

    def schedule(self, cluster: Cluster, state: Any) -> None:
        layout, _, _, batch = state
        modules = [type(layout.rules).__module__]
        first, following = beside(show_first, modules), beside(show_next, modules)
        flat = flattening_of(self.options.observation, layout) if self.options.observation in ONE_ARRAY else None
        undecided = first(layout.rules, batch)
        self.shown = self._observation(batch, layout, flat)
        while undecided and self.predict is not None:
            action = int(self.predict(*self.shown))
            if not 0 <= action < layout.actions:
                raise InputError(f"action {action} is out of range: 0 to {layout.actions - 1}")
            batch.action[0] = action
            undecided = following(layout.rules, batch)
            self.shown = self._observation(batch, layout, flat)

    def _observation(self, batch: Batch, layout: Layout, flat: Any) -> tuple[Observation, NDArray[np.int8]]:
        mask = batch.mask[0].copy()
        if flat is not None:
            return flat(batch.actions[0], batch.context[0]), mask
        observed = {name: getattr(batch, name)[0].copy() for name in layout.observed}
        return observed | ({"action_mask": mask.astype(np.float32)} if self.options.mask_in_observation else {}), mask
