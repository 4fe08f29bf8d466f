"""The expected room of servers, and reservations in it (PAPERS §6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, demand_of, estimate_of, gang_size, has_devices, now, remote_slots, row_of, server_count
from packenv.cluster.devices import TAKEN, devices_foreseen, part_of_device
from packenv.cluster.state import NEVER, TASK
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.policies.orders import WaitingLine, line_of, with_room
from packenv.policy import Setting

Ints = NDArray[np.int64]
Places = NDArray[np.int32]


class RoomAhead(Frame):
    """The expected room of L servers: tasks in service and reservations.

    Each server has a list of steps in order of their slots. A step holds from its slot up to that of the next one, and has the
    free
    amount of each of D resources. A task in service is expected to leave when its estimate is over, or in the next slot if it has
    outlived it. The steps are computed again in every slot with a reservation.
    """

    slot: Ints  # (N,) first slot of a step
    free: Ints  # (N, D) units free from then on
    left: Ints  # (N, m) of each device of the server; (N, 0) without devices
    next: Places  # (N,) the step behind it on its server, NONE; step l is the first one of server l, which begins now
    reserved: NDArray[np.int8]  # (L,) 1 if a task has a reservation on the server
    used: Ints  # (1,) steps in use
    line: WaitingLine


def room_ahead(setting: Setting, order: str, policy: str) -> RoomAhead:
    servers, resources = setting.capacity.shape
    return RoomAhead(
        reserved=np.zeros(servers, np.int8),
        used=np.zeros(1, np.int64),
        line=line_of(setting, order, policy),
        **_steps(servers, resources, setting.workload.most_devices),
    )


def with_places(ahead: RoomAhead, cluster: Cluster) -> RoomAhead:
    """Return the same with steps for a pool of this size."""
    places = cluster.task.shape[1]
    line = with_room(ahead.line, places)
    return ahead.replace(line=line, **_steps(len(ahead.reserved) + 2 * places, ahead.free.shape[1], ahead.left.shape[1]))


def _steps(count: int, resources: int, devices: int) -> dict[str, NDArray[np.int64] | Places]:
    slot, free, left = (np.zeros(shape, np.int64) for shape in (count, (count, resources), (count, devices)))
    return {"slot": slot, "free": free, "left": left, "next": np.full(count, NONE, np.int32)}


@apart
def look_ahead(c: Cluster, ahead: RoomAhead) -> None:
    """Set the steps from the tasks in service, without reservations."""
    servers = server_count(c)
    ahead.used[0] = servers
    for server in range(servers):
        ahead.slot[server], ahead.next[server], ahead.reserved[server] = now(c), NONE, 0
        for r in range(ahead.free.shape[1]):
            ahead.free[server, r] = c.free[c.e, server, r] if c.vectors else c.server[c.e, server].room
        for device in range(ahead.left.shape[1]):
            ahead.left[server, device] = c.devices.left[c.e, server, device]
    for i in range(c.task.shape[1]):
        task = c.task[c.e, i]
        if task.kind == TASK and task.server != NONE:
            devices = c.devices.need[c.e, i, TAKEN] if has_devices(c) else 0
            change(c, ahead, i, task.server, expected_end(c, ahead, i), NEVER, 1, devices)


@compiled
def expected_end(c: Cluster, ahead: RoomAhead, i: int) -> int:
    """Return the slot when task i, in service, should leave."""
    task = c.task[c.e, i]
    end = task.slots
    if c.source.estimate.shape[0] > 0 and task.row >= 0:
        end += estimate_of(c, i) - c.source.service[c.s, task.row]  # what it stays longer away from its data is known
    return max(end, now(c) + 1)


@compiled
def expected_stay(c: Cluster, ahead: RoomAhead, i: int, server: int) -> int:
    """Return the slots that task i should stay on a server."""
    row = row_of(c, i)
    service = estimate_of(c, i) if c.source.estimate.shape[0] > 0 else c.task[c.e, i].slots
    return service + remote_slots(c, row, server)


@apart
def earliest(c: Cluster, ahead: RoomAhead, i: int, server: int) -> int:
    """Return the first slot with room for task i's expected stay, or NEVER."""
    stay = expected_stay(c, ahead, i, server)
    if has_devices(c):
        return earliest_on_devices(c, ahead, i, server, stay)
    start, step = NEVER, server
    while step != NONE:
        if start < NEVER and ahead.slot[step] >= start + stay:
            return start
        if not has_room(c, ahead, i, step):
            start = NEVER
        elif start == NEVER:
            start = ahead.slot[step]
        step = ahead.next[step]
    return start


@compiled
def earliest_on_devices(c: Cluster, ahead: RoomAhead, i: int, server: int, stay: int) -> int:
    """Return `earliest` with the same devices for the whole stay."""
    step = server
    while step != NONE and devices_ahead(c, ahead, i, server, step, ahead.slot[step] + stay) == NONE:
        step = ahead.next[step]
    return NEVER if step == NONE else ahead.slot[step]


@apart
def devices_ahead(c: Cluster, ahead: RoomAhead, i: int, server: int, step: int, until: int) -> int:
    """Return devices for task i from a step until a slot, as bits, or NONE."""
    for device in range(ahead.left.shape[1]):
        c.devices.least[c.e, device] = ahead.left[step, device]
    while step != NONE and ahead.slot[step] < until:
        if not has_room(c, ahead, i, step):
            return NONE
        for device in range(ahead.left.shape[1]):
            c.devices.least[c.e, device] = min(c.devices.least[c.e, device], ahead.left[step, device])
        step = ahead.next[step]
    return devices_foreseen(c, i, server)


@compiled
def has_room(c: Cluster, ahead: RoomAhead, i: int, step: int) -> bool:
    """Return whether task i fits into a step's free room."""
    for r in range(ahead.free.shape[1]):
        if demand_of(c, i, r) > ahead.free[step, r]:
            return False
    return True


@compiled
def reserve(c: Cluster, ahead: RoomAhead, i: int, server: int, start: int) -> int:
    """Reserve room for task i's stay from slot `start`. Return its devices."""
    stay = expected_stay(c, ahead, i, server)
    devices = devices_ahead(c, ahead, i, server, step_at(ahead, server, start), start + stay) if has_devices(c) else 0
    change(c, ahead, i, server, start, start + stay, -1, devices)
    return devices


@apart
def change(c: Cluster, ahead: RoomAhead, i: int, server: int, start: int, until: int, sign: int, devices: int) -> None:
    """Add (sign = 1) or subtract (-1) task i's demand in [start, until)."""
    step = step_at(ahead, server, start)
    end = step_at(ahead, server, until) if until < NEVER else NONE
    while step != end:
        for r in range(ahead.free.shape[1]):
            ahead.free[step, r] += sign * demand_of(c, i, r)
        for device in range(ahead.left.shape[1]):
            if (devices >> device) & 1:
                ahead.left[step, device] += sign * part_of_device(c, i, server)
        step = ahead.next[step]


@compiled
def step_before(ahead: RoomAhead, server: int, slot: int) -> int:
    """Return the step of a server that contains a slot."""
    step = server
    while ahead.next[step] != NONE and ahead.slot[ahead.next[step]] <= slot:
        step = ahead.next[step]
    return step


@compiled
def step_at(ahead: RoomAhead, server: int, slot: int) -> int:
    """Return a server's step that begins in `slot`, inserted if missing."""
    step = step_before(ahead, server, slot)
    if ahead.slot[step] == slot:
        return step
    new = ahead.used[0]
    ahead.used[0] += 1
    ahead.slot[new], ahead.next[new], ahead.next[step] = slot, ahead.next[step], new
    for r in range(ahead.free.shape[1]):
        ahead.free[new, r] = ahead.free[step, r]
    for device in range(ahead.left.shape[1]):
        ahead.left[new, device] = ahead.left[step, device]
    return new


@apart
def hold_gang(c: Cluster, ahead: RoomAhead, i: int, start: int) -> bool:
    """Reserve room for the gang of task i from slot `start` on.

    Each task goes to the first server with room, and remembers server and devices. Returns false, and reserves nothing, if a task
    has none.
    """
    steps, task, held = ahead.used[0], i, 0
    while held < gang_size(c, i):
        server = first_server_ahead(c, ahead, task, start)
        if server == NONE:
            break
        c.task[c.e, task].held = server
        devices = reserve(c, ahead, task, server, start)
        if has_devices(c):
            c.devices.need[c.e, task, TAKEN] = devices
        task, held = c.task[c.e, task].next, held + 1
    if held == gang_size(c, i):
        return True
    # What some of them have taken is given back, and the steps that were made for it are undone.
    task = i
    for _ in range(held):
        server = c.task[c.e, task].held
        devices = c.devices.need[c.e, task, TAKEN] if has_devices(c) else 0
        change(c, ahead, task, server, start, start + expected_stay(c, ahead, task, server), 1, devices)
        task = c.task[c.e, task].next
    task = i
    for _ in range(held):
        step = c.task[c.e, task].held
        while step != NONE:
            while ahead.next[step] >= steps:
                ahead.next[step] = ahead.next[ahead.next[step]]
            step = ahead.next[step]
        task = c.task[c.e, task].next
    ahead.used[0] = steps
    return False


@apart
def first_server_ahead(c: Cluster, ahead: RoomAhead, i: int, start: int) -> int:
    """Return the first server with room for task i's stay from `start`, or NONE."""
    for server in range(server_count(c)):
        step, until = step_before(ahead, server, start), start + expected_stay(c, ahead, i, server)
        if has_devices(c):
            if devices_ahead(c, ahead, i, server, step, until) != NONE:
                return server
        else:
            while step != NONE and ahead.slot[step] < until and has_room(c, ahead, i, step):
                step = ahead.next[step]
            if step == NONE or ahead.slot[step] >= until:
                return server
    return NONE


@apart
def reserve_gang(c: Cluster, ahead: RoomAhead, i: int) -> None:
    """Reserve room for the gang of task i when all of it first fits."""
    start = now(c)
    while start < NEVER and not hold_gang(c, ahead, i, start):
        following = NEVER
        for step in range(ahead.used[0]):
            if start < ahead.slot[step] < following:
                following = ahead.slot[step]
        start = following
    task = i
    for _ in range(gang_size(c, i) if start < NEVER else 0):
        ahead.reserved[c.task[c.e, task].held] = 1
        task = c.task[c.e, task].next


@compiled
def reserve_first(c: Cluster, ahead: RoomAhead, i: int) -> None:
    """Reserve task i's first expected room, if any: the lower index of equals."""
    best, best_slot = NONE, NEVER
    for server in range(server_count(c)):
        slot = earliest(c, ahead, i, server)
        if slot < best_slot:
            best, best_slot = server, slot
    if best != NONE:
        reserve(c, ahead, i, best, best_slot)
        ahead.reserved[best] = 1
