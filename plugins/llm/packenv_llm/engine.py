"""The compiled engine of one replica, step by step.

A request is *under way* until all its known tokens are computed, then *in decode*: one token a step. A step chooses its tokens
(`choose`), advances time (`advance`), and hands the tokens out (`hand_out`). Equal steps up to the next event are one `repeat`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from packenv.extend import Frame, apart, call_address, compiled, word_at

AHEAD, QUEUED, UNDER_WAY, DECODES, DONE = 0, 1, 2, 3, 4
FINISHED, STUCK, ENDLESS_LOOP, REACHED, DECISION = 0, 1, 2, 3, 4
"""Why a run stopped: all done, nothing admitted, no token for MOST_IDLE steps, time up, or an agent decides."""

MOST_IDLE = 10_000
BY_ACTION = -1  # of `admission`: an environment admits, and no rule
START, FALL, LEAST, CLIP, AHEAD_STEPS = 0.7, 0.7 * 0.86 / 600, 0.7 * 0.14, 4096, 20  # SGLang's ratio (00550cd1)
SHORTEST_GAP, LOG_STEP = 1e-5, math.log(1.01)
GAP_BINS = int(math.log(1e10) / LOG_STEP) + 2
COMPUTED, PREEMPTED, ADMITTED = 0, 1, 2  # kinds of entries of the log

request_type = np.dtype(
    [
        *((name, "f8") for name in ("arrival", "first", "last", "gap", "priority", "key")),
        *((name, "i8") for name in ("tie", "before")),
        *((name, "i4") for name in ("prompt", "output", "limit", "predicted", "produced", "computed", "held", "take")),
        *((name, "i4") for name in ("state", "preemptions", "rejoined")),
    ],
    align=True,
)
"""before: tokens that the replica had computed at the arrival. tie: breaks equal keys. take: tokens in this step."""

setting_type = np.dtype(
    [
        *((name, "i8") for name in ("block", "usable", "budget", "places", "quantum", "closed")),
        *((name, "f8") for name in ("fixed", "prefill", "decode", "level", "above", "rate", "width")),
        *((name, "i8") for name in ("batch", "chunked", "admission", "hold", "reserve", "threshold", "order", "victim")),
        *((name, "i8") for name in ("rejoin", "moving", "order_at", "victim_at", "admit_at", "seed")),
    ],
    align=True,
)
"""moving: the order changes while requests wait, so the queue is searched, not sorted."""

count_type = np.dtype(
    [
        *((name, "f8") for name in ("now", "ratio", "between")),
        *((name, "i8") for name in ("arrived", "queued", "running", "under_way", "free", "steps", "left", "stopped")),
        *((name, "i8") for name in ("prompts", "outputs", "served", "reserved")),
        *((name, "i8") for name in ("preempted", "wasted", "computed", "done", "idle", "logged")),
    ],
    align=True,
)
"""between: seconds from arrivals to the end of the step under way, which no bin has."""

log_type = np.dtype([("step", "i8"), ("time", "f8"), ("request", "i4"), ("kind", "i4"), ("tokens", "i4")], align=True)

seen_request = np.dtype(
    [
        *((name, "f8") for name in ("prompt", "known", "produced", "computed", "blocks", "limit", "waited", "passed")),
        *((name, "f8") for name in ("priority", "preemptions")),
    ]
)
"""waited: seconds since the arrival. passed: tokens computed by the replica since then."""
seen_replica = np.dtype([(name, "f8") for name in ("blocks", "free", "block", "running", "waiting", "budget_left")])


class Seen(Frame):
    """The arguments of a user's function."""

    request: NDArray[np.void]  # (1,)
    replica: NDArray[np.void]  # (1,)
    parameters: NDArray[np.float64]  # (0,)


class Core(Frame):
    """The state of a run (N requests, R running)."""

    request: NDArray[np.void]  # (N,)
    setting: NDArray[np.void]  # (1,)
    count: NDArray[np.void]  # (1,)
    queue: NDArray[np.int32]  # (N,) a heap by (key, tie), or in no order where keys move
    running: NDArray[np.int32]  # (R + 1,) in order of admission
    phase: NDArray[np.int64]  # (block,) requests that need a block so many steps later
    gaps: NDArray[np.int64]  # (GAP_BINS,) times between tokens
    bins: NDArray[np.float64]  # (bins + 1, 5) seconds of steps, times 1, waiting, running, blocks, present. The last: all later
    log: NDArray[np.void]  # (entries,)
    seen: Seen


# The queue.


@compiled
def comes_first(s: Core, a: int, b: int) -> bool:
    x, y = s.request[a], s.request[b]
    return x.key < y.key or (x.key == y.key and x.tie < y.tie)


@compiled
def set_key(s: Core, i: int) -> None:
    """Write a waiting request's key. The smallest key is first."""
    r, rule = s.request[i], s.setting[0]
    known = r.prompt + r.produced
    if r.rejoined != 0:
        r.key = math.copysign(math.inf, r.rejoined)
        return
    r.tie = i
    if rule.order_at != 0:
        r.key = value_of(s, i, rule.order_at)
    elif rule.order == 0:  # first come, first served
        r.key = 0.0
    elif rule.order == 1:  # fewest known tokens
        r.key = known
    elif rule.order == 2:  # aged: waiting lowers all keys alike, so arrival stands for it
        r.key = known + rule.rate * r.arrival
    elif rule.order == 3:  # highest response ratio
        crowded = rule.rate > 0 and s.count[0].queued > rule.rate
        r.key = 0.0 if crowded else -(s.count[0].now - r.arrival) / known
    elif rule.order == 4:  # earliest deadline
        r.key = r.arrival + known / rule.rate
    elif rule.order == 5:
        r.key = r.priority
    elif rule.order == 6:
        r.key = r.limit
    elif rule.order == 7:
        r.key = steps_left(s, i)
    else:  # aged by tokens, which keeps the order too
        r.key = known + rule.rate * r.before


@compiled
def join_queue(s: Core, i: int) -> None:
    c = s.count[0]
    s.request[i].state = QUEUED
    place = c.queued
    c.queued += 1
    s.queue[place] = i
    if s.setting[0].moving:
        return
    set_key(s, i)
    while place > 0 and comes_first(s, i, s.queue[(place - 1) >> 1]):
        s.queue[place] = s.queue[(place - 1) >> 1]
        place = (place - 1) >> 1
    s.queue[place] = i


@compiled
def first_in_queue(s: Core) -> int:
    """Return the queue place of the first request."""
    best = 0
    if s.setting[0].moving:
        for place in range(s.count[0].queued):
            set_key(s, s.queue[place])
            if comes_first(s, s.queue[place], s.queue[best]):
                best = place
    return best


@compiled
def leave_queue(s: Core, place: int) -> None:
    c = s.count[0]
    c.queued -= 1
    last, child = s.queue[c.queued], 2 * place + 1
    # Of a heap, only the root leaves: lift its smaller children.
    while not s.setting[0].moving and child < c.queued:
        if child + 1 < c.queued and comes_first(s, s.queue[child + 1], s.queue[child]):
            child += 1
        if not comes_first(s, s.queue[child], last):
            break
        s.queue[place] = s.queue[child]
        place, child = child, 2 * child + 1
    s.queue[place] = last


@apart
def value_of(s: Core, i: int, address: int) -> float:
    """Return a user function's value for request i."""
    r, seen, c = s.request[i], s.seen.request[0], s.count[0]
    seen.prompt, seen.produced, seen.computed, seen.blocks, seen.limit = r.prompt, r.produced, r.computed, r.held, r.limit
    seen.passed = c.computed - r.before
    seen.known, seen.waited, seen.priority, seen.preemptions = r.prompt + r.produced, c.now - r.arrival, r.priority, r.preemptions
    replica = s.seen.replica[0]
    replica.blocks, replica.free, replica.block = s.setting[0].usable, c.free, s.setting[0].block
    replica.running, replica.waiting, replica.budget_left = c.running, c.queued, c.left
    value = call_address(address, seen, replica, s.seen)
    if not abs(value) < np.inf:
        raise ValueError("a rule's function returns a number that is not finite: a division by 0, or the logarithm of 0")
    return value


@compiled
def blocks_for(s: Core, tokens: int) -> int:
    return (tokens + s.setting[0].block - 1) // s.setting[0].block


@compiled
def blocks_to_limit(s: Core, i: int) -> int:
    return blocks_for(s, s.request[i].prompt + s.request[i].limit - 1)


@compiled
def steps_left(s: Core, i: int) -> int:
    """Return the predicted outputs still to come."""
    return max(s.request[i].predicted - s.request[i].produced, 1)


# Preemption.


@compiled
def victim_key(s: Core, i: int) -> tuple[float, float]:
    """Return a running request's key. The largest is preempted."""
    r, rule = s.request[i], s.setting[0]
    if rule.victim_at != 0:
        return value_of(s, i, rule.victim_at), 0.0
    if rule.victim == 1:  # fewest computed
        return float(-r.computed), 0.0
    if rule.victim == 2:  # most computed
        return float(r.computed), 0.0
    if rule.victim == 3:  # vLLM pull request 56897
        return r.held / max(1, r.prompt + r.produced) * (1.0 - r.produced / max(1, r.limit)), 0.0
    if rule.victim == 4:
        return r.priority, float(i)
    if rule.victim == 5:  # SGLang's retract
        return float(-r.produced), float(r.prompt)
    if rule.victim == 7:
        return float(-r.prompt), 0.0
    return 0.0, 0.0


@compiled
def victim_of(s: Core) -> int:
    """Return the request to preempt. Ties: the last admitted."""
    c, rule = s.count[0], s.setting[0]
    if rule.victim == 6 and rule.victim_at == 0:  # random
        return s.running[int(word_at(np.uint64(rule.seed), c.preempted) % np.uint64(c.running))]
    best = s.running[c.running - 1]
    highest = victim_key(s, best)
    for n in range(c.running - 2, -1, -1):
        key = victim_key(s, s.running[n])
        if key > highest:
            best, highest = s.running[n], key
    return best


@compiled
def place_of(s: Core, i: int, last: int) -> int:
    """Return a running request's place, at most `last`."""
    while s.running[last] != i:
        last -= 1
    return last


@compiled
def preempt(s: Core, i: int) -> None:
    """Free a request's blocks and queue it, with known outputs."""
    r, c = s.request[i], s.count[0]
    # Return the request's tokens in this step to the budget.
    if r.take > 0:
        c.left += r.take
        c.served -= 1
        if r.state == DECODES:
            c.outputs -= 1
        else:
            c.prompts -= r.take
    c.under_way -= r.state == UNDER_WAY
    c.preempted += 1
    c.wasted += r.computed
    c.free += r.held
    c.reserved -= blocks_to_limit(s, i)
    r.preemptions += 1
    r.computed = r.held = r.take = 0
    rejoin = s.setting[0].rejoin
    r.rejoined = -1 if rejoin == 0 else 1 if rejoin == 2 else 0
    r.tie = -c.preempted if rejoin == 0 else c.preempted
    c.stopped = 1
    # Leave the running list.
    c.running -= 1
    for n in range(place_of(s, i, c.running), c.running):
        s.running[n] = s.running[n + 1]
    write_log(s, i, PREEMPTED, 0)
    join_queue(s, i)


@compiled
def still_needed(s: Core, steps: int) -> int:
    """Return the blocks that requests in decode need for `steps`."""
    total = 0
    for n in range(s.count[0].running):
        r = s.request[s.running[n]]
        if r.state == DECODES:
            total += blocks_for(s, r.computed + steps) - r.held
    return total


@compiled
def retract(s: Core) -> None:
    """Preempt as SGLang: leave room for AHEAD_STEPS, update the ratio."""
    c = s.count[0]
    if still_needed(s, 1) <= c.free:
        return
    while c.running > 1:
        preempt(s, victim_of(s))
        if still_needed(s, AHEAD_STEPS) <= c.free:
            break
    produced, limits = 0, 0
    for n in range(c.running):
        r = s.request[s.running[n]]
        produced += r.produced + AHEAD_STEPS
        limits += r.limit + 1
    c.ratio = min(1.0, produced / limits)


# Parts of a step.


@compiled
def serve(s: Core, state: int) -> bool:
    """Serve running requests of a state. False if one preempts itself."""
    c, rule, n, served, tokens, complete = s.count[0], s.setting[0], 0, 0, 0, True
    if state == UNDER_WAY and c.under_way == 0:
        return True
    if state == DECODES and rule.victim == 5 and rule.victim_at == 0:
        retract(s)
    while n < c.running and c.left > 0:
        i = s.running[n]
        r = s.request[i]
        n += 1
        if r.state != state:
            continue
        take = min(r.prompt + r.produced - r.computed, c.left)
        if r.computed + take > r.held * rule.block:
            needed = blocks_for(s, r.computed + take) - r.held
            while needed > c.free and complete:
                victim = victim_of(s)
                preempt(s, victim)
                complete = victim != i
            if not complete:
                break
            n = place_of(s, i, n - 1) + 1  # others may have left the list
            c.free -= needed
            r.held += needed
        r.take = take
        c.left -= take
        served += 1
        tokens += take
    c.served += served
    if state == DECODES:
        c.outputs += tokens
    else:
        c.prompts += tokens
    return complete


@compiled
def begin(s: Core, place: int, tokens: int) -> None:
    """Move a queued request to the running list."""
    c, i = s.count[0], s.queue[place]
    r = s.request[i]
    leave_queue(s, place)
    r.state, r.rejoined, r.held = UNDER_WAY, 0, blocks_for(s, tokens)
    c.free -= r.held
    c.reserved += blocks_to_limit(s, i)
    c.under_way += 1
    s.running[c.running] = i
    c.running += 1
    write_log(s, i, ADMITTED, 0)


@compiled
def admit(s: Core) -> None:
    """Admit from the queue until a request does not fit."""
    c, rule = s.count[0], s.setting[0]
    if c.stopped or (c.queued < rule.threshold and c.arrived < s.request.shape[0]):
        return
    while c.queued > 0 and c.running < rule.places and c.left > 0 and c.free > 0:
        place = first_in_queue(s)
        i = s.queue[place]
        known = s.request[i].prompt + s.request[i].produced
        take = min(known, c.left)
        if (rule.chunked == 0 and take < known) or not has_room(s, i, known, take):
            return
        begin(s, place, known if rule.hold else take)
        s.request[i].take = take
        c.left -= take
        c.prompts += take
        c.served += 1


@compiled
def has_room(s: Core, i: int, known: int, take: int) -> bool:
    """Return whether the rule admits request i."""
    c, rule, r = s.count[0], s.setting[0], s.request[i]
    keep = rule.reserve if c.running > 0 else 0
    if blocks_for(s, take) + keep > c.free:
        return False
    if rule.admit_at != 0:
        return value_of(s, i, rule.admit_at) > 0
    if rule.admission == 0:
        return blocks_for(s, known) + keep <= c.free
    if rule.admission == 2:
        return c.reserved + blocks_to_limit(s, i) + keep <= rule.usable
    if rule.admission == 3:
        # Estimate the outputs still to come from limits.
        coming = min(r.limit - r.produced, CLIP)
        for n in range(c.running):
            other = s.request[s.running[n]]
            coming += min(other.limit - other.produced, CLIP)
        return known + c.ratio * coming <= (c.free - keep) * rule.block
    if rule.admission == 4:
        return fits_ahead(s, i, keep)
    return rule.admission != BY_ACTION


@compiled
def fits_ahead(s: Core, i: int, keep: int) -> bool:
    """Check memory at each coming completion (MC-SF, arXiv 2502.07115)."""
    members = s.count[0].running + 1
    s.running[members - 1] = i
    # At each completion, add the blocks of all requests still running.
    for m in range(members):
        end, held = steps_left(s, s.running[m]), 0
        for n in range(members):
            r = s.request[s.running[n]]
            if steps_left(s, s.running[n]) >= end:
                held += blocks_for(s, r.prompt + r.produced - 1 + end)
        if held + keep > s.setting[0].usable:
            return False
    return True


@compiled
def choose(s: Core) -> None:
    """Choose the step's work, by the rule's kind of batch."""
    c, rule = s.count[0], s.setting[0]
    c.left, c.stopped, c.prompts, c.outputs, c.served = rule.budget, 0, 0, 0, 0
    if rule.batch == 0:
        if serve(s, DECODES):
            serve(s, UNDER_WAY)
        admit(s)
    elif rule.batch == 3 and c.running > c.under_way:
        serve(s, DECODES)
    else:
        whole = serve(s, UNDER_WAY)
        admit(s)
        if whole and (rule.batch == 1 or (rule.batch == 2 and c.served == 0)):
            serve(s, DECODES)


@compiled
def arrive(s: Core) -> None:
    """Queue requests by arrival, or one for each idle client."""
    c, rule, total = s.count[0], s.setting[0], s.request.shape[0]
    while c.arrived < total:
        r = s.request[c.arrived]
        if rule.closed > 0:
            if c.queued + c.running >= rule.closed:
                return
            r.arrival = c.now
        elif r.arrival > c.now:
            return
        c.between += c.now - r.arrival
        r.before = c.computed
        c.arrived += 1
        join_queue(s, c.arrived - 1)


@compiled
def write_log(s: Core, i: int, kind: int, tokens: int) -> None:
    c = s.count[0]
    if c.logged < s.log.shape[0]:
        entry = s.log[c.logged]
        entry.step, entry.time, entry.request, entry.kind, entry.tokens = c.steps, c.now, i, kind, tokens
        c.logged += 1


@compiled
def add_to_bins(s: Core, begin: float, end: float) -> None:
    """Split a step's queue, running requests and blocks over time."""
    c, width, last = s.count[0], s.setting[0].width, s.bins.shape[0] - 1
    present = c.queued + c.running
    amounts = (1, present - c.served, c.running, s.setting[0].usable - c.free, present)
    k = min(int(begin / width), last)
    while begin < end:
        stop = end if k == last else max(min(end, (k + 1) * width), begin)
        for column in range(5):
            s.bins[k, column] += amounts[column] * (stop - begin)
        begin = stop
        k += 1


@compiled
def advance(s: Core) -> float:
    """Advance time by a step. Return the time before."""
    c, time, before = s.count[0], s.setting[0], s.count[0].now
    tokens = c.prompts + c.outputs
    seconds = time.fixed + time.prefill * c.prompts + time.decode * c.outputs
    seconds += time.level * ((tokens + time.quantum - 1) // time.quantum) + time.above * max(0, tokens - time.quantum)
    c.now = before + seconds
    add_to_bins(s, before, c.now)
    c.computed += tokens
    if c.outputs > 0:
        c.ratio = max(c.ratio - FALL, LEAST)
    return before


@compiled
def hand_out(s: Core, before: float) -> None:
    """Count tokens and gaps. Remove completed requests."""
    c, now, kept, usual, served = s.count[0], s.count[0].now, 0, 0, 0
    for n in range(c.running):
        if served == c.served:  # all others stay as they are
            for later in range(n, c.running):
                s.running[kept + later - n] = s.running[later]
            kept += c.running - n
            break
        i = s.running[n]
        r = s.request[i]
        if r.take > 0:
            served += 1
            write_log(s, i, COMPUTED, r.take)
            r.computed += r.take
            r.take = 0
            if r.computed == r.prompt + r.produced:
                c.idle = 0
                c.under_way -= r.state == UNDER_WAY
                r.state = DECODES
                r.produced += 1
                if r.produced == 1:
                    r.first = now
                elif r.last == before:  # most gaps last one step
                    r.gap = max(r.gap, now - before)
                    usual += 1
                else:
                    r.gap = max(r.gap, now - r.last)
                    count_gap(s, now - r.last, 1)
                r.last = now
                if r.produced == r.output:
                    r.state = DONE
                    c.free += r.held
                    c.reserved -= blocks_to_limit(s, i)
                    c.done += 1
                    continue
        s.running[kept] = i
        kept += 1
    c.running = kept
    count_gap(s, now - before, usual)


@compiled
def is_steady(s: Core) -> bool:
    """Return whether a step of outputs repeats until an event.

    Events are arrivals, completions and a lack of blocks. An admission that changes with time is checked at every step: by
    `ratio`, by look-ahead, by user functions, and in an order that moves.
    """
    c, rule = s.count[0], s.setting[0]
    fixed = rule.moving == 0 and rule.admit_at == 0 and rule.admission <= 2
    return c.prompts == 0 and c.outputs == c.running and c.stopped == 0 and s.log.shape[0] == 0 and (fixed or c.queued == 0)


@compiled
def repeat(s: Core, until: float) -> None:
    """Repeat the last step until the next event."""
    c, rule, longest, steps = s.count[0], s.setting[0], 0.0, 0
    # Find the first completion, and count the requests that need a block at each next step.
    last = s.request[s.running[0]].output
    s.phase[:] = 0
    for n in range(c.running):
        r = s.request[s.running[n]]
        last = min(last, r.output - r.produced - 1)
        s.phase[r.held * rule.block - r.computed] += 1
    next_arrival = math.inf
    if c.arrived < s.request.shape[0] and rule.closed == 0:
        next_arrival = s.request[c.arrived].arrival
    while steps < last and c.now < min(until, next_arrival) and s.phase[steps % rule.block] <= c.free:
        c.free -= s.phase[steps % rule.block]
        before = advance(s)
        longest = max(longest, c.now - before)
        count_gap(s, c.now - before, c.running)
        steps += 1
    c.steps += steps
    for n in range(c.running if steps > 0 else 0):
        r = s.request[s.running[n]]
        r.produced += steps
        r.computed += steps
        r.held = blocks_for(s, r.computed)
        r.gap, r.last = max(r.gap, longest), c.now


@compiled
def count_gap(s: Core, seconds: float, tokens: int) -> None:
    if tokens > 0:
        place = int(math.log(max(seconds, SHORTEST_GAP) / SHORTEST_GAP) / LOG_STEP)
        s.gaps[min(place, GAP_BINS - 1)] += tokens


# One decision at a time, for an environment.


@compiled
def room(s: Core) -> int:
    """Return the free blocks beyond the needs of the next step."""
    return s.count[0].free - still_needed(s, 1)


@compiled
def may_enter(s: Core, i: int, room: int) -> bool:
    """Return whether request i fits into `room` blocks."""
    return s.count[0].running < s.setting[0].places and blocks_for(s, s.request[i].prompt + s.request[i].produced) <= room


@compiled
def events(s: Core) -> int:
    """Count what ends an agent's wait."""
    c = s.count[0]
    return c.arrived + c.done + c.preempted


@compiled
def awaits_decision(s: Core, waited: int) -> bool:
    """Return whether an agent can preempt or admit. It has waited since there were `waited` events."""
    c, spare = s.count[0], room(s)
    if spare < 0 and c.running > 1:
        return True
    if events(s) == waited:
        return False
    for place in range(c.queued):
        if may_enter(s, s.queue[place], spare):
            return True
    return False


@compiled
def run(s: Core, until: float, steps: int) -> int:
    """Run until `until` (seconds) or a stop. Return the reason.

    steps  for environments. 0: run to the next decision. 1: the agent waits, so run a step, then to an event. -1: no decisions
    """
    c, total = s.count[0], s.request.shape[0]
    waited = events(s) if steps > 0 else -1
    while c.now < until:
        arrive(s)
        if c.queued == 0 and c.running == 0:
            if c.arrived == total:
                return FINISHED
            c.now = s.request[c.arrived].arrival
            continue
        if steps == 0 and awaits_decision(s, waited):
            return DECISION
        if steps > 0:
            steps -= 1
        choose(s)
        if c.served > 0:
            c.idle += 1
            steady = steps < 0 and is_steady(s)
            hand_out(s, advance(s))
            c.steps += 1
            if steady and c.running == c.outputs:
                repeat(s, until)
        else:
            # Nothing fits, or the rule waits for more. Preempted requests may enter in the next step.
            c.idle += 1
            if not c.stopped:
                if c.arrived == total or s.setting[0].closed > 0:
                    return STUCK
                c.now = s.request[c.arrived].arrival
        if c.idle > MOST_IDLE:
            return ENDLESS_LOOP
    return REACHED
