"""Devices of servers, such as GPUs (PAPERS §7).

A task has a share of one device, or whole devices for itself alone. It may accept some kinds of devices only, even if it needs
none. If the policy does not choose, a share goes to the tightest device with room, and whole devices are the first free ones.
Ties go to the lower index.
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
    return c.devices.left.shape[1] > 0


def empty_devices(c: Cluster) -> None:
    """Free all devices, and set missing ones to NONE."""
    server = c.source.devices.server
    exists = np.arange(c.devices.left.shape[2]) < server[:, HOW_MANY, None]
    c.devices.left[:] = np.where(exists, server[:, WHOLE, None], NONE)


@compiled
def device_count(c: Cluster, server: int) -> int:
    """Return the number of a server's devices, maybe 0."""
    return c.source.devices.server[server, HOW_MANY] if has_devices(c) else 0


@compiled
def device_capacity(c: Cluster, server: int) -> int:
    """Return the capacity of a server's devices, 0 without devices."""
    return c.source.devices.server[server, WHOLE] if has_devices(c) else 0


@compiled
def device_kind(c: Cluster, server: int) -> int:
    """Return the devices' index in `Servers.device_kinds`, or NONE."""
    return c.source.devices.server[server, MODEL] if has_devices(c) else NONE


@compiled
def device_left(c: Cluster, server: int, device: int) -> int:
    """Return a device's free capacity.

    Raises ValueError unless 0 <= device < device_count(c, server).
    """
    if not 0 <= device < device_count(c, server):
        raise ValueError("a server has no device of this number: device_count says how many it has")
    return c.devices.left[c.e, server, device]


@compiled
def devices_needed(c: Cluster, i: int) -> int:
    """Return how many devices task i needs or has."""
    return c.devices.need[c.e, i, NUMBER] if has_devices(c) else 0


@compiled
def share_needed(c: Cluster, i: int) -> int:
    """Return task i's share of one device, otherwise 0."""
    return c.devices.need[c.e, i, SHARE] if has_devices(c) else 0


@compiled
def kinds_accepted(c: Cluster, i: int) -> int:
    """Return the accepted device kinds as bits, 0 for all."""
    return c.devices.need[c.e, i, KINDS] if has_devices(c) else 0


@compiled
def accepts(c: Cluster, i: int, server: int) -> bool:
    """Return whether task i accepts a server's kind of devices."""
    kinds, kind = kinds_accepted(c, i), device_kind(c, server)
    return kinds == 0 or (kind >= 0 and (kinds >> kind) & 1 == 1)


@compiled
def holds(c: Cluster, i: int, server: int, device: int) -> bool:
    """Return whether a device has room, or is free for a whole one (ValueError)."""
    return device_left(c, server, device) >= part_of_device(c, i, server)


@compiled
def could_have_devices(c: Cluster, i: int, server: int) -> bool:
    """Return whether the server, if empty, could serve task i."""
    enough = devices_needed(c, i) <= device_count(c, server)
    return enough and share_needed(c, i) <= device_capacity(c, server) and accepts(c, i, server)


@compiled
def devices_for(c: Cluster, i: int, server: int) -> int:
    """Return the default devices for task i as bits (0: it needs none), or NONE."""
    return choice_of_devices(c, i, server, False) if accepts(c, i, server) else NONE


@compiled
def devices_foreseen(c: Cluster, i: int, server: int) -> int:
    """Return `devices_for` with `OnDevices.least` as the free capacities."""
    return choice_of_devices(c, i, server, True) if accepts(c, i, server) else NONE


@compiled
def device_room(c: Cluster, i: int, server: int) -> bool:
    """Return whether a server's devices, of any kind, have room."""
    return choice_of_devices(c, i, server, False) != NONE


@apart
def choice_of_devices(c: Cluster, i: int, server: int, foreseen: bool) -> int:
    """Return `devices_for` or `devices_foreseen` without checking the kind."""
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
    """Give task i devices (0: default), or raise ValueError."""
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
    taken = c.devices.need[c.e, i, TAKEN]
    for device in range(device_count(c, server)):
        if (taken >> device) & 1:
            change_device(c, i, server, device, 1)


@compiled
def change_device(c: Cluster, i: int, server: int, device: int, sign: int) -> None:
    """Take (sign = -1) or free (1) a task's part."""
    c.devices.left[c.e, server, device] += sign * part_of_device(c, i, server)


@compiled
def part_of_device(c: Cluster, i: int, server: int) -> int:
    """Return task i's part of each device: share or whole."""
    share = share_needed(c, i)
    return share if share > 0 else device_capacity(c, server)


@apart
def read_devices(c: Cluster, i: int, k: int) -> None:
    for n in range(3):
        c.devices.need[c.e, i, n] = c.source.devices.need[c.s, k, n]
    c.devices.need[c.e, i, TAKEN] = 0


@compiled
def same_devices(c: Cluster, i: int, other: int) -> bool:
    for n in range(3):
        if c.devices.need[c.e, i, n] != c.devices.need[c.e, other, n]:
            return False
    return True
