"""Devices of servers, such as GPUs, and the tasks that need them.

A device is a part of a server with its own capacity. A task takes a share of one device, or several whole free devices. The sum
over a server's devices is an additional ordinary resource. A task may name the kinds of devices that it accepts.
Source: Weng et al., "Beware of fragmentation", USENIX ATC 2023 (PAPERS §7).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.content.tables import Column, Table, numbers
from packenv.jobs import GPU, HOW_MANY, KINDS, MODEL, NO_MODEL, NUMBER, SHARE, WHOLE, Jobs
from packenv.workloads.servers import Servers

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Devices(NamedTuple):
    """Servers' devices and tasks' needs for compiled code, possibly empty."""

    need: Ints  # (1, n, 3) as `Jobs.devices`; (1, 0, 3) without
    server: Ints  # (L, 3) as `Servers.devices`; (0, 3) without
    total: int = 0  # the resource that is their sum; D if none is


NO_DEVICES = Devices(need=np.zeros((1, 0, 3), np.int64), server=np.zeros((0, 3), np.int64))


def devices_of(jobs: Jobs, servers: Servers, resources: tuple[str, ...] | None) -> Devices:
    """Return the device arrays of a table and its servers."""
    if jobs.devices is None or servers.devices is None:
        return NO_DEVICES
    total = resources.index(GPU) if resources is not None and GPU in resources else servers.D
    return Devices(np.ascontiguousarray(jobs.devices)[None], np.ascontiguousarray(servers.devices), total)


def accepted(jobs: Jobs, servers: Servers, server: int) -> Bools:
    """Mark the tasks (n,) that accept a server's devices, in any amount."""
    assert jobs.devices is not None and servers.devices is not None
    kinds, model = jobs.devices[:, KINDS], int(servers.devices[server, MODEL])
    return np.asarray((kinds == 0) | ((kinds >> model & 1 == 1) if model >= 0 else False))


def could_have(jobs: Jobs, servers: Servers, server: int) -> Bools:
    """Mark the tasks (n,) whose devices an empty server has."""
    if jobs.devices is None or servers.devices is None:
        return np.ones(len(jobs), np.bool_)
    number, full = int(servers.devices[server, HOW_MANY]), int(servers.devices[server, WHOLE])
    enough = (jobs.devices[:, NUMBER] <= number) & (jobs.devices[:, SHARE] <= full)
    return np.asarray(enough & accepted(jobs, servers, server))


def needed_devices(jobs: Jobs, row: int) -> str:
    """Describe a row's devices: "2 whole devices of A10|V100", "500 of one device"."""
    assert jobs.devices is not None
    number, share, kinds = jobs.devices[row].tolist()
    amount = f"{share} of one device" if share else f"{number} whole device{'' if number == 1 else 's'}"
    return amount + (f" of {needed_kinds(jobs, row)}" if kinds else "")


def needed_kinds(jobs: Jobs, row: int) -> str:
    """Return a row's kinds of devices, "A10|V100" (all: "")."""
    assert jobs.devices is not None
    return "|".join(name for k, name in enumerate(jobs.device_kinds) if int(jobs.devices[row, KINDS]) >> k & 1)


def unknown_kinds(jobs: Jobs, servers: Servers) -> Bools:
    """Mark the tasks (n,) that only accept kinds no server has."""
    if jobs.devices is None or servers.devices is None:
        return np.zeros(len(jobs), np.bool_)
    there = servers.devices[servers.devices[:, HOW_MANY] > 0, MODEL]
    has = int(np.bitwise_or.reduce(np.where(there >= 0, 1 << np.maximum(there, 0), 0), initial=0))
    return np.asarray((jobs.devices[:, KINDS] != 0) & (jobs.devices[:, KINDS] & has == 0))


def devices_in_words(servers: Servers) -> str:
    """Count devices by kind: "4,278 of A10, 16 of V100, 2 others"."""
    assert servers.devices is not None
    number, model = servers.devices[:, HOW_MANY], servers.devices[:, MODEL]
    counts = {name: int(number[model == k].sum()) for k, name in enumerate(servers.device_kinds)}
    parts = [f"{count:,} of {name}" for name, count in counts.items() if count]
    others = int(number[model == NO_MODEL].sum())
    parts += [f"{others:,} others" if parts else f"{others:,}"] if others or not parts else []
    return ", ".join(parts)


class KindLoad(NamedTuple):
    """Demand of the tasks that accept only some kinds of devices."""

    kinds: str  # "A10|V100"; "" for all tasks
    tasks: int
    wanted: float  # devices that these tasks have in service on average, if none waits for ever
    there: int  # devices of these kinds

    @property
    def share(self) -> float | None:
        """Wanted share of the available devices, None without any."""
        return self.wanted / self.there if self.there else None


def kind_loads(jobs: Jobs, servers: Servers, duration: NDArray[np.float64], span: float) -> tuple[KindLoad, ...]:
    """Return the demand by accepted kinds: all tasks, then the scarcest first.

    `duration` (n,) and the `span` of the table are in one unit of time.
    """
    assert jobs.devices is not None and servers.devices is not None
    number, part, accepted = jobs.devices.T
    # Device-time of each task, and the devices of each server.
    work = duration * np.where(part > 0, part / servers.devices[:, WHOLE].max(), number)
    there, model = servers.devices[:, HOW_MANY], servers.devices[:, MODEL]
    loads = []
    for kinds in [0, *sorted(set(accepted.tolist()) - {0})]:
        # Tasks that accept only these kinds, and servers of these kinds.
        within = (accepted & ~kinds == 0) & (accepted != 0) if kinds else np.ones(len(jobs), np.bool_)
        of_these = (model >= 0) & (kinds >> np.maximum(model, 0) & 1 == 1) if kinds else np.ones(len(servers), np.bool_)
        name = needed_kinds(jobs, int(np.argmax(accepted == kinds))) if kinds else ""
        loads.append(KindLoad(name, int(within.sum()), float(work[within].sum() / span), int(there[of_these].sum())))
    return (loads[0], *sorted(loads[1:], key=lambda load: -(np.inf if load.share is None else load.share)))


def kinds_table(kinds: Sequence[KindLoad]) -> Table:
    """Return a table of demand and devices for each set of kinds."""
    table = Table(
        "devices: in service on average, as far as tasks that accept no other kinds want them",
        [Column("kinds"), *numbers("tasks", "wanted", "there", "share")],
    )
    for load in kinds:
        share = "–" if load.share is None else f"{load.share:.1%}"
        table.add(load.kinds or "all", f"{load.tasks:,}", f"{load.wanted:.5g}", f"{load.there:,}", share)
    return table
