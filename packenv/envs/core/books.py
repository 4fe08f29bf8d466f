"""What an environment keeps beside the cluster: the ages of the servers' jobs, their rooms by type, and the line-up."""

from __future__ import annotations

from packenv.cluster.queue.by_type import type_of
from packenv.cluster.queue.waiting import now
from packenv.cluster.servers import kind_of, server_count
from packenv.cluster.state import DONE, NONE, TASK
from packenv.compiled.decorators import apart, fused, inner
from packenv.envs.core.lineup import UNKNOWN, is_wanted, leave_lineup, line_up_new
from packenv.envs.core.state import Batch


@fused
def count_start(b: Batch, server: int, size: int) -> None:
    """A task of this size has just started on a server."""
    if is_wanted(b.lineup):
        leave_lineup(b.lineup, b.c, size)
    if b.ages.shape[1] > 0:
        slot = now(b.c)
        b.ages[b.c.e, server, 0] += slot
        b.ages[b.c.e, server, 1] += float(slot) * slot
        classify(b, server)
        turn = b.turn[b.c.e]
        turn.known_started += 1
        turn.known_in_service += 1


@apart
def keep_books(b: Batch) -> None:
    """Bring the books up to date with a slot that has just begun."""
    if is_wanted(b.lineup):
        line_up_new(b.lineup, b.c)
    count_completions(b)


@apart
def count_completions(b: Batch) -> None:
    """Bring those of the servers up to date with what left in this slot; anew, if others have placed tasks in the meantime."""
    c = b.c
    if b.ages.shape[1] > 0:
        head, turn = c.head[c.e], b.turn[c.e]
        completed = 0
        for n in range(head.due):
            completed += c.task[c.e, c.due[c.e, n]].kind == DONE
        turn.known_in_service -= completed
        if turn.known_started != head.started or turn.known_in_service != head.in_service:
            count_anew(b)
            return
        for n in range(head.due):
            i = c.due[c.e, n]
            if c.task[c.e, i].kind == DONE:
                server, start = c.task[c.e, i].server, float(c.task[c.e, i].since)
                b.ages[c.e, server, 0] -= start
                b.ages[c.e, server, 1] -= start * start
        for n in range(head.freed):
            classify(b, c.freed[c.e, n])


def forget_books(b: Batch) -> None:
    """Let them be made anew when they are wanted next."""
    b.turn["known_started"] = -1
    b.lineup.count[:] = UNKNOWN


@apart
def count_anew(b: Batch) -> None:
    """The books from what stands in the servers; the line-up when it is asked for."""
    c, e = b.c, b.c.e
    b.lineup.count[e] = UNKNOWN
    if b.ages.shape[1] == 0:
        return
    for k in range(b.rooms.shape[1]):
        b.rooms[e, k] = 0
    for server in range(server_count(c)):
        b.ages[e, server, 0] = b.ages[e, server, 1] = 0.0
        b.room_class[e, server] = NONE
        classify(b, server)
    for i in range(c.task.shape[1]):
        task = c.task[e, i]
        if task.kind == TASK and task.server != NONE:
            start = float(task.since)
            b.ages[e, task.server, 0] += start
            b.ages[e, task.server, 1] += start * start
    b.turn[e].known_started = c.head[e].started
    b.turn[e].known_in_service = c.head[e].in_service


@fused
def scalar_room(b: Batch, server: int) -> int:
    """Room of a server in scalar size units: where vectors are packed, that of its scarcest resource."""
    c = b.c
    if not c.vectors:
        return c.server[c.e, server].room
    most = 0
    for r in range(c.scale.shape[0]):
        most = max(most, c.scale[r])
    room = c.server[c.e, server].capacity
    for r in range(c.scale.shape[0]):
        if c.scale[r] > 0:
            room = min(room, c.free[c.e, server, r] * most // c.scale[r])
    return room


@inner
def classify(b: Batch, server: int) -> None:
    """Count a server under the type of its room, the largest type of its kind if it has more; the last class has none."""
    c = b.c
    kind, room = kind_of(c, server), scalar_room(b, server)
    most = c.types.bound[c.e, kind, c.types.count[c.e, kind] - 1]
    j = type_of(c, kind, min(room, most)) if room > 0 else b.rooms.shape[1] - 1
    old = b.room_class[c.e, server]
    if old != NONE:
        b.rooms[c.e, old] -= 1
    b.rooms[c.e, j] += 1
    b.room_class[c.e, server] = j
