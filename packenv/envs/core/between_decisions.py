"""Steps between two decisions, their measures, and waiting tasks in arrays.

The queue itself links tasks anywhere in memory. Its sizes lie in blocks, which every count would have to search. So the oldest
tasks, and sorted sizes of one resource, are also in arrays.
"""

from __future__ import annotations

from packenv.cluster.in_service import place
from packenv.cluster.queue.waiting import order_new, waiting
from packenv.cluster.servers import close, reopen, reopen_all, server_count
from packenv.cluster.slots import FINISHED, GROW, LIMIT, READY, all_done, begin_slot
from packenv.cluster.sorted_keys import WIDTH
from packenv.cluster.state import NEVER, NONE, ROW_BITS
from packenv.cluster.whole_jobs.state import UNFINISHED, follows, missing_shares
from packenv.compiled.decorators import apart, compiled, fused
from packenv.compiled.intrinsics import move, natural
from packenv.envs.core.server_summaries import add_starts, remove_completed, summarise_servers
from packenv.envs.core.state import (
    AT_HORIZON,
    BEGUN,
    NOTHING_LEFT,
    OVER,
    TOO_MANY_WAITING,
    WAITING,
    WORK_DONE,
    Batch,
)
from packenv.units import UNIT


@fused
def begin_step(b: Batch) -> None:
    c, turn = b.c, b.turn[b.c.e]
    head = c.head[c.e]
    turn.invalid = 0
    turn.placed = 0
    turn.served = 0.0
    turn.now = head.now
    turn.queue_sum = head.queue_sum
    turn.size_sum = head.size_sum
    turn.delay_sum = head.delay_sum
    turn.tasks = head.started
    turn.unfinished = 0.0
    turn.unfinished_value = 0.0
    turn.missing_shares = 0.0
    turn.overtaken = 0.0
    turn.guarded = 0


@apart
def end_step(b: Batch) -> None:
    """Write the step's events into `passage`, none for an episode's first decision."""
    c, turn, passage = b.c, b.turn[b.c.e], b.passage[b.c.e]
    fresh, head = turn.fresh, c.head[c.e]
    # the first decision of an episode: nothing has happened yet
    if fresh:
        turn.fresh = 0
        unfinished = turn.unfinished
        begin_step(b)
        turn.unfinished = unfinished
    # differences of the cluster's sums since `begin_step`, in slots, tasks and units of capacity
    elapsed = float(head.now - turn.now)
    passage.elapsed = elapsed
    passage.queue = float(head.queue_sum - turn.queue_sum)
    passage.size = (head.size_sum - turn.size_sum) * (1.0 / UNIT)
    passage.delay = float(head.delay_sum - turn.delay_sum)
    passage.started = float(head.started - turn.tasks)
    passage.placed = float(turn.placed) * (1.0 / UNIT)
    passage.served = turn.served * (1.0 / UNIT) / b.scale[1]
    passage.arrivals = turn.rate * elapsed
    passage.arriving = turn.exogenous * elapsed
    passage.offered = turn.offered * elapsed
    passage.guarded = float(turn.guarded)
    # what was added up slot by slot
    passage.unfinished = turn.unfinished
    passage.unfinished_value = turn.unfinished_value
    passage.missing_shares = turn.missing_shares
    passage.overtaken = turn.overtaken * server_count(c) / b.scale[1]
    # shares of the mean over an episode's jobs; what was before the first decision counts for that one
    passage.slowdown = (turn.slowdown - turn.slowdown_rewarded) / turn.rows
    passage.wait = (head.queue_sum - turn.queue_rewarded) / (turn.rows * turn.mean_service)
    if not fresh:
        turn.slowdown_rewarded, turn.queue_rewarded = turn.slowdown, head.queue_sum
    # where the episode stands
    measure_episode(b)
    passage.slot = head.now
    passage.invalid = turn.invalid
    passage.reason = turn.reason


@compiled
def measure_episode(b: Batch) -> None:
    """Write the episode's means so far into `passage`, initially 0."""
    c, passage = b.c, b.passage[b.c.e]
    head = c.head[c.e]
    per_slot = 1.0 / max(head.measured, 1)
    passage.mean_queue = head.queue_sum * per_slot
    passage.mean_waiting_size = head.size_sum * per_slot * (1.0 / UNIT)
    passage.mean_delay = head.delay_sum / max(head.delay_count, 1)
    passage.mean_slowdown = b.turn[c.e].slowdown / max(head.arrived, 1)
    most = 0.0
    for r in range(b.total.shape[0]):
        if b.total[r] > 0:
            most = max(most, c.measures.used[c.e, r] / b.total[r])
    passage.utilisation = most * per_slot


@apart
def next_slot(b: Batch) -> int:
    """Begin the next slot, or end, returning READY or GROW."""
    c, turn = b.c, b.turn[b.c.e]
    # advance, and add up what passed meanwhile
    before, in_service = c.head[c.e].now, mean_used(b)
    reason = begin_slot(c, turn.until)
    turn.served += in_service * (c.head[c.e].now - before)
    if follows(b.jobs):
        elapsed = c.head[c.e].now - before
        turn.unfinished += float(b.jobs.counts[UNFINISHED]) * elapsed
        turn.unfinished_value += b.jobs.unfinished_value[0] * elapsed
        turn.missing_shares += missing_shares(b.jobs) * elapsed
    if reason == GROW:
        return GROW
    # go on with the slot, or end the episode and say why
    turn.phase = OVER
    if reason == READY:
        remove_completed(b)
        turn.phase = BEGUN
        if b.finite and all_done(c):
            turn.phase, turn.reason = OVER, WORK_DONE
    elif reason == LIMIT:
        turn.reason = TOO_MANY_WAITING
        order_new(c)  # the arrivals were cut short before they were put in order
    elif reason == FINISHED:
        if turn.until < NEVER:
            turn.reason = AT_HORIZON
        else:
            turn.reason = WORK_DONE if all_done(c) else NOTHING_LEFT
    return READY


@fused
def mean_used(b: Batch) -> float:
    used, resources = 0.0, b.total.shape[0]
    for r in range(resources):
        used += b.c.used[b.c.e, r]
    return used / resources


@apart
def put(b: Batch, i: int, server: int) -> None:
    place(b.c, i, server)
    add_starts(b, server, 1)
    if b.window.shape[1] > 0:
        leave_window(b, i)


@fused
def pass_over(b: Batch, server: int) -> None:
    """Ignore a server until its next completion or any arrival."""
    close(b.c, server)
    b.turn[b.c.e].passed = 1


@fused
def reopen_passed(b: Batch) -> None:
    """Reopen passed servers after a completion there or any arrival."""
    c, turn = b.c, b.turn[b.c.e]
    if turn.passed:
        head = c.head[c.e]
        for n in range(head.freed):
            reopen(c, c.freed[c.e, n])
        if head.fresh > 0:
            turn.passed = 0
            reopen_all(c)


@apart
def begin_episode(b: Batch) -> None:
    """Reset the row's summaries, configurations and decisions."""
    e = b.c.e
    summarise_servers(b)
    for server in range(b.active.shape[1]):
        b.active[e, server] = NONE
        b.reserved[e, server] = 0
    turn = b.turn[e]
    turn.phase, turn.reason, turn.server, turn.passed, turn.cursor, turn.started = WAITING, 0, NONE, 0, 0, 0
    turn.fresh = 1
    turn.window, turn.window_started = 0, b.c.head[e].started
    turn.kept, turn.slowdown_waiting, turn.slowdown, turn.slowdown_rewarded, turn.queue_rewarded = NONE, 0.0, 0.0, 0.0, 0
    begin_step(b)


@apart
def leave_window(b: Batch, i: int) -> None:
    """Remove task i, which has just started, from the window."""
    turn, window = b.turn[b.c.e], b.window[b.c.e]
    turn.window_started += 1
    for k in range(turn.window):
        if window[k].place == i:
            turn.window -= 1
            move(window, k, k + 1, turn.window - k)
            return


@apart
def fill_window(b: Batch) -> int:
    """Refill the window. Return its length (needs BY_QUEUE)."""
    c, e = b.c, b.c.e
    turn, head, window = b.turn[e], c.head[e], b.window[e]
    n = turn.window
    if turn.window_started != head.started:
        turn.window_started = head.started
        n = 0
    while n < min(window.shape[0], head.waiting):
        i = c.queue[e].head if n == 0 else c.task[e, window[n - 1].place].next
        task = c.task[e, i]
        window[n].place, window[n].size, window[n].since = i, task.size, task.since
        n += 1
    turn.window = n
    return n


@apart
def copy_waiting_sizes(b: Batch) -> None:
    """Write the ascending waiting sizes (needs BY_SIZE)."""
    sorted_tasks, sizes = b.c.sizes, b.waiting_sizes[b.c.e]
    n = 0
    for k in range(sorted_tasks.used[b.c.e]):
        block = sorted_tasks.block[b.c.e, k]
        keys = sorted_tasks.keys[b.c.e, natural(block.storage)]
        for q in range(WIDTH):  # the whole block: the next one overwrites what is not in use
            sizes[natural(n + q)] = keys[q] >> ROW_BITS
        n += block.count


@fused
def count_up_to(b: Batch, size: int) -> int:
    """Return how many copied waiting sizes are at most `size`."""
    sizes, count, rest = b.waiting_sizes[b.c.e], 0, waiting(b.c)
    while rest > 0:
        half = (rest + 1) >> 1
        count += half * (sizes[natural(count + half - 1)] <= size)  # no branch: it could not be predicted
        rest -= half
    return count
