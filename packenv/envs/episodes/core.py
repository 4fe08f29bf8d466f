"""Clusters, their episodes, and one compiled call to step them.

All interfaces of an environment share it. If every seed has its own table of jobs, each row plays the table of its episode's
seed, in its own call.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.build import build, grow, lengthen
from packenv.cluster.copy_tasks import copy_rows, tasks_of, transplant
from packenv.cluster.fields import reset_rows
from packenv.cluster.slots import GROW
from packenv.cluster.state import NEVER, NONE, Cluster
from packenv.cluster.whole_jobs.state import no_jobs, whole_jobs
from packenv.compiled.helpers import expect
from packenv.envs.core.batch import make_batch, on_cluster, row_of
from packenv.envs.core.definition import Definition
from packenv.envs.core.state import BEGUN, FRESH, WORK_DONE, Batch, Passage
from packenv.envs.core.step import step_of
from packenv.envs.episodes.guard import Guard, together
from packenv.envs.episodes.policy_run import CHUNK, PolicyRun, initial_jobs
from packenv.envs.episodes.seeds import episode_seed, share
from packenv.envs.episodes.workload_facts import check_jobs, levels_for, mean_scalar_size, mean_work, most_in_service
from packenv.envs.observation.layout import sizes_of
from packenv.envs.observation.one_array import Flattening, check_one_array, flattening_of
from packenv.envs.options import INVALID, LATEST, OF_TABLES, ONE_ARRAY, Options, at_rates, split
from packenv.envs.rewards import OF_TABLE, advantage, find_reward, of_jobs, terms_of
from packenv.errors import InputError
from packenv.policy import Setting, name_of
from packenv.workloads.sampling import begin
from packenv.workloads.workload import Workload

Observation = dict[str, NDArray[np.float32]] | NDArray[np.float32]

NO_QUEUE = -1.0  # `baseline_queue` while an episode goes on: NaN is not equal to itself, which checkers mind
FIRST_PLACES = 100  # tasks in the system of a cluster at first: to grow stops a whole batch for tens of milliseconds


class Core:
    """`rows` clusters of one environment, and their episodes (or InputError)."""

    def __init__(self, definition: Definition, rows: int, arguments: dict[str, Any]) -> None:
        if rows < 1:
            raise InputError(f"num_envs must be at least 1, not {rows}")
        for name in definition.without:
            if name in arguments and arguments[name] != getattr(Options, name):
                raise InputError(f"{name}: {definition.name} has no such argument")
        arguments = definition.chosen(arguments)
        specific = {key: arguments[key] for key in definition.own_options if key in arguments}
        shared = {key: value for key, value in arguments.items() if key not in specific}
        options = split(shared, definition.own_options)
        self.workload, self.rates = options.resolved()
        if self.workload.jobs is not None:
            options = replace(options, **{key: value for key, value in OF_TABLES.items() if key not in arguments})
        self.definition, self.rows, self.options = definition, rows, options
        if definition.follows_jobs:
            check_jobs(self.workload, definition.name, "follows whole jobs")
        levels = levels_for(self.workload, options.J)
        units = self.workload.servers.units
        self.setting = Setting(units, self.workload, levels, self.workload.largest_size())
        self.sizes = sizes_of(units, levels, options)
        self.specific = specific  # options that this environment alone has
        layout = definition.layout(self.sizes, units, options, **specific)
        if self.workload.has_devices and not layout.needs.devices:
            raise InputError(f"{definition.name} does not look for room on devices, which tasks of {self.workload.name} need")
        if self.workload.has_gangs:
            raise InputError(f"{definition.name} does not start the tasks of a gang together, which {self.workload.name} has")
        if layout.facts is not None:
            check_jobs(self.workload, definition.name, "knows its jobs")
        needs = layout.needs._replace(in_service=most_in_service(self.workload))
        self.guard = Guard(options.guard, self.setting, rows) if options.guard is not None else None
        if self.guard is not None:
            needs = together(needs, self.guard.needs)
        self.layout = replace(layout, needs=needs)
        self.flat: Flattening | None = None
        if options.observation in ONE_ARRAY:
            check_one_array(options.observation, set(layout.observed), definition.name, options.mask_in_observation)
            self.flat = flattening_of(options.observation, layout)
        self.step_rows = step_of(self.layout.rules)
        self.reward = find_reward(options.reward)
        if of_jobs(self.reward) and not definition.follows_jobs:
            raise InputError(f"reward {options.reward}: {definition.name} does not follow whole jobs; JobFill does")
        if self.reward in OF_TABLE and layout.facts is None:
            raise InputError(f"reward {options.reward}: {definition.name} does not measure it; NextJob does")
        self.mean_size, self.mean_work = mean_scalar_size(self.workload), mean_work(self.workload)
        self.initial = initial_jobs(options.start, self.workload)
        self.warm = options.warm
        compared = self.reward is advantage
        self.baselines = [PolicyRun(options.baseline, self) for _ in range(rows)] if compared else []
        self.yardsticks = [PolicyRun(options.baseline, self) for _ in range(rows)] if options.yardstick or options.perf else []
        self._bound_queue()
        self.arguments = self._arguments_of_states()
        self.roots = np.zeros(rows, np.int64)
        self.episodes = np.full(rows, -1, np.int64)
        self.seeds = np.zeros(rows, np.int64)
        expect(f"{definition.name} {options.observation}", self.setting.capacity.shape[1], otherwise="every environment")
        self.template = self._cluster(1)
        self.played = [self.workload] * rows  # of each row's episode: with the table of its seed, where every seed has one,
        own_tables = bool(self.workload.draw) or definition.follows_jobs or layout.facts is not None
        self.tables = [self.template] * rows if own_tables else []  # a cluster that was built for that table,
        self.jobs = [no_jobs()] * len(self.tables)  # and its jobs, where they are followed,
        self.facts = [np.zeros((0, 0))] * len(self.tables)  # or what is read of its rows
        self._work_on(self._batch())

    def _bound_queue(self) -> None:
        """Compute the bound for `perf` (InputError for varying rates)."""
        if self.options.perf:
            if self.rates[0] != self.rates[1]:
                raise InputError("perf needs one intensity, load or rate with a bound on the mean queue, not a range")
            from packenv.theory.queue_bound.queue_bound import bound_or_zero  # brings the solver with it

            self.bound = bound_or_zero(self.workload)

    def set_rates(self, rates: Mapping[str, Any]) -> None:
        """Set the load, intensity or rate of later episodes.

        A number or (lowest, highest). Raises InputError for a table of jobs, which has one rate.
        """
        if not rates:
            return
        if self.workload.jobs is not None:
            raise InputError(f"{next(iter(rates))}: a table of jobs has a fixed rate: make another environment")
        before = self.workload, self.rates
        try:
            self.workload, self.rates = at_rates(self.workload, rates)
            self._bound_queue()
        except InputError:
            self.workload, self.rates = before
            raise
        self.arguments = self._arguments_of_states()

    def _cluster(self, rows: int) -> Cluster:
        table = self.workload.jobs
        recorded = 0
        if self.options.record_schedule:
            recorded = len(table) if table is not None else max(1024, int(self.rates[1] * (self.options.horizon or 10_000) * 1.1))
        return build(
            self.workload.source([0] * rows, CHUNK),
            self.setting.capacity,
            self.layout.needs,
            clusters=rows,
            places=FIRST_PLACES,
            jobs=None if self.workload.draw else table,
            initial=self.initial,
            record_rows=recorded,
            waiting_limit=self.options.waiting_limit,
            measured=False,
        )

    def _batch(self) -> Batch:
        finite = self.workload.jobs is not None
        batch = make_batch(self._cluster(self.rows), self.layout, self.sizes, self.workload.mean_service, finite)
        batch.assign("nearest", INVALID.index(self.options.invalid))
        if self.guard is not None:
            batch.assign("guard_limit", self.options.guard_limit)
        return batch

    def _work_on(self, batch: Batch) -> None:
        """Step this batch from now on, or its `parts` with their own tables."""
        self.batch = batch
        tables = enumerate(zip(self.tables, self.jobs, self.facts, strict=True))
        self.parts = [row_of(batch, row, c, jobs, facts) for row, (c, jobs, facts) in tables]
        self.passage = Passage(*(batch.passage[name] for name in Passage._fields))

    def place_of(self, row: int) -> tuple[Batch, int]:
        """Return the batch that steps row, and its index there."""
        return (self.parts[row], 0) if self.tables else (self.batch, row)

    def observation(self) -> Observation:
        """Return new arrays (E, …), or one array if normalized."""
        if self.flat is not None:
            return self.flat(self.batch.actions, self.batch.context)
        observed = {name: getattr(self.batch, name).copy() for name in self.layout.observed}
        if self.options.mask_in_observation:
            observed["action_mask"] = self.batch.mask.astype(np.float32)
        return observed

    # episodes

    def seed_rows(self, rows: Iterable[int], roots: Iterable[int]) -> None:
        for row, root in zip(rows, roots, strict=True):
            self.roots[row] = root
            self.episodes[row] = -1

    def begin(self, rows: NDArray[np.int64]) -> None:
        """Take only these rows to their next episode's first decision."""
        self.restart(rows)
        for first, last in ((0, self.rows),) if len(rows) == self.rows else [(row, row + 1) for row in rows.tolist()]:
            self.step(first, last)
        for row in rows.tolist() if self.baselines else ():
            self.baselines[row].advance(int(self.batch.passage["slot"][row]))

    def restart(self, rows: Sequence[int] | NDArray[np.int64]) -> None:
        """Restart these rows before `step` takes them to a decision."""
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
        turn["rate"], turn["exogenous"], turn["offered"] = rate, rate * self.mean_size, rate * self.mean_work
        if self.tables:
            self._play_table_of(row, seed)
        slots = self.warm.slots if self.warm else 0
        horizon = self.options.horizon
        turn["until"] = NEVER if horizon is None else min(slots + horizon, LATEST)
        if self.guard is not None:
            self.guard.restart(row, seed)
        if self.baselines:
            self.baselines[row].restart(self.played[row], seed, rate)
        if self.warm:
            self._warm_up(row, seed, rate)

    def rate_of(self, seed: int) -> float:
        low, high = self.rates
        return low + share(seed) * (high - low) if high > low else low

    def _play_table_of(self, row: int, seed: int) -> None:
        workload = self.workload.at(seed)
        self.played[row] = workload
        self.tables[row] = build(
            workload.source([seed]), self.setting.capacity, self.layout.needs, places=1, jobs=workload.jobs, measured=False
        )
        if self.definition.follows_jobs:
            assert workload.jobs is not None
            self.jobs[row] = whole_jobs(workload.jobs, self.setting.capacity, workload.network, by_data=self.layout.by_data)
        if self.layout.facts is not None:
            self.facts[row] = self.layout.facts(self.setting.playing(workload))
        self.parts[row] = row_of(self.batch, row, self.tables[row], self.jobs[row], self.facts[row])
        turn = self.batch.turn[row]
        turn["rows"], turn["mean_service"] = len(workload.jobs or ()), workload.mean_service
        turn["rate"], turn["exogenous"] = workload.rate, workload.rate * mean_scalar_size(workload)
        turn["offered"] = workload.rate * mean_work(workload) * workload.mean_service / self.workload.mean_service

    def _warm_up(self, row: int, seed: int, rate: float) -> None:
        """Give row the tasks that a warm start leaves."""
        before = self._warm_run(row, seed, rate)
        waiting, served = tasks_of(before.cluster, 0)
        while len(waiting) + len(served) > self.batch.c.task.shape[1]:
            self.grow()
        batch, place = self.place_of(row)
        at = np.zeros(before.cluster.task.shape[1], np.int64)
        # copy the tasks, and the future of the table
        transplant(before.cluster, 0, waiting, served, batch.c, place, at, np.zeros_like(at))
        copy_rows(before.cluster, 0, batch.c, place)
        batch.c.head["fresh"][place] = batch.c.head["freed"][place] = 0
        while 0 < self.batch.c.measures.start.shape[1] < batch.c.head["next_row"][place]:
            self.grow()  # the rows of the schedule
        if self.baselines:
            self.baselines[row].warm_up(before)

    def _warm_run(self, row: int, seed: int, rate: float) -> PolicyRun:
        assert self.warm is not None
        run = PolicyRun(self.warm.policy, self)
        run.restart(self.played[row], seed, rate)
        run.advance(self.warm.slots)
        return run

    # steps

    def step(self, first: int = 0, last: int | None = None) -> None:
        """Step rows `first` to `last` - 1 to their decisions."""
        end = self.rows if last is None else last
        if self.tables:
            for row in range(first, end):
                while self.step_rows(self.layout.rules, self.parts[row]) != NONE:
                    self.help(row)
            return
        self.batch.assign("first", first)
        self.batch.assign("last", end)
        while (row := self.step_rows(self.layout.rules, self.batch)) != NONE:
            self.help(row)
            self.batch.assign("first", row)
            self.batch.assign("last", end)

    def help(self, row: int) -> None:
        """Let the guard schedule the row, or make room."""
        if self.batch.turn["phase"][row] == BEGUN:
            assert self.guard is not None
            while self.guard.schedule(*self.place_of(row), row) == GROW:
                self.grow()
        else:
            self.grow()

    def advance_baselines(self) -> None:
        """Write the new ∫ Q dt of baselines, to their ends."""
        passage, turn = self.batch.passage, self.batch.turn
        for row, run in enumerate(self.baselines):
            until = turn["until"][row] if passage["reason"][row] == WORK_DONE else passage["slot"][row]
            passage["baseline"][row] = run.advance(int(until))

    def yardstick(self, row: int) -> dict[str, float]:
        """Return the baseline's entries in `info`, otherwise NO_QUEUE.

        The baseline runs when the episode ends. `perf` compares mean queues over the same slots, or mean delays if all work is
        done.
        """
        passage = self.batch.passage[row]
        if passage["reason"] == 0:
            return dict.fromkeys(self.of_yardstick, NO_QUEUE)
        run = self._yardstick_run(row)
        values = {"baseline_queue": run.mean_queue, "baseline_delay": run.mean_delay}
        if self.options.perf:
            compared = "delay" if passage["reason"] == WORK_DONE else "queue"
            values["perf"] = self.perf(float(passage[f"mean_{compared}"]), values[f"baseline_{compared}"])
        if self.layout.facts is not None:
            values["baseline_slowdown"] = run.mean_slowdown()
        return values

    @property
    def of_yardstick(self) -> tuple[str, ...]:
        slowdown = () if self.layout.facts is None else ("baseline_slowdown",)
        return ("baseline_queue", "baseline_delay", *(("perf",) if self.options.perf else ()), *slowdown)

    def _yardstick_run(self, row: int) -> PolicyRun:
        """Return the baseline's run of the row's episode, to its slot or end."""
        run, slot = self._restarted_yardstick(row), int(self.batch.passage["slot"][row])
        done, until = self.batch.passage["reason"][row] == WORK_DONE, int(self.batch.turn["until"][row])
        run.advance(NEVER if done else slot)
        if done and run.slot > until:
            run = self._restarted_yardstick(row)
            run.advance(until)
        return run

    def _restarted_yardstick(self, row: int) -> PolicyRun:
        run, seed = self.yardsticks[row], int(self.seeds[row])
        rate = float(self.batch.turn["rate"][row])  # of this episode: later ones may have another
        run.restart(self.played[row], seed, rate)
        if self.warm:
            run.warm_up(self._warm_run(row, seed, rate))
        return run

    def perf(self, mean: float, baseline: float) -> float:
        """Return 0 at twice the baseline's mean, 1 when bounded."""
        worst = 2 * baseline
        if worst <= self.bound:  # an episode so short that its queue has not grown yet
            return float(mean <= baseline)
        return min(max((worst - mean) / (worst - self.bound), 0.0), 1.0)

    def terms(self, passage: Passage) -> dict[str, Any]:
        return terms_of(self.reward, passage) | {"invalid": 0.0 - self.options.invalid_penalty * passage.invalid}

    def grow(self) -> None:
        """Make room for more tasks, or more rows to record."""
        batch = self.batch
        places = batch.c.task.shape[1]
        recorded = batch.c.measures.start.shape[1]
        if 0 < recorded <= int(batch.c.head["next_row"].max()):
            c, self.template = lengthen(batch.c), lengthen(self.template)
        else:
            # half as many more, up to the most that can ever be needed
            most = self.layout.needs.in_service + len(self.initial)
            most_places = self.options.waiting_limit + most + 1
            more = places + max(32, places // 2)
            if places < most_places < more:
                more = most_places
            c, self.template = grow(batch.c, more, most), grow(self.template, more, most)
        self._work_on(on_cluster(batch, c))

    # snapshots

    def get_state(self) -> dict[str, Any]:
        """Return a copy of everything that the future depends on."""
        return {"name": self.definition.name, "arguments": self.arguments, **self._copied(self._state())}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state of `get_state` with the same arguments.

        Only arguments about rewards (without `advantage`) and presentation may differ. Raises InputError.
        """
        if not isinstance(state, dict) or state.get("name") != self.definition.name:
            raise InputError("this state is not from get_state of this environment")
        rows = state["batch"].c.head.shape[0]
        if rows != self.rows:
            raise InputError(f"this state is of a batch of {rows}, and this batch has {self.rows}")
        if state["arguments"] is not self.arguments:
            self._check_arguments(state["arguments"])
        for name, value in self._copied({name: state[name] for name in self._state()}).items():
            setattr(self, name, value)
        self._work_on(self.batch)

    def _check_arguments(self, others: dict[str, Any]) -> None:
        for name, mine in self.arguments.items():
            same = same_tasks(mine, others[name]) if isinstance(mine, Workload) else mine == others[name]
            if not same:
                values = "" if isinstance(mine, (Workload, list)) else f" {others[name]!r}, not {mine!r}"
                raise InputError(f"this state is of an environment with other arguments: {name}{values}")

    def _arguments_of_states(self) -> dict[str, Any]:
        """Return the arguments that a restored state must share."""
        options, initial, warm = self.options, self.initial, self.warm
        names = ("horizon", "waiting_limit", "jobs", "observation", "window", "types", "invalid", "guard_limit")
        return {
            "workload": self.workload.name,
            "servers": str(self.workload.servers),
            **{name: getattr(options, name) for name in names},
            **self.layout.rules._asdict(),
            "J": self.sizes.levels,
            "record_schedule": options.record_schedule,
            "guard": None if options.guard is None else label_of(options.guard),
            "baseline": label_of(options.baseline) if self.baselines else None,
            "start": [
                initial.demand.tolist(),
                initial.server.tolist(),
                initial.remaining.tolist(),
                warm and (label_of(warm.policy), warm.slots),
            ],
            "load, intensity or rate": self.rates,
            "tasks": self.workload,
        }

    def __getstate__(self) -> dict[str, Any]:
        views = ("parts", "passage")  # of the batch's memory
        return {name: value for name, value in self.__dict__.items() if name not in views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._work_on(self.batch)

    def _state(self) -> dict[str, Any]:
        names = ["batch", "template", "played", "tables", "jobs", "facts", "guard", "baselines", "roots", "episodes", "seeds"]
        return {name: getattr(self, name) for name in names}

    def _copied(self, state: dict[str, Any]) -> dict[str, Any]:
        c = state["batch"].c
        common: list[Any] = [self.workload, self.setting, self.options, self, c.capacity, c.scale, *state["played"]]
        if self.workload.jobs is not None:
            common += [cluster.source for cluster in (c, state["template"], *state["tables"])]
        return copy.deepcopy(state, {id(value): value for value in common})


def label_of(policy: Any) -> str:
    return policy if isinstance(policy, str) else name_of(policy)


def same_tasks(first: Workload, second: Workload) -> bool:
    """Return whether two workloads have the same laws or tables."""
    if first is second or first.jobs is None or second.jobs is None:
        return first is second or (first.jobs is second.jobs and first.to_dict() == second.to_dict())
    pairs = [(getattr(first.jobs, column.name), getattr(second.jobs, column.name)) for column in fields(first.jobs)]
    drawn_alike = type(first.draw) is type(second.draw) and first.network == second.network
    return drawn_alike and all(np.array_equal(one, other) for one, other in pairs)
