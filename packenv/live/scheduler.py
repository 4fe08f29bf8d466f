"""`Scheduler`: a policy outside the simulator, for real tasks."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import blake2b
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from packenv.cluster.state import NONE
from packenv.errors import InputError, nearest
from packenv.files import write_json
from packenv.inputs.json_files import read_json
from packenv.inputs.numbers import LARGEST_WHOLE, excerpt, finite_amount
from packenv.jobs import GPU, MOST_DEVICES
from packenv.live.rows import Name, Rows, Task, devices_in, in_service
from packenv.live.setting import LiveSetting
from packenv.live.snapshot import tasks_of
from packenv.policy import WITH_GANGS, find_policy, find_registered, name_of
from packenv.workloads.find import workload as find_workload
from packenv.workloads.network import Network
from packenv.workloads.servers import Servers, as_servers

VERSION = 1
OF_SERVERS = ("resources", "network", "slot_seconds", "seed")
"""Arguments of a Scheduler that its saved state has."""


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
        self.policy_text = policy if isinstance(policy, str) else name_of(policy)
        law = None if workload is None else find_workload(workload)
        names = tuple(resources) if resources is not None else None if law is None else law.resources
        known: Any = servers if servers is not None or law is None else law.servers
        if known is None:
            raise InputError("give servers, such as '5', '3x64:256' or a file")
        cluster = as_servers(known, len(names or (0,)), names)
        if names is not None and len(names) != cluster.D:
            raise InputError(f"resources: {len(names)} names, and servers have {cluster.D} resources")
        policy = find_policy(policy) if isinstance(policy, str) else policy
        self.setting = LiveSetting(policy, cluster, names, network, law, float(slot_seconds), seed)
        self._name_servers([*cluster.names] or [*range(len(cluster))])
        self.slot = -1
        self._tasks: dict[Name, Task] = {}  # that wait or run
        self._new: list[Task] = []  # submitted since the last decision
        self._ended: list[Task] = []  # completed or failed since then
        self._held: set[Name] = set()  # waiting tasks whose gang `after` has not started
        self._drained: set[int] = set()
        self._rows: Rows | None = None  # built by the next decision

    @classmethod
    def of(cls, tasks: Any, policy: Any, servers: Any = None, **arguments: Any) -> Scheduler:
        """Return a scheduler of a cluster with running and waiting tasks.

        tasks  a data frame, an Arrow table or a mapping of columns named like arguments of `submit`, with `server` empty for
               waiting tasks. Or a file of `squeue`, `sacct` or kubectl (packenv.live.snapshot)
        Other arguments: see Scheduler. Raises InputError, naming the task.
        """
        rows, known = tasks_of(tasks, arguments.get("resources") or (), arguments.get("slot_seconds", 1.0))
        scheduler = cls(policy, **known | arguments | ({} if servers is None else {"servers": servers}))
        for row in rows:
            scheduler.submit(**{str(key): value for key, value in row.items()})
        return scheduler

    # State as plain values

    def to_dict(self) -> dict[str, Any]:
        """Return waiting and running tasks in plain values.

        The policy's memory of earlier slots is left out.
        """
        live, servers, names = self.setting, self.setting.servers, self.server_names
        new = {id(task) for task in self._new}
        return {
            "packenv": "scheduler",
            "version": VERSION,
            "policy": self.policy_text,
            "servers": servers.capacity.tolist(),
            "devices": None if servers.devices is None else servers.devices.tolist(),
            "device_kinds": list(servers.device_kinds),
            "names": names,
            **{name: getattr(live, name) for name in OF_SERVERS},
            "resources": None if live.resources is None else list(live.resources),
            "network": None if live.network is None else asdict(live.network),
            "slot": self.slot,
            "drained": [names[number] for number in sorted(self._drained)],
            "tasks": [
                task.arguments
                | ({} if task.server == NONE else {"server": names[task.server], "devices": list(devices_in(task.taken))})
                | ({} if id(task) in new else {"since": task.since})
                for task in self._tasks.values()
            ],
        }

    @classmethod
    def from_dict(cls, plain: Any, policy: Any = None, workload: Any = None) -> Scheduler:
        """Return the scheduler of a `to_dict`. Raises InputError.

        `policy`: needed if a file may not name it.
        """
        try:
            if plain["packenv"] != "scheduler" or plain["version"] != VERSION:
                raise InputError("not the state of a scheduler of this version")
            arguments = {name: plain[name] for name in OF_SERVERS}
            arguments["network"] = None if plain["network"] is None else Network(**plain["network"])
            servers = Servers(plain["servers"], plain["devices"], tuple(map(str, plain["device_kinds"])))
            named = find_registered(plain["policy"]) if policy is None else policy
            scheduler = cls(named, servers, workload=workload, **arguments)
            scheduler.policy_text, scheduler.slot = plain["policy"], int(plain["slot"])
            scheduler._name_servers([_name("server", name) for name in plain["names"]])
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

    # Servers

    def add_server(self, name: Name, capacity: str) -> None:
        """Add a server of a capacity such as "64:256", or resume a known one.

        With a new server the policy restarts: it forgets earlier slots.
        """
        if not isinstance(capacity, str):
            raise InputError(f'server {name!r}: a capacity is a text such as "64:256", not {excerpt(str(capacity))}')
        if isinstance(name, Hashable) and name in self._number:
            self.resume(name)
        else:
            names = [*self.server_names, _name("server", name)]
            self.setting = replace(self.setting, servers=self.setting.servers.and_kind(capacity))
            self._name_servers(names)
            self._rows = None

    def _name_servers(self, names: list[Name]) -> None:
        self.server_names, self._number = names, {name: number for number, name in enumerate(names)}
        if not len(self._number) == len(names) == len(self.setting.servers):
            raise InputError(f"{len(self.setting.servers)} servers have different names, not {', '.join(map(str, names))}")

    def drain(self, server: Name) -> None:
        """Start no more tasks on a server. Running tasks continue."""
        self._drained.add(self._known_server(server))

    def resume(self, server: Name) -> None:
        """Use a drained server again, from the next decision on."""
        self._drained.discard(self._known_server(server))

    def remove_server(self, server: Name) -> list[Name]:
        """Remove a server. Its tasks wait again, and their names are returned."""
        self.drain(server)
        lost = [name for name, where in self.running.items() if where == server]
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
        after: Name | None = None,
        home: Sequence[Name] = (),
        remote_overhead: int = 0,
        gpu_kinds: str | Sequence[str] = "",
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
        after      a gang that starts before. The task is held while tasks of this gang wait
        home       servers that hold its data
        remote_overhead  additional slots away from them
        gpu_kinds  kinds of devices that it accepts, "A10|V100" or a list. The amount `gpu` is their number, or a part of one
        server     where it runs already, with the numbers of its `devices` there. The policy then restarts
        since      slot since which it waits or runs, by default the next one
        Raises InputError for a name in use, a task that fits on no server, and tasks that the policy cannot take.
        """
        live, where = self.setting, f"task {_name('task', task)!r}"
        if task in self._tasks:
            state = "waits" if self._tasks[task].server == NONE else "runs"
            raise InputError(f"{where} {state} already: names of tasks are different")
        if estimate is None and live.needs.durations:
            raise InputError(f"{where}: {name_of(live.policy)} plans with durations: give estimate, in slots")
        if gang is not None and not live.needs.gangs:
            raise InputError(f"{where}: {name_of(live.policy)} does not start gangs: {WITH_GANGS}")
        if gang is not None and after is not None:
            raise InputError(f"{where}: give gang or after, not both: a gang is not held in part")
        # The demand in units, and the arguments in plain values.
        home = _listed(f"{where}: home", home)
        gpu_kinds = gpu_kinds if isinstance(gpu_kinds, str) else "|".join(map(str, _listed(f"{where}: gpu_kinds", gpu_kinds)))
        sizes = self._sizes(where, size, amounts)
        gpu = _number(f"{where}: gpu", amounts.get(GPU, dict(zip(self.setting.resources or (), sizes, strict=False)).get(GPU, 0)))
        slots = None if estimate is None else _number(f"{where}: estimate", estimate)
        extra = int(_number(f"{where}: remote_overhead", remote_overhead))
        plain = {"size": sizes, "estimate": slots, "job": job, "gang": gang, "after": after}
        plain |= {"home": home, "remote_overhead": extra}
        plain |= {"gpu": gpu, "gpu_kinds": gpu_kinds} if self.setting.servers.devices is not None else {}
        fresh = Task(
            task,
            {"task": task} | {key: value for key, value in plain.items() if value not in (None, [], "")},
            live.units(sizes),
            0 if slots is None else max(round(slots), 1),
            0 if job is None else _job_number(job),
            None if gang is None else _name("gang", gang),
            None if after is None else _name("gang", after),
            live.devices(where, gpu, gpu_kinds),
            tuple(self._known_server(server) for server in home),
            extra,
        )
        if not live.takes(fresh.demand, fresh.devices):
            raise InputError(f"{where} fits on no server, or is larger than any that {name_of(live.policy)} takes")
        # It waits, or runs on a server.
        if since is not None or server is not None:
            fresh.since = max(self.slot, 0) if since is None else _slot(f"{where}: since", since)
        if server is not None:
            numbers = {_device(where, device) for device in _listed(f"{where}: devices", devices)}
            fresh.server, fresh.taken = self._known_server(server), sum(1 << device for device in numbers)
            try:
                in_service(live.servers, [*(other for other in self._tasks.values() if other.server == fresh.server), fresh])
            except InputError as error:  # "initial job 1: server 0 has no room for it"
                reason = str(error).partition(": ")[2].replace(f"server {fresh.server}", f"server {server}")
                raise InputError(f"{where}: {reason}") from None
        if since is None and server is None:
            self._new.append(fresh)
        else:
            self._rows = None
        if after is not None and server is None:
            self._held.add(task)
        self._tasks[task] = fresh

    def _sizes(self, where: str, size: Any, amounts: Mapping[str, Any]) -> list[float]:
        """Return the demand of each resource."""
        known = self.setting.resources or ()
        if size is None:
            for key in amounts:
                if key not in known and (key != GPU or self.setting.servers.devices is None):
                    raise InputError(f"{where}: no resource {key!r}{nearest(key, ['size', *known])}")
            values = [amounts.get(key, 0) for key in known] or [0]
        else:
            values = [size] if isinstance(size, (float, int, str, Real)) else _listed(f"{where}: size", size)
            others = [key for key in amounts if key != GPU]
            if others or len(values) != self.setting.servers.D:
                extra = f"and {others[0]}" if others else f"{len(values)} amounts"
                raise InputError(f"{where}: size {extra}: give {self.setting.servers.D} amounts, or amounts by name, not both")
        sizes = [_number(f"{where}: size", value) for value in values]
        if not any(sizes):
            raise InputError(f"{where}: all demands are 0")
        return sizes

    def complete(self, task: Name) -> None:
        """Mark a task as ended. Its resources are free at the next decision.

        Raises InputError for a task that does not run.
        """
        self._end(task)

    def fail(self, task: Name) -> None:
        """Mark a task as failed. It waits again, last, without its gang."""
        ended = self._end(task)
        arguments = {key: value for key, value in ended.arguments.items() if key not in ("gang", "after")}
        again = replace(ended, arguments=arguments, gang=None, after=None, row=NONE, server=NONE, place=NONE, taken=0)
        self._tasks[task] = again
        self._new.append(again)

    def _end(self, name: Name) -> Task:
        task = self._tasks.get(name) if isinstance(name, Hashable) else None
        if task is None or task.server == NONE:
            raise InputError(f"task {name!r} does not run{'; it waits' if task else ''}")
        self._ended.append(self._tasks.pop(name))
        return task

    def withdraw(self, task: Name) -> None:
        """Remove a waiting task. Raises InputError for one that does not wait."""
        waiting = self._tasks.get(task) if isinstance(task, Hashable) else None
        if waiting is None or waiting.server != NONE:
            raise InputError(f"task {task!r} does not wait{'; it runs' if waiting else ''}")
        del self._tasks[task]
        if waiting in self._new:
            self._new.remove(waiting)
        elif task in self._held:
            pass
        elif self._rows is not None and self.setting.needs.rejects and waiting.gang is None:
            self._rows.withdraw(waiting)
        else:  # the policy may remember it
            self._rows = None
        self._held.discard(task)

    # Decisions

    def decide(self, now: int | None = None) -> list[Start]:
        """Run the policy and return the tasks that start now.

        They then run until `complete` or `fail`.
        now  the slot, not before the last decision's. Default: the next one. In the same slot the policy decides again, if
             something has changed: a task or a server came, ended or went, or a timer of the policy is due
        Raises InputError for a slot in the past.
        """
        slot = self.slot + 1 if now is None else _slot("now", now)
        if slot < self.slot:
            raise InputError(f"now is slot {slot}, and the last decision was in slot {self.slot}: time goes forward")
        self.slot = slot
        self._release()
        starts = self._starts(slot)
        while self._release():
            starts += self._starts(slot)
        return starts

    def _release(self) -> bool:
        """Let held tasks wait if their gang has started, return whether there are any.

        They wait since they were submitted, so the policy restarts.
        """
        if not self._held:
            return False
        gangs = {task.gang for task in self._tasks.values() if task.server == NONE}
        ready = {name for name in self._held if self._tasks[name].after not in gangs}
        if ready:
            self._held -= ready
            self._rows = None
        return bool(ready)

    def _starts(self, slot: int) -> list[Start]:
        """Run the policy with all tasks that are not held."""
        rows, new, ended = self._rows, self._new, self._ended
        # If the policy fails, the next decision begins from the tasks alone.
        self._rows, self._new, self._ended = None, [], []
        for task in new:
            task.since = slot
        if rows is None:
            tasks = [task for task in self._tasks.values() if task.name not in self._held]
            rows, new, ended = Rows(self.setting, tasks, slot), [], []
        elif self._held:
            new = [task for task in new if task.name not in self._held]
        names, starts = self.server_names, []
        for task, source in rows.decide(new, ended, self._drained, slot):
            reads = None if source == NONE else names[source]
            starts.append(Start(task.name, names[task.server], devices_in(task.taken), slot, reads))
        self._rows = rows
        return starts

    def warm_up(self) -> None:
        """Compile in advance, so that the first decision is fast."""
        self._probe(self.setting.policy).decide()

    def _probe(self, policy: Any) -> Scheduler:
        """Return a scheduler with these servers and no tasks."""
        others = {name: getattr(self.setting, name) for name in (*OF_SERVERS, "workload")}
        return Scheduler(policy, self.setting.servers, **others)

    def observation(self, environment: str, now: int | None = None, **options: Any) -> tuple[Any, Any]:
        """Return an agent's observation and mask at its first decision in slot `now`.

        Nothing is decided. To decide with a model, use it as the policy: Scheduler(packenv.live.Model(environment, predict),
        …).
        """
        from packenv.live.model import Model  # loads the environments

        model = Model(environment, None, **options)
        probe = self._probe(model)
        probe._tasks = {name: replace(task) for name, task in self._tasks.items()}
        probe._drained, probe._held = self._drained, {*self._held}
        probe._new = [probe._tasks[task.name] for task in self._new]
        probe.decide(max(self.slot, 0) if now is None else now)
        assert model.shown is not None
        return model.shown

    @property
    def wake(self) -> int | None:
        """Slot of the next decision without other events, None if not needed."""
        return None if self._rows is None else self._rows.wake

    @property
    def waiting(self) -> list[Name]:
        """Names of the waiting tasks, in order of arrival."""
        return [task.name for task in self._tasks.values() if task.server == NONE]

    @property
    def running(self) -> dict[Name, Name]:
        """Server of each running task, by name."""
        return {task.name: self.server_names[task.server] for task in self._tasks.values() if task.server != NONE}


def _name(what: str, value: Any) -> Name:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise InputError(f"a {what} is named by a text or a whole number, not {excerpt(str(value))}")
    return value


def _listed(what: str, value: Any) -> list[Any]:
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InputError(f"{what} is a list, not {excerpt(str(value))}")
    return [*value]


def _device(where: str, value: Any) -> int:
    """Return the number of a device."""
    number = _number(f"{where}: devices", value)
    if not number.is_integer() or number >= MOST_DEVICES:
        raise InputError(f"{where}: devices are numbered from 0 to {MOST_DEVICES - 1}, not {excerpt(str(value))}")
    return int(number)


def _job_number(job: Name) -> int:
    """Return a job's number, or a hash of its name."""
    if isinstance(_name("job", job), int) and 0 <= int(job) <= LARGEST_WHOLE:
        return int(job)
    return int.from_bytes(blake2b(str(job).encode(), digest_size=6).digest())


def _slot(what: str, value: Any) -> int:
    """Return a slot of a whole number."""
    if not (number := _number(what, value)).is_integer():
        raise InputError(f"{what} is a slot, a whole number, not {value}")
    return int(number)


def _number(what: str, value: Any) -> float:
    """Return an amount >= 0 of a number, or a text such as "500m" or "4Gi"."""
    if type(value) in (float, int) and 0 <= value <= LARGEST_WHOLE:  # most of them, in a tenth of the time
        return float(value)
    try:
        return finite_amount(value)
    except InputError as problem:
        raise InputError(f"{what} {problem}") from None
