"""The core of all faces: a batch of clusters, their episodes, and one compiled call that steps them.

Where every seed has a table of its own, each row plays the one of its episode's seed, and there is a call for each row.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.build import build
from packenv.cluster.copy_tasks import copy_rows, tasks_of, transplant
from packenv.cluster.fields import reset_rows
from packenv.cluster.grow import grow, lengthen
from packenv.cluster.slots import GROW
from packenv.cluster.state import NEVER, NONE, Cluster
from packenv.envs.core.batch import make_batch, on_cluster
from packenv.envs.core.memory import gathered
from packenv.envs.core.parts import part_of
from packenv.envs.core.rules import MAKERS, OWN_OPTIONS, sizes_of
from packenv.envs.core.seeds import episode_seed, share
from packenv.envs.core.spares import Spares
from packenv.envs.core.state import BEGUN, FRESH, Batch
from packenv.envs.core.step import step_of
from packenv.envs.options import LATEST, levels_for, mean_scalar_size, most_in_service, split
from packenv.envs.policies.guard import Guard, together
from packenv.envs.policies.lockstep import CHUNK, Twin, initial_jobs
from packenv.envs.rewards import Passage, advantage, find_reward
from packenv.errors import InputError
from packenv.policy import Setting
from packenv.workloads.sampling import begin

FIRST_PLACES = 100  # of a cluster at first: growing stops a whole batch for tens of milliseconds


class Core:
    """`rows` clusters of one environment, and where each is in its episode.

    Keyword arguments as in the environments' docstrings. Raises InputError for what cannot be.
    """

    def __init__(self, kind: str, rows: int, arguments: dict[str, Any]) -> None:
        if rows < 1:
            raise InputError(f"num_envs must be at least 1, not {rows}")
        own = {key: arguments[key] for key in OWN_OPTIONS[kind] if key in arguments}
        options = split({key: value for key, value in arguments.items() if key not in own}, OWN_OPTIONS[kind])
        self.kind, self.rows, self.options = kind, rows, options
        self.workload, self.rates = options.resolved()
        levels = levels_for(self.workload, options.J)
        units = self.workload.servers.units
        self.setting = Setting(units, self.workload, levels, self.workload.largest_size())
        self.sizes = sizes_of(units, levels, options)
        rules = MAKERS[kind](self.sizes, units, options, **own)
        self.rules = replace(rules, needs=rules.needs._replace(in_service=most_in_service(self.workload)))
        self.guard = Guard(options.guard, self.setting, rows) if options.guard is not None else None
        if self.guard is not None:
            self.rules = replace(self.rules, needs=together(self.rules.needs, self.guard.needs))
        self.step_rows = step_of(self.rules.face)
        self.reward = find_reward(options.reward)
        self.mean_size = mean_scalar_size(self.workload)
        self.initial = initial_jobs(options.start, units)
        self.warm = options.warm
        compared = self.reward is advantage
        self.twins = [Twin(options.baseline, self) for _ in range(rows)] if compared else []
        self.roots = np.zeros(rows, np.int64)
        self.episodes = np.full(rows, -1, np.int64)
        self.seeds = np.zeros(rows, np.int64)
        self.template = self._cluster(1)
        self.played = [self.workload] * rows  # of each row's episode: with the table of its seed, where every seed has its own,
        self.tables = [self.template] * rows if self.workload.draw else []  # and a cluster that was built for it
        self._work_on(self._batch())

    def _cluster(self, rows: int) -> Cluster:
        table = self.workload.jobs
        recorded = 0
        if self.options.record_schedule:
            recorded = len(table) if table is not None else max(1024, int(self.rates[1] * (self.options.horizon or 10_000) * 1.1))
        return build(
            self.workload.source([0] * rows, CHUNK),
            self.setting.capacity,
            self.rules.needs,
            clusters=rows,
            places=FIRST_PLACES,
            jobs=None if self.workload.draw else table,
            initial=self.initial,
            record_rows=recorded,
            waiting_limit=self.options.waiting_limit,
            delays=False,
            bins=0,
        )

    def _batch(self) -> Batch:
        service = self.workload.mean_service
        batch = make_batch(self._cluster(self.rows), self.rules, self.sizes, service, finite=self.workload.jobs is not None)
        if self.guard is not None:
            batch.assign("guard_limit", self.options.guard_limit)
        return self._gathered(batch)

    def _gathered(self, batch: Batch) -> Batch:
        """All in large pages, but for a table, which all rows share."""
        found: Batch = gathered(batch, ("source",) if batch.finite else ())
        return found

    def _work_on(self, batch: Batch) -> None:
        """`told`, `passed`: what the steps report, as views. `parts`: what is stepped in one call, the batch or each row.

        `spares`: other arrays for what is to be seen.
        """
        self.batch = batch
        passage = batch.passage
        self.told = {name: passage[name] for name in passage.dtype.names or ()}
        nothing = np.zeros((1, self.rows))[0]
        self.passed = Passage(**{name: self.told.get(name, nothing) for name in Passage._fields})
        self.parts = [part_of(batch, row, own) for row, own in enumerate(self.tables)] or [batch]
        self.spares = {name: Spares(getattr(batch, name)) for name in (*self.rules.seen, "mask")}

    def place_of(self, row: int) -> tuple[Batch, int]:
        """The part that steps row, and where in it the row is."""
        return (self.parts[row], 0) if self.tables else (self.batch, row)

    def fresh_arrays(self, copied: bool = False) -> None:
        """Other arrays for what is to be seen, with what the old ones have if `copied`: whoever holds those keeps them."""
        for name, spares in self.spares.items():
            array, address = spares.take()
            if copied:
                array[...] = getattr(self.batch, name)
            self.batch.point(name, array, address)
            for row in range(len(self.tables)):
                self.parts[row].point(name, array[row : row + 1])

    # episodes

    def seed_rows(self, rows: Iterable[int], roots: Iterable[int]) -> None:
        """Let the next episode of these rows be the first of their seeds."""
        for row, root in zip(rows, roots, strict=True):
            self.roots[row] = root
            self.episodes[row] = -1

    def restart(self, rows: Sequence[int] | NDArray[np.int64]) -> None:
        """Put rows at the beginning of their next episode; the next `step` takes them to its first decision."""
        chosen = np.asarray(rows, np.int64)
        index: Any = slice(None) if len(chosen) == self.rows else chosen
        reset_rows(self.batch.c, index, self.template)
        for row in chosen.tolist():
            self.episodes[row] += 1
            seed = episode_seed(int(self.roots[row]), int(self.episodes[row]))
            self.seeds[row] = seed
            self._begin(row, seed)

    def _begin(self, row: int, seed: int) -> None:
        turn, rate = self.batch.turn[row], self.rate_of(seed)
        if self.workload.jobs is None:
            begin(self.batch.c.source.stream[row], seed, rate / self.workload.arrivals.tasks_per_job())
        turn["phase"] = FRESH
        turn["rate"], turn["exogenous"] = rate, rate * self.mean_size
        if self.tables:
            self._deal(row, seed)
        slots = self.warm.slots if self.warm else 0
        horizon = self.options.horizon
        turn["until"] = NEVER if horizon is None else min(slots + horizon, LATEST)
        if self.guard is not None:
            self.guard.restart(row, seed)
        if self.twins:
            self.twins[row].restart(self.played[row], seed, rate)
        if self.warm:
            self._warm_up(row, seed, rate)

    def rate_of(self, seed: int) -> float:
        """Tasks per slot of an episode."""
        low, high = self.rates
        return low + share(seed) * (high - low) if high > low else low

    def _deal(self, row: int, seed: int) -> None:
        """Let row play the table of this seed."""
        own = self.workload.at(seed)
        self.played[row] = own
        self.tables[row] = build(
            own.source([seed]), self.setting.capacity, self.rules.needs, places=1, jobs=own.jobs, delays=False, bins=0
        )
        self.parts[row] = part_of(self.batch, row, self.tables[row])
        turn = self.batch.turn[row]
        turn["rate"], turn["exogenous"] = own.rate, own.rate * mean_scalar_size(own)

    def _warm_up(self, row: int, seed: int, rate: float) -> None:
        """Put in row what a policy has left after the first slots of the same jobs."""
        assert self.warm is not None
        before = Twin(self.warm.policy, self)
        before.restart(self.played[row], seed, rate)
        before.advance(self.warm.slots)
        waiting, served = tasks_of(before.cluster, 0)
        while len(waiting) + len(served) > self.batch.c.task.shape[1]:
            self.grow()
        batch, place = self.place_of(row)
        at = np.zeros(before.cluster.task.shape[1], np.int64)
        transplant(before.cluster, 0, waiting, served, batch.c, place, at, np.zeros_like(at))
        copy_rows(before.cluster, 0, batch.c, place)
        batch.c.head["fresh"][place] = batch.c.head["freed"][place] = 0
        while 0 < self.batch.c.measures.start.shape[1] < batch.c.head["next_row"][place]:
            self.grow()  # the rows of the schedule
        if self.twins:
            self.twins[row].warm_up(before)

    # steps

    def step(self, first: int = 0, last: int | None = None) -> None:
        """Step rows first .. last - 1: those at a decision take their action, those that begin go to their first decision."""
        end = self.rows if last is None else last
        if self.tables:
            for row in range(first, end):
                while self.step_rows(self.rules.face, self.parts[row]) != NONE:
                    self.help(row)
            return
        self.batch.assign("first", first)
        self.batch.assign("last", end)
        while (row := self.step_rows(self.rules.face, self.batch)) != NONE:
            self.help(row)
            self.batch.assign("first", row)
            self.batch.assign("last", end)

    def help(self, row: int) -> None:
        """Do what a row cannot do by itself: have the guard schedule it, or make room."""
        if self.batch.turn["phase"][row] == BEGUN:
            assert self.guard is not None
            while self.guard.schedule(*self.place_of(row), row) == GROW:
                self.grow()
        else:
            self.grow()

    def baseline_queue(self, rows: Iterable[int]) -> list[float]:
        """∫ Q dt of each row's baseline since it was last asked, up to the row's slot."""
        slots = self.told["slot"]
        return [self.twins[row].advance(int(slots[row])) for row in rows]

    def grow(self) -> None:
        """Room for more tasks in the system, or more rows in the schedule: whichever was short."""
        batch = self.batch
        places = batch.c.task.shape[1]
        recorded = batch.c.measures.start.shape[1]
        if 0 < recorded <= int(batch.c.head["next_row"].max()):
            c, self.template = lengthen(batch.c), lengthen(self.template)
        else:
            most = self.rules.needs.in_service + len(self.initial)
            most_places = self.options.waiting_limit + most + 1
            more = places + max(32, places // 2)
            if places < most_places < more:
                more = most_places
            c, self.template = grow(batch.c, more, most), grow(self.template, more, most)
        self._work_on(self._gathered(on_cluster(batch, c)))

    # snapshots

    def get_state(self) -> dict[str, Any]:
        """Everything that the future depends on, as a copy."""
        return self._copied(self._state())

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to a state that `get_state` gave, of this environment or one with the same arguments."""
        if state.get("kind") != self.kind or state["batch"].mask.shape != self.batch.mask.shape:
            raise InputError("this state is of another environment")
        for name, value in self._copied(state).items():
            setattr(self, name, value)
        self._work_on(self._gathered(self.batch))

    def __getstate__(self) -> dict[str, Any]:
        views = ("parts", "told", "passed", "spares")  # they lie in the batch's memory
        return {name: value for name, value in self.__dict__.items() if name not in views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._work_on(self.batch)

    def _state(self) -> dict[str, Any]:
        names = ("kind", "batch", "template", "played", "tables", "guard", "twins", "roots", "episodes", "seeds")
        return {name: getattr(self, name) for name in names}

    def _copied(self, state: dict[str, Any]) -> dict[str, Any]:
        """A copy that has the workloads, and the rows of tables, in common with the original."""
        c = state["batch"].c
        kept: list[Any] = [self.workload, self.setting, self.options, self, c.capacity, c.scale, *state["played"]]
        if self.workload.jobs is not None:
            kept += [own.source for own in (c, state["template"], *state["tables"])]
        return copy.deepcopy(state, {id(value): value for value in kept})
