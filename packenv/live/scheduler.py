"""`Scheduler`: a policy outside the simulator, for real tasks."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from packenv.cluster.build import build
from packenv.cluster.loop import IN_PART, OVERFULL, runner_for
from packenv.cluster.servers import scalar_capacity
from packenv.cluster.slots import GROW
from packenv.cluster.state import MESSAGE, NEVER, NONE, Cluster
from packenv.errors import InputError, MisuseError, nearest
from packenv.files import write_json
from packenv.inputs.json_files import read_json
from packenv.inputs.numbers import LARGEST_WHOLE, excerpt, finite_amount
from packenv.jobs import GPU, HOW_MANY, MODEL, WHOLE
from packenv.live.rows import (
    STARTED,
    Name,
    Rows,
    Task,
    block,
    devices_in,
    list_starts,
    place_of,
    readmit,
    renumber,
    report,
    withdraw,
)
from packenv.live.setting import setting_for
from packenv.live.snapshot import tasks_of
from packenv.policy import (
    BY_QUEUE,
    UNLIMITED,
    WITH_GANGS,
    attached,
    find_policy,
    find_registered,
    initial_state_of,
    misuse,
    name_of,
    needs_of,
)
from packenv.simulation import check_initial, make_room
from packenv.units import MOST, UNIT
from packenv.workloads.find import workload as find_workload
from packenv.workloads.in_service import InService
from packenv.workloads.network import Network
from packenv.workloads.servers import Servers, as_servers

VERSION = 1
ENDLESS_START = 1 << 48


class Start(NamedTuple):
    """A task that starts now."""

    task: Name
    server: Name
    devices: tuple[int, ...]  # of the server, assigned to the task
    slot: int
    source: Name | None = None  # server that it reads its data from, if reading takes resources


class Scheduler:
    """A policy with its servers, and waiting and running tasks.

    policy        an object, or a name such as "bf-js", "agent:fig4b" or "easy"
    servers       as in `packenv.Workload`: 5, "3x1,2x0.5", capacities (L,) or (L, D), Servers, a file
    resources     names of the D resources. `submit` then takes amounts by name
    workload      like the tasks to come, for policies that need their law: types, mean service
    network       cost of running a task away from its data (packenv.Network)
    slot_seconds  length of a slot, for the steps of a network
    seed          of a random policy
    Raises InputError for a policy that cannot run live, with the reason.
    """

    def __init__(
        self,
        policy: Any,
        servers: int | str | ArrayLike | Servers | None = None,
        *,
        resources: Sequence[str] | None = None,
        workload: Any = None,
        network: Network | None = None,
        slot_seconds: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.policy = find_policy(policy) if isinstance(policy, str) else policy
        self.policy_text = policy if isinstance(policy, str) else name_of(policy)
        self.law = find_workload(workload) if workload is not None else None
        names = tuple(resources) if resources is not None else self.law.resources if self.law is not None else None
        known: Any = servers if servers is not None else self.law.servers if self.law is not None else None
        if known is None:
            raise InputError("give servers, such as '5', '3x64:256' or a file")
        self.servers = as_servers(known, len(names or (0,)), names)
        if names is not None and len(names) != self.servers.D:
            raise InputError(f"resources: {len(names)} names, and servers have {self.servers.D} resources")
        self.resources, self.network, self.slot_seconds, self.seed = names, network, float(slot_seconds), seed
        self.server_names: list[Name] = [*self.servers.names] if self.servers.names else [*range(len(self.servers))]
        self.slot = -1
        self._tasks: dict[Name, Task] = {}  # that wait or run
        self._new: list[Task] = []  # submitted since the last decision
        self._done: list[Task] = []  # completed since then
        self._drained: dict[int, list[int]] = {}  # by server: the places of the pool that hold its room
        self._cluster: Cluster | None = None  # made by the next decision
        self._starts = np.zeros((0, STARTED), np.int64)
        self._prepare()

    @classmethod
    def of(cls, tasks: Any, policy: Any, servers: Any = None, **arguments: Any) -> Scheduler:
        """Return a scheduler of a cluster with running and waiting tasks.

        tasks  a data frame, an Arrow table or a mapping of columns named like arguments of `submit`, with `server` empty for
               waiting tasks. Or a file of `squeue`, `sacct` or kubectl (packenv.live.snapshot)
        Other arguments: see Scheduler. Raises InputError, naming the task.
        """
        rows, known = tasks_of(tasks, arguments.get("resources") or (), arguments.get("slot_seconds", 1.0))
        known |= arguments | ({} if servers is None else {"servers": servers})
        scheduler = cls(policy, **known)
        for row in rows:
            scheduler.submit(**{str(key): value for key, value in row.items()})
        return scheduler

    def to_dict(self) -> dict[str, Any]:
        """Return waiting and running tasks in plain values.

        The policy's memory of earlier slots is left out.
        """
        servers, network, new = self.servers, self.network, {id(task) for task in self._new}
        return {
            "packenv": "scheduler",
            "version": VERSION,
            "policy": self.policy_text,
            "servers": servers.capacity.tolist(),
            "devices": None if servers.devices is None else servers.devices.tolist(),
            "device_kinds": list(servers.device_kinds),
            "names": self.server_names,
            "resources": None if self.resources is None else list(self.resources),
            "network": None if network is None else asdict(network),
            "slot_seconds": self.slot_seconds,
            "seed": self.seed,
            "slot": self.slot,
            "drained": [self.server_names[number] for number in self._drained],
            "tasks": [self._arguments(task, id(task) in new) for task in self._tasks.values()],
        }

    @classmethod
    def from_dict(cls, plain: Any, policy: Any = None, workload: Any = None) -> Scheduler:
        """Return the scheduler of a `to_dict`. Raises InputError.

        `policy`: needed if a file may not name it.
        """
        try:
            if plain["packenv"] != "scheduler" or plain["version"] != VERSION:
                raise InputError("not the state of a scheduler of this version")
            names = [_name("server", name) for name in plain["names"]]
            named = find_registered(plain["policy"]) if policy is None else policy
            scheduler = cls(
                named,
                Servers(plain["servers"], plain["devices"], tuple(map(str, plain["device_kinds"]))),
                workload=workload,
                network=None if plain["network"] is None else Network(**plain["network"]),
                **{key: plain[key] for key in ("resources", "slot_seconds", "seed")},
            )
            if len({*names}) != len(scheduler.servers):
                raise InputError("not the state of a scheduler: servers have different names")
            scheduler.policy_text, scheduler.slot, scheduler.server_names = plain["policy"], int(plain["slot"]), names
            scheduler._prepare()
            for server in plain["drained"]:
                scheduler.drain(server)
            for task in plain["tasks"]:
                scheduler.submit(**task)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as problem:
            raise InputError(f"not the state of a scheduler: {' '.join(str(problem).split())}") from None
        return scheduler

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_dict` as JSON, whole or not at all."""
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str], policy: Any = None, workload: Any = None) -> Scheduler:
        """Return the scheduler that `save` wrote (`from_dict`).

        Nothing in the file is executed. Raises InputError, naming the file.
        """
        try:
            return cls.from_dict(read_json(Path(path)), policy, workload)
        except InputError as problem:
            raise InputError(f"{path}: {str(problem).removeprefix(f'{path}: ')}") from None

    def _arguments(self, task: Task, new: bool) -> dict[str, Any]:
        """Return the arguments of `submit` that give this task again."""
        number, share, kinds = task.devices
        amounts = np.ldexp(np.array(task.demand) / UNIT, np.array(self._scale)).tolist()
        named: dict[str, Any] = {"task": task.name, "size": amounts, "estimate": task.estimate or None, "job": task.job or None}
        named |= {"gang": task.gang, "home": [self.server_names[n] for n in task.home], "remote_overhead": task.overhead or None}
        if self.servers.devices is not None:
            named["gpu"] = share / int(self.servers.devices[:, WHOLE].max()) if share else number
            named["gpu_kinds"] = "|".join(name for k, name in enumerate(self.servers.device_kinds) if kinds >> k & 1)
        if task.server != NONE:
            named |= {"server": self.server_names[task.server], "devices": list(devices_in(task.taken))}
        if not new:
            named["since"] = task.since
        return {key: value for key, value in named.items() if value not in (None, [], "")}

    # Servers and policy

    def _prepare(self) -> None:
        """Derive needs and the runner from policy and servers.

        Raises InputError for a policy that cannot run live.
        """
        servers = self.servers
        self._number = {name: n for n, name in enumerate(self.server_names)}
        self._scale = servers.scale or (0,) * servers.D
        self._setting = setting_for(self.policy, servers, self.resources, self.network, self.law, self.slot_seconds)
        needs = needs_of(self.policy, self._setting)._replace(in_service=UNLIMITED)
        name = name_of(self.policy)
        if needs.table:
            raise InputError(f"{name} must know all jobs before the first one arrives: use packenv.simulate")
        if servers.devices is not None and not needs.devices:
            raise InputError(f"{name} does not look for room on devices, which these servers have")
        if self.network is not None and self.network.takes_resources and not needs.reads:
            raise InputError(f"{name} does not look for room for remote reads, which take resources in this network")
        self._needs = needs._replace(orders=needs.orders | BY_QUEUE) if needs.gangs else needs
        self._run = runner_for(self.policy)
        self._fitting: dict[tuple[Any, ...], bool] = {}

    def add_server(self, name: Name, capacity: str) -> None:
        """Add a server of a capacity such as "64:256", or resume a known one.

        With a new server the policy restarts: it forgets earlier slots.
        """
        if name in self._number:
            self.resume(name)
            return
        self.servers = self.servers.and_kind(capacity)
        self.server_names = [*self.server_names, _name("server", name)]
        self._prepare()
        self._cluster = None

    def drain(self, server: Name) -> None:
        """Start no more tasks on a server. Running tasks continue."""
        number = self._known_server(server)
        if number in self._drained:
            return
        self._drained[number] = []
        if self._cluster is not None:
            c = self._room_for(64)
            freed = [task for task in self._done if task.server == number]
            self._done = [task for task in self._done if task.server != number]
            self._drained[number] = block(c, number)
            for task in freed:
                self._hold(c, task)

    def resume(self, server: Name) -> None:
        """Use a drained server again, from the next decision on."""
        number = self._known_server(server)
        held = self._drained.pop(number, [])
        self._done += [Task("", (), place=place, server=number) for place in held]

    def remove_server(self, server: Name) -> list[Name]:
        """Remove a server. Its tasks wait again, and their names are returned."""
        number = self._known_server(server)
        self.drain(server)
        lost = [task.name for task in self._tasks.values() if task.server == number]
        for name in lost:
            self.fail(name)
        return lost

    def _known_server(self, server: Name) -> int:
        if not isinstance(server, (str, int)) or server not in self._number:
            raise InputError(f"no server {server!r}{nearest(str(server), list(map(str, self.server_names)))}")
        return self._number[server]

    # Tasks

    def submit(
        self,
        task: Name,
        size: float | Sequence[float] | None = None,
        *,
        estimate: float | None = None,
        job: Name | None = None,
        gang: Name | None = None,
        home: Sequence[Name] = (),
        remote_overhead: int = 0,
        gpu_kinds: str = "",
        server: Name | None = None,
        devices: Sequence[int] = (),
        since: int | None = None,
        **amounts: float | str,
    ) -> None:
        """Add a task that waits from the next decision on.

        task       name, unique among waiting and running tasks
        size       demand in units of capacity, or one for each resource. Or amounts by name: cpu=2, memory="4Gi"
        estimate   expected slots, for policies that plan with durations
        job        its job
        gang       its gang. Submit all its tasks between two decisions. They start in the same slot or not at all
        home       servers that hold its data
        remote_overhead  additional slots away from them
        gpu_kinds  kinds of devices that it accepts, "A10|V100". The amount `gpu` is their number, or a part of one
        server     where it runs already, with the numbers of its `devices` there. The policy then restarts
        since      slot since which it waits or runs, by default the next one
        Raises InputError for a name in use, a task that fits on no server, and tasks that the policy cannot take.
        """
        name = _name("task", task)
        if name in self._tasks:
            where = "waits" if self._tasks[name].server == NONE else "runs"
            raise InputError(f"task {name!r} {where} already: names of tasks are different")
        if estimate is None and self._needs.durations:
            raise InputError(f"task {name!r}: {name_of(self.policy)} plans with durations: give estimate, in slots")
        if gang is not None and not self._needs.gangs:
            raise InputError(f"task {name!r}: {name_of(self.policy)} does not start gangs: {WITH_GANGS}")
        # Check the demand, then wait, or run on a server.
        demand, needed = self._demand(name, size, amounts, gpu_kinds)
        fresh = Task(
            name,
            demand,
            0 if estimate is None else max(round(_number(f"task {name!r}: estimate", estimate)), 1),
            0 if job is None else _job_number(job),
            None if gang is None else _name("gang", gang),
            needed,
            tuple(self._known_server(server) for server in home),
            int(_number(f"task {name!r}: remote_overhead", remote_overhead)),
        )
        self._check_fits(fresh)
        if server is None and since is None:
            self._new.append(fresh)
        else:
            fresh.since = max(self.slot, 0) if since is None else int(_number(f"task {name!r}: since", since))
            self._cluster = None
        if server is not None:
            fresh.server, fresh.taken = self._known_server(server), sum(1 << int(device) for device in {*devices})
            self._in_service([task for task in self._tasks.values() if task.server == fresh.server] + [fresh])
        self._tasks[name] = fresh

    def complete(self, task: Name) -> None:
        """Mark a task as ended. Its resources are free at the next decision.

        Raises InputError for a task that does not run.
        """
        self._end(task)

    def fail(self, task: Name) -> None:
        """Mark a task as failed. It waits again, last, without its gang."""
        ended = self._end(task)
        again = replace(ended, gang=None, row=NONE, server=NONE, place=NONE, taken=0)
        self._tasks[again.name] = again
        self._new.append(again)

    def withdraw(self, task: Name) -> None:
        """Remove a waiting task. Raises InputError for one that does not wait."""
        found = self._tasks.get(task)
        if found is None or found.server != NONE:
            raise InputError(f"task {task!r} does not wait{'; it runs' if found else ''}")
        del self._tasks[task]
        if found in self._new:
            self._new.remove(found)
        elif self._cluster is not None and self._needs.rejects and found.gang is None:
            withdraw(self._cluster, place_of(self._cluster, found.row))
            found.row = NONE
        else:  # the policy may remember it
            self._cluster = None

    def _end(self, name: Name) -> Task:
        task = self._tasks.get(name)
        if task is None or task.server == NONE:
            raise InputError(f"task {name!r} does not run{'; it waits' if task else ''}")
        del self._tasks[name]
        if self._cluster is not None:
            if task.server in self._drained:
                self._hold(self._cluster, task)
            else:
                self._done.append(task)
        return task

    def _hold(self, c: Cluster, task: Task) -> None:
        """Hold the room of a task that ended on a drained server."""
        c.task["row"][0, task.place], c.task["slots"][0, task.place] = NONE, ENDLESS_START
        task.row = NONE
        self._drained[task.server].append(task.place)

    def _demand(
        self, name: Name, size: Any, amounts: Mapping[str, Any], kinds: str
    ) -> tuple[tuple[int, ...], tuple[int, int, int]]:
        """Return the units of each resource, and the need for devices."""
        gpu = amounts.get(GPU)
        if size is not None:
            values = [size] if isinstance(size, (int, float, str)) else [*size]
            others = [key for key in amounts if key != GPU]
            if others or len(values) != self.servers.D:
                extra = f"and {others[0]}" if others else f"{len(values)} amounts"
                raise InputError(f"task {name!r}: size {extra}: give {self.servers.D} amounts, or amounts by name, not both")
        else:
            known = self.resources or ()
            for key in amounts:
                if key not in known and not (key == GPU and self.servers.devices is not None):
                    raise InputError(f"task {name!r}: no resource {key!r}{nearest(key, ['size', *known])}")
            values = [amounts.get(key, 0) for key in known] or [0]
        numbers = [_number(f"task {name!r}: size", value) for value in values]
        if not any(numbers):
            raise InputError(f"task {name!r}: all demands are 0")
        demand = tuple(
            max(math.floor(min(math.ldexp(x, -scale), MOST) * UNIT + 1e-3), 1) if x > 0 else 0
            for x, scale in zip(numbers, self._scale, strict=True)
        )
        if self.servers.devices is None:
            return demand, (0, 0, 0)
        if gpu is None and self.resources is not None and GPU in self.resources:
            gpu = numbers[self.resources.index(GPU)]
        return demand, self._devices(name, _number(f"task {name!r}: gpu", gpu or 0), kinds)

    def _devices(self, name: Name, gpu: float, kinds: str) -> tuple[int, int, int]:
        """Return NUMBER, SHARE and KINDS of an amount of GPUs."""
        assert self.servers.devices is not None
        whole, accepted = int(self.servers.devices[:, WHOLE].max()), 0
        for kind in filter(None, kinds.split("|")):
            if kind not in self.servers.device_kinds:
                raise InputError(f"task {name!r}: no server has devices of kind {kind!r}")
            accepted |= 1 << self.servers.device_kinds.index(kind)
        if gpu >= 1 or gpu == 0:
            if gpu != int(gpu):
                raise InputError(f"task {name!r}: {gpu:g} GPUs: a part is of one GPU, several are whole ones")
            return int(gpu), 0, accepted
        return 1, max(round(gpu * whole), 1), accepted

    def _check_fits(self, task: Task) -> None:
        """Raise InputError for a task that fits no empty server."""
        key = (task.demand, task.devices)
        if key not in self._fitting:
            if len(self._fitting) > LARGEST_WHOLE.bit_length() * 1000:
                self._fitting.clear()
            self._fitting[key] = self._fits(task)
        if not self._fitting[key]:
            raise InputError(f"task {task.name!r} fits on no server, or is larger than any that {name_of(self.policy)} takes")

    def _fits(self, task: Task) -> bool:
        servers, needs = self.servers, self._needs
        demand, units = np.array(task.demand), servers.units[servers.examples]
        room = (demand <= units).all(axis=1)
        largest = units.max(axis=0)
        size = int((-(-demand * largest.max() // np.maximum(largest, 1))).max())
        if not needs.vectors:
            room &= size <= scalar_capacity(servers.units)[servers.examples]
        if servers.devices is not None:
            number, share, kinds = task.devices
            devices = servers.devices[servers.examples]
            room &= (devices[:, HOW_MANY] >= number) & (devices[:, WHOLE] >= share)
            if kinds:
                room &= (devices[:, MODEL] >= 0) & (kinds >> np.maximum(devices[:, MODEL], 0) & 1 == 1)
        bounds = [int(needs.least.max())] if needs.room is not None and needs.least is not None else []
        bounds += [int(needs.types.max())] if needs.types is not None and needs.types.ndim == 1 else []
        return bool(room.any()) and all(size <= bound for bound in bounds)

    # Decisions

    def decide(self, now: int | None = None) -> list[Start]:
        """Run the policy and return the tasks that start now.

        They then run until `complete` or `fail`.
        now  the slot, not before the last decision's. Default: the next one. In the same slot the policy decides again, if
             something has changed: a task or a server came, ended or went, or a timer of the policy is due
        Raises InputError for a slot in the past.
        """
        slot = self.slot + 1 if now is None else int(_number("now", now))
        if slot < self.slot:
            raise InputError(f"now is slot {slot}, and the last decision was in slot {self.slot}: time goes forward")
        self.slot = slot
        # Bring new and completed tasks into the cluster. Without any event the policy has nothing to decide.
        c = self._begin(slot) if self._cluster is None else self._take_new(self._cluster, slot)
        done = np.array([task.place for task in self._done], np.int64)
        due = report(c, slot, done, len(done)) + len(self._new)
        self._new = []
        if not due:
            return []
        c = self._play(c, slot)
        for task in self._done:
            task.row = NONE
        self._done = []
        return self._started(c, slot)

    def warm_up(self) -> None:
        """Compile in advance, so that the first decision is fast."""
        probe = Scheduler(self.policy, self.servers, resources=self.resources, workload=self.law, network=self.network)
        probe.decide()

    def observation(self, environment: str, now: int | None = None, **options: Any) -> tuple[Any, Any]:
        """Return an agent's observation and mask at its first decision in slot `now`.

        Nothing is decided. To decide with a model, use it as the policy: Scheduler(packenv.live.Model(environment, predict),
        …).
        """
        from packenv.live.model import Model  # loads the environments

        model = Model(environment, None, **options)
        probe = Scheduler(
            *(model, self.servers),
            **{name: getattr(self, name) for name in ("resources", "network", "slot_seconds", "seed")},
            workload=self.law,
        )
        probe._tasks = {name: replace(task) for name, task in self._tasks.items()}
        probe._drained = {number: [] for number in self._drained}
        probe._new = [probe._tasks[task.name] for task in self._new]
        probe.decide(max(self.slot, 0) if now is None else now)
        assert model.shown is not None
        return model.shown

    @property
    def wake(self) -> int | None:
        """Slot of the next decision without other events, None if not needed."""
        if self._cluster is None:
            return None
        slots = [int(self._cluster.head["wake"][0])]
        if self._needs.reserve:
            task = self._cluster.task[0]
            slots += task["slots"][(task["kind"] == MESSAGE) & (task["slots"] > self.slot)].tolist()
        return min(slots) if min(slots) < NEVER else None

    @property
    def waiting(self) -> list[Name]:
        """Names of the waiting tasks, in order of arrival."""
        return [task.name for task in self._tasks.values() if task.server == NONE]

    @property
    def running(self) -> dict[Name, Name]:
        """Server of each running task, by name."""
        return {task.name: self.server_names[task.server] for task in self._tasks.values() if task.server != NONE}

    def _take_new(self, c: Cluster, slot: int) -> Cluster:
        """Add rows for submitted tasks."""
        if not self._new:
            return c
        rows, renewed = self._rows, False
        for task in self._new:
            task.since = slot
        if len(rows.tasks) + len(self._new) > rows.places:
            new = rows.make_room(len(self._new))
            renumber(c, new)
            c.head["next_row"] = len(rows.tasks)
            renewed = True
        renewed |= rows.add(_side_by_side(self._new), slot)
        return self._attach(c.replace(source=rows.source)) if renewed else c

    def _begin(self, slot: int) -> Cluster:
        """Build the cluster. Waiting tasks are new to the policy."""
        for task in self._new:
            task.since = slot
        running = [task for task in self._tasks.values() if task.server != NONE]
        waiting = sorted((task for task in self._tasks.values() if task.server == NONE), key=lambda task: task.since)
        # A table of the waiting tasks, and a cluster with the running ones.
        self._rows = Rows(self.servers, self.resources, self.network, self.slot_seconds)
        if len(waiting) > self._rows.places:
            self._rows.make_room(len(waiting))
        self._rows.add(_side_by_side(waiting), slot)
        drained, self._new, self._done = [*self._drained], [], []
        c = build(
            self._rows.source,
            self.servers.units,
            self._needs,
            places=64 * (1 + len(drained)) + 2 * len(waiting),
            initial=self._in_service(running),
            measured=False,
        )
        for place, task in enumerate(running):
            task.place, task.row = place, NONE
            c.task["since"][0, place] = min(task.since, slot)
        self._drained = {number: block(c, number) for number in drained}
        self._state = initial_state_of(self.policy, self._setting, self.seed)
        c = self._attach(c)
        readmit(c, np.array([min(task.since, slot) for task in self._rows.tasks], np.int64), slot)
        return c

    def _in_service(self, running: Sequence[Task]) -> InService:
        """Return the running tasks with their expected ends.

        Raises InputError if a server has no room for them.
        """
        rows = [(task.demand, task.server, task.since + task.estimate if task.estimate else ENDLESS_START) for task in running]
        devices = [(*task.devices, task.taken) for task in running]
        in_service = InService.of(rows, self.servers.D)
        if self.servers.devices is not None:
            in_service = replace(in_service, devices=np.array(devices, np.int64).reshape(-1, 4))
        return check_initial(in_service, self.servers)

    def _attach(self, c: Cluster) -> Cluster:
        self._cluster, self._state = c, attached(self.policy, c, self._state)
        self._starts = np.zeros((c.task.shape[1], STARTED), np.int64)
        return c

    def _room_for(self, places: int) -> Cluster:
        """Return the cluster with at least `places` unused places in the pool."""
        assert self._cluster is not None
        while self._cluster.head["free_places"][0] <= places + self._needs.reserve:
            self._attach(make_room(self._cluster))
        return self._cluster

    def _play(self, c: Cluster, slot: int) -> Cluster:
        """Let the policy schedule the slot, enlarging the pool as needed."""
        reason = GROW
        while reason == GROW:
            try:
                reason = self._run(self.policy, c, self._state, slot + 1, 1)
            except MemoryError:
                raise
            except Exception as error:  # the compiled code found a misuse, or a policy in plain Python raised something
                self._cluster = None  # the next decision starts from the known tasks
                raise misuse(self.policy, error, int(c.orders)) from error
            if reason == GROW:
                c = self._attach(make_room(c))
        if reason in (OVERFULL, IN_PART):
            self._cluster = None
            what = "put a server above its capacity" if reason == OVERFULL else "started a gang in part"
            raise MisuseError(f"policy {name_of(self.policy)} {what} in slot {slot}")
        return c

    def _started(self, c: Cluster, slot: int) -> list[Start]:
        names, tasks, starts = self.server_names, self._rows.tasks, []
        for row, place, server, devices, source in self._starts[: list_starts(c, self._starts)].tolist():
            task = tasks[row]
            task.since, task.server, task.place, task.taken = slot, server, place, devices
            reads = None if source == NONE else names[source]
            starts.append(Start(task.name, names[server], devices_in(devices) if devices else (), slot, reads))
        return starts


def _side_by_side(tasks: Sequence[Task]) -> Sequence[Task]:
    """Return the tasks with gangs together."""
    if all(task.gang is None for task in tasks):
        return tasks
    first: dict[Any, int] = {}
    return sorted(tasks, key=lambda task: first.setdefault(task.name if task.gang is None else (task.gang,), len(first)))


def _name(what: str, value: Any) -> Name:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise InputError(f"a {what} is named by a text or a whole number, not {excerpt(str(value))}")
    return value


def _job_number(job: Name) -> int:
    """Return a job's number, or a hash of its name."""
    if isinstance(_name("job", job), int) and 0 <= int(job) <= LARGEST_WHOLE:
        return int(job)
    return int.from_bytes(blake2b(str(job).encode(), digest_size=6).digest())


def _number(what: str, value: Any) -> float:
    """Return an amount >= 0 of a number, or a text such as "500m" or "4Gi"."""
    try:
        return finite_amount(value)
    except InputError as problem:
        raise InputError(f"{what} {problem}") from None
