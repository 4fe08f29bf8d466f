"""Agents as policies: network and environment for the compiled loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import Cluster, Needs
from packenv.cluster.whole_jobs.state import whole_jobs
from packenv.content.tables import form
from packenv.content.text import counted
from packenv.envs.core.batch import make_batch, on_cluster
from packenv.envs.core.definition import Layout, Sizes
from packenv.envs.core.features import NO_TYPES, OF_TASKS
from packenv.envs.core.server_summaries import forget_summaries
from packenv.envs.episodes.guard import checked_guard, together
from packenv.envs.job_fill.features import ASSUMED, assumptions
from packenv.envs.observation.layout import sizes_of
from packenv.envs.options import INVALID, split
from packenv.envs.registration import ENVIRONMENTS, find_definition
from packenv.errors import ArgumentError, InputError
from packenv.learning.agents.learned import Guarded, GuardedState, Learned, LearnedState, remark_on
from packenv.learning.agents.networks import FROM_WEIGHTS, UNMASKED
from packenv.learning.agents.weights import FORMER_CONTEXT, Weights, with_later_features
from packenv.policy import Setting, find_registered, guarantee_of, initial_state_of, needs_of
from packenv.units import UNIT

UNFINISHED = "unfinished"  # in `about`, of an agent that was saved before its training ended
NAMES = {"baseline", "guard"}  # options of an environment that name policies


class SavedAgent:
    """A network that acts in one of the environments.

    `about` holds "environment" {"kind", "resources", "options"}, "network" {"kind", "hidden", "context"}, "guard" {"policy",
    "limit"} or None, and additional records (packenv.learning.agents.metadata). Raises InputError for weights that do not fit the
    rest.
    """

    def __init__(self, name: str, about: dict[str, Any], weights: Weights) -> None:
        self.name, self.about, self.weights = name, about, weights
        try:
            self.kind = str(about["environment"]["kind"])
            self.resources = int(about["environment"]["resources"])
            options = dict(about["environment"]["options"])
            self.network = str(about["network"]["kind"])
            context = about["network"].get("context", FORMER_CONTEXT.get(self.kind))
            self.context = None if context is None else int(context)
            guard = about["guard"]
            self.levels = int(options["J"])
            self.guard = None if guard is None else checked_guard(find_registered(guard["policy"]))
            if self.network.endswith(UNMASKED):
                options.setdefault("invalid", "first")  # what was saved before 0.10.0 has no such option
            options |= {key: find_registered(options[key]) for key in NAMES if options.get(key) is not None}
            self.limit = 0 if guard is None else int(guard["limit"])
            if self.kind not in ENVIRONMENTS or self.network not in FROM_WEIGHTS:
                raise InputError(f"an agent for {self.kind!r} with network {self.network!r}, which is not known here")
            self.definition = find_definition(self.kind)
            self.specific = {key: options.pop(key) for key in self.definition.own_options if key in options}
            self.options = split(options, self.definition.own_options)
            agent = Learned(self.layout(np.full((1, 1), UNIT)).rules)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InputError(f"{name}: not the description of an agent: {error!r}") from None
        self.rule = agent if self.guard is None else Guarded(agent, self.guard, self.limit).rule
        """The type by which compiled code finds the functions to call; the weights are in the state."""

    def __repr__(self) -> str:
        options = ", ".join(f"{key} {value}" for key, value in self.about["environment"]["options"].items())
        facts = [
            ("plays", f"{self.kind}, D = {self.resources} ({options})"),
            ("network", f"{self.network}, {sum(array.size for array in self.weights.values()):,} weights"),
            (
                "guard",
                f"{self.about['guard']['policy']} above {self.limit:,} waiting tasks" if self.guard is not None else "none",
            ),
        ]
        learnt_on, samples = self.about.get("workload"), self.about.get("samples")
        if isinstance(learnt_on, dict) and isinstance(samples, int):
            facts.append(("learnt", f"on {learnt_on.get('name')}, by {self.about.get('algorithm')}, {samples:,} samples"))
        text: str = form("facts_text")(f"Agent {self.name}", facts)
        return text

    def sizes(self, capacity: NDArray[np.int64]) -> Sizes:
        return sizes_of(capacity, self.levels, self.options)

    def layout(self, capacity: NDArray[np.int64]) -> Layout:
        """Return the environment's layout on a cluster, (L, D) units."""
        return self.definition.layout(self.sizes(capacity), capacity, self.options, **self.specific)

    def needs(self, setting: Setting) -> Needs:
        """Return needs (InputError for a different number of resources)."""
        count = setting.capacity.shape[1]
        if count != self.resources and not self.definition.follows_jobs:
            advice = "; `resources` max makes them one" if self.resources == 1 and setting.workload.jobs is None else ""
            learned = counted(self.resources, "resource")
            raise ArgumentError(f"{self.name}: learned with {learned}, {setting.workload.name} has {count}", advice)
        needs = self.layout(setting.capacity).needs
        return needs if self.guard is None else together(needs, needs_of(self.guard, self._setting_of_guard(setting)))

    def initial_state(self, setting: Setting, seed: int) -> Any:
        layout = self.layout(setting.capacity)
        weights = self.weights
        if layout.features is not OF_TASKS:  # otherwise the shared network lets the last features be unwritten, which is faster
            weights = with_later_features(weights, layout.observed["actions"][1], layout.observed["context"][0], self.context)
        network = FROM_WEIGHTS[self.network](self.name, weights, layout)
        scale = np.array([setting.workload.mean_service])
        jobs = None
        if self.definition.follows_jobs:
            jobs = whole_jobs(setting.table, setting.capacity, setting.workload.network, by_data=layout.by_data)
        offers = np.zeros(3, np.int64)
        facts = None if layout.facts is None else layout.facts(setting)
        state = LearnedState(None, network, scale, jobs, facts, offers)  # type: ignore[arg-type]  # `attach` makes the batch
        if self.guard is None:
            return state
        return GuardedState(state, initial_state_of(self.guard, self._setting_of_guard(setting), seed), np.zeros(1, np.int64))

    def attach(self, cluster: Cluster, state: Any) -> Any:
        if self.guard is not None:
            return state._replace(agent=self._attach(cluster, state.agent))
        return self._attach(cluster, state)

    def _attach(self, cluster: Cluster, state: LearnedState) -> LearnedState:
        if state.batch is None:
            layout, unread = self.layout(cluster.capacity), state.network.unread
            if unread & NO_TYPES:
                layout = replace(layout, summaries=False)
            mean_service, of_table = float(state.mean_service[0]), {"jobs": state.jobs, "facts": state.facts}
            batch = make_batch(cluster, layout, self.sizes(cluster.capacity), mean_service, **of_table)
            batch.assign("unread", unread)
            batch.assign("nearest", INVALID.index(self.options.invalid))
            return state._replace(batch=batch, jobs=None, facts=None)
        batch = on_cluster(state.batch, cluster)
        forget_summaries(batch)
        return state._replace(batch=batch)

    def notice(self, setting: Setting) -> str | None:
        """Return a notice of unfinished training or missing columns."""
        lines = [self._assumed(setting)]
        if self.about.get(UNFINISHED):
            samples = f"{self.about['samples']:,} samples"
            lines.insert(0, f"its training has not ended; its command with --resume goes on after {samples}")
        return "; ".join(f"{self.name}: {line}" for line in lines if line is not None) or None

    def _assumed(self, setting: Setting) -> str | None:
        jobs, learned_on = setting.workload.jobs, self.about.get("workload")
        if not self.definition.follows_jobs or jobs is None:
            return None
        name = learned_on.get("name") if isinstance(learned_on, dict) else learned_on
        columns = self.about["environment"].get("columns", () if name == setting.workload.name else ASSUMED)
        assumed = assumptions(jobs, columns)
        return None if assumed is None else f"{setting.workload.name} has {assumed}"

    def remark(self, state: Any) -> str | None:
        """Return a remark if groups were hidden from the agent."""
        return remark_on(state if self.guard is None else state.agent)

    def guarantee(self, setting: Setting) -> float:
        """Return the guard's proven share of ρ*, 0 without guard."""
        return 0.0 if self.guard is None else guarantee_of(self.guard, self._setting_of_guard(setting))

    def _setting_of_guard(self, setting: Setting) -> Setting:
        return setting._replace(levels=self.levels)
