"""The devices of servers, such as GPUs (PAPERS §7): which have room for a task, and which of them it takes.

A task has a share of one device, or whole devices that nobody else has. It may accept some kinds of devices only, whether
it needs any or not. Unless the policy chooses devices itself, a share goes to the tightest device that holds it, and whole
devices are the free ones of lowest index; of equals the lower index.
"""

from __future__ import annotations

import numpy as np

from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.jobs import HOW_MANY, KINDS, MODEL, NUMBER, SHARE, WHOLE

TAKEN = 3
"""Position in a row of `OnDevices.need`, behind NUMBER, SHARE and KINDS: the devices of its server that a task has, as bits."""


@compiled
def has_devices(c: Cluster) -> bool:
    """Whether the servers have devices."""
    return c.devices.left.shape[1] > 0


def empty_devices(c: Cluster) -> None:
    """Set all devices of all clusters to be free; places that a server has no device for have nothing left."""
    server = c.source.devices.server
    exists = np.arange(c.devices.left.shape[2]) < server[:, HOW_MANY, None]
    c.devices.left[:] = np.where(exists, server[:, WHOLE, None], NONE)


@compiled
def device_count(c: Cluster, server: int) -> int:
    """Number of devices of a server; 0 where servers have none."""
    return c.source.devices.server[server, HOW_MANY] if has_devices(c) else 0


@compiled
def device_capacity(c: Cluster, server: int) -> int:
    """Capacity of each device of a server; 0 where servers have none."""
    return c.source.devices.server[server, WHOLE] if has_devices(c) else 0


@compiled
def device_kind(c: Cluster, server: int) -> int:
    """Kind of the devices of a server, an index into `Servers.device_kinds`; NONE without a name."""
    return c.source.devices.server[server, MODEL] if has_devices(c) else NONE


@compiled
def device_left(c: Cluster, server: int, device: int) -> int:
    """Free capacity of a device. Raises ValueError unless 0 <= device < device_count(c, server)."""
    if not 0 <= device < device_count(c, server):
        raise ValueError("a server has no device of this number: device_count says how many it has")
    return c.devices.left[c.e, server, device]


@compiled
def devices_needed(c: Cluster, i: int) -> int:
    """Number of devices that task i needs, or has in service."""
    return c.devices.need[c.e, i, NUMBER] if has_devices(c) else 0


@compiled
def share_needed(c: Cluster, i: int) -> int:
    """How much of one device task i needs; 0 if it needs whole ones, or none."""
    return c.devices.need[c.e, i, SHARE] if has_devices(c) else 0


@compiled
def kinds_accepted(c: Cluster, i: int) -> int:
    """The kinds of devices that task i accepts, as bits; 0 for all."""
    return c.devices.need[c.e, i, KINDS] if has_devices(c) else 0


@compiled
def accepts(c: Cluster, i: int, server: int) -> bool:
    """Whether task i accepts the kind of a server's devices."""
    kinds, kind = kinds_accepted(c, i), device_kind(c, server)
    return kinds == 0 or (kind >= 0 and (kinds >> kind) & 1 == 1)


@compiled
def holds(c: Cluster, i: int, server: int, device: int) -> bool:
    """Whether a device has room for the share of task i or, if it needs whole devices, is free. Raises as `device_left`."""
    return device_left(c, server, device) >= part_of_device(c, i, server)


@compiled
def could_have_devices(c: Cluster, i: int, server: int) -> bool:
    """Whether a server without tasks would have the devices for task i."""
    enough = devices_needed(c, i) <= device_count(c, server)
    return enough and share_needed(c, i) <= device_capacity(c, server) and accepts(c, i, server)


@compiled
def devices_for(c: Cluster, i: int, server: int) -> int:
    """The devices of a server that task i takes if the policy chooses none, as bits; NONE if it has no room for it.

    0 for a task that needs none and accepts the kind of the server.
    """
    return choice_of_devices(c, i, server, False) if accepts(c, i, server) else NONE


@compiled
def devices_foreseen(c: Cluster, i: int, server: int) -> int:
    """`devices_for` if as much were left of each device as `OnDevices.least` says."""
    return choice_of_devices(c, i, server, True) if accepts(c, i, server) else NONE


@compiled
def device_room(c: Cluster, i: int, server: int) -> bool:
    """Whether the devices of a server have room for task i, whether it accepts their kind or not."""
    return choice_of_devices(c, i, server, False) != NONE


@apart
def choice_of_devices(c: Cluster, i: int, server: int, foreseen: bool) -> int:
    """`devices_for`, or `devices_foreseen`, on a server of any kind."""
    number, share = devices_needed(c, i), share_needed(c, i)
    least = share if share > 0 else device_capacity(c, server)
    chosen, found, tightest = 0, 0, 0
    for device in range(device_count(c, server)):
        if found == number and share == 0:
            break
        left = c.devices.least[c.e, device] if foreseen else c.devices.left[c.e, server, device]
        if left >= least:
            if share == 0:
                chosen |= 1 << device
                found += 1
            elif found == 0 or left < tightest:
                chosen, found, tightest = 1 << device, 1, left
    return chosen if found == number else NONE


@apart
def take_devices(c: Cluster, i: int, server: int, devices: int) -> None:
    """Let task i take devices of a server, as bits; 0: those of `devices_for`. Raises ValueError unless it may have them."""
    chosen = devices if devices != 0 else devices_for(c, i, server)
    number, found = c.devices.need[c.e, i, NUMBER], 0
    if chosen == NONE or not accepts(c, i, server):
        raise ValueError("a task started on a server that has no room for it on its devices")
    for device in range(device_count(c, server)):
        if (chosen >> device) & 1:
            if not holds(c, i, server, device):
                raise ValueError("a task started on a device that has no room for it")
            found += 1
            change_device(c, i, server, device, -1)
    if found != number or chosen >> device_count(c, server) != 0:
        raise ValueError("a task started on another number of devices than it needs")
    c.devices.need[c.e, i, TAKEN] = chosen


@apart
def give_devices_back(c: Cluster, i: int, server: int) -> None:
    """Free what task i has of the devices of its server."""
    taken = c.devices.need[c.e, i, TAKEN]
    for device in range(device_count(c, server)):
        if (taken >> device) & 1:
            change_device(c, i, server, device, 1)


@compiled
def change_device(c: Cluster, i: int, server: int, device: int, sign: int) -> None:
    """Take (sign = -1) or give back (1) what task i has of a device."""
    c.devices.left[c.e, server, device] += sign * part_of_device(c, i, server)


@compiled
def part_of_device(c: Cluster, i: int, server: int) -> int:
    """What task i takes of each device that it has on a server: its share, or the whole."""
    share = share_needed(c, i)
    return share if share > 0 else device_capacity(c, server)


@apart
def read_devices(c: Cluster, i: int, k: int) -> None:
    """Copy what row k of the source's chunk needs of devices to task i."""
    for n in range(3):
        c.devices.need[c.e, i, n] = c.source.devices.need[c.s, k, n]
    c.devices.need[c.e, i, TAKEN] = 0


@compiled
def same_devices(c: Cluster, i: int, other: int) -> bool:
    """Whether two tasks need the same of devices."""
    for n in range(3):
        if c.devices.need[c.e, i, n] != c.devices.need[c.e, other, n]:
            return False
    return True
