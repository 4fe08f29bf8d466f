"""The compiled engine of one replica: exact and fast.

A request is *in decode* when all its known tokens are computed. While memory and budget suffice, a step gives one token to all
requests in decode. It only advances a clock, `beats`, and each request's tokens follow from the clock. New blocks are counted
by each request's place in its last block. Completions lie in a ring by beat. Steps are skipped per request, never in time, so
results are exact for every rule. On a preemption or a short budget, `write_back` stores the clock in each request. The step then
visits them one by one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from packenv.extend import Frame, apart, call_address, compiled, word_at

AHEAD, QUEUED, UNDER_WAY, DECODES, DONE = 0, 1, 2, 3, 4
NONE = -1
FINISHED, STUCK, ENDLESS_LOOP, REACHED, DECISION = 0, 1, 2, 3, 4
"""Why a run stopped: all done, nothing admitted, no token for MOST_IDLE steps, time up, or an agent decides."""

MOST_IDLE = 10_000
BY_ACTION = -1  # of `admission`: an environment admits, and no rule
START, FALL, LEAST, CLIP, AHEAD_STEPS = 0.7, 0.7 * 0.86 / 600, 0.7 * 0.14, 4096, 20  # SGLang's ratio (00550cd1)
SHORTEST_GAP, LOG_STEP = 1e-5, math.log(1.01)
GAP_BINS = int(math.log(1e10) / LOG_STEP) + 2
COMPUTED, PREEMPTED, ADMITTED, BEAT = 0, 1, 2, 3  # kinds of entries of the log

request_type = np.dtype(
    [
        *((name, "f8") for name in ("arrival", "first", "last", "end", "gap", "priority", "key")),
        *((name, "i8") for name in ("tie", "beat", "before")),
        *((name, "i4") for name in ("prompt", "output", "limit", "predicted", "produced", "computed", "held", "take")),
        *((name, "i4") for name in ("state", "next", "previous", "preemptions", "rejoined")),
    ],
    align=True,
)
"""before: tokens that the replica had computed at the arrival. tie: breaks equal keys. take: tokens in this step.

beat: the clock when produced and computed were written.
"""

setting_type = np.dtype(
    [
        *((name, "i8") for name in ("block", "usable", "budget", "places", "quantum", "closed", "shortest")),
        *((name, "f8") for name in ("fixed", "prefill", "decode", "level", "above", "rate", "width")),
        *((name, "i8") for name in ("batch", "chunked", "admission", "hold", "reserve", "threshold", "order", "victim")),
        *((name, "i8") for name in ("rejoin", "moving", "order_at", "victim_at", "admit_at", "seed")),
    ],
    align=True,
)
"""moving: the order changes while requests wait, so the queue is searched, not sorted. shortest: the shortest prompt."""

count_type = np.dtype(
    [
        *(
            (name, "f8")
            for name in ("now", "beat_end", "ratio", "busy", "used_time", "running_time", "waiting_time", "present_time")
        ),
        *((name, "i8") for name in ("arrived", "queued", "running", "decodes", "under_way", "free", "beats", "steps", "left")),
        *((name, "i8") for name in ("fresh", "entering", "stopped", "ended", "prompts", "outputs", "served", "lazy", "reserved")),
        *((name, "i8") for name in ("preempted", "wasted", "computed", "done", "idle", "logged", "peaks", "oldest_peak", "all")),
    ],
    align=True,
)

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
    running: NDArray[np.int32]  # (R,) in order of admission
    fresh: NDArray[np.int32]  # (R,) in decode, without a beat since their last token
    entering: NDArray[np.int32]  # (R,) compute prompt tokens in this step
    phase: NDArray[np.int64]  # (block,) requests in decode that need a new block at beats of this remainder
    ring: NDArray[np.int32]  # first request that completes at a beat, a power of two long
    peak_beat: NDArray[np.int64]  # beats longer than all later ones, a power of two long
    peak: NDArray[np.float64]  # their lengths
    gaps: NDArray[np.int64]  # (GAP_BINS,) times between tokens
    bins: NDArray[np.float64]  # (bins, 3) waiting, running and blocks, times seconds
    ends: NDArray[np.float64]  # (2, R + 1) of look-ahead: steps to come, tokens computed
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
        r.key = -math.inf if r.rejoined < 0 else math.inf
        return
    r.tie = i
    if rule.order_at != 0:
        r.key = asked(s, i, rule.order_at)
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
        r.key = max(r.predicted - r.produced, 1)
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
    last = s.queue[c.queued]
    if s.setting[0].moving:
        s.queue[place] = last
        return
    while True:  # the root of a heap leaves
        child = 2 * place + 1
        if child >= c.queued:
            break
        if child + 1 < c.queued and comes_first(s, s.queue[child + 1], s.queue[child]):
            child += 1
        if not comes_first(s, s.queue[child], last):
            break
        s.queue[place] = s.queue[child]
        place = child
    s.queue[place] = last


@apart
def asked(s: Core, i: int, address: int) -> float:
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


# Requests in decode, and the clock.


@compiled
def blocks_for(s: Core, tokens: int) -> int:
    return (tokens + s.setting[0].block - 1) // s.setting[0].block


@compiled
def begin_decode(s: Core, i: int) -> None:
    """Let the clock count this request's tokens from now on."""
    r, c = s.request[i], s.count[0]
    r.state, r.beat = DECODES, c.beats
    c.decodes += 1
    s.phase[(c.beats - r.computed) % s.setting[0].block] += 1
    # File the request in the ring, at the beat of its last token.
    slot = (c.beats + r.output - r.produced) & (s.ring.shape[0] - 1)
    r.next, r.previous = s.ring[slot], NONE
    if r.next != NONE:
        s.request[r.next].previous = i
    s.ring[slot] = i
    s.fresh[c.fresh] = i
    c.fresh += 1


@compiled
def end_decode(s: Core, i: int) -> None:
    """Store the clock's count in a request. Leave the ring."""
    r, c = s.request[i], s.count[0]
    # Leave the ring's list at the beat of the last token.
    slot = (r.beat + r.output - r.produced) & (s.ring.shape[0] - 1)
    if r.previous != NONE:
        s.request[r.previous].next = r.next
    else:
        s.ring[slot] = r.next
    if r.next != NONE:
        s.request[r.next].previous = r.previous
    s.phase[(r.beat - r.computed) % s.setting[0].block] -= 1
    c.decodes -= 1
    beats = c.beats - r.beat
    if beats > 0:
        r.produced += beats
        r.computed += beats
        r.held = blocks_for(s, r.computed)
        r.last = c.beat_end
        if beats > 1:
            r.gap = max(r.gap, longest_beat(s, r.beat + 2))


@compiled
def longest_beat(s: Core, first: int) -> float:
    """Return the longest beat from `first` on, by bisection."""
    c, mask = s.count[0], s.peak.shape[0] - 1
    low, high = c.oldest_peak, c.peaks - 1
    while low < high:
        middle = (low + high) >> 1
        if s.peak_beat[middle & mask] >= first:
            high = middle
        else:
            low = middle + 1
    return s.peak[low & mask]


@compiled
def count_gap(s: Core, seconds: float, tokens: int) -> None:
    place = int(math.log(max(seconds, SHORTEST_GAP) / SHORTEST_GAP) / LOG_STEP)
    s.gaps[min(place, GAP_BINS - 1)] += tokens


@compiled
def new_token(s: Core, i: int) -> None:
    """Count a token for a request outside the clock."""
    r, now = s.request[i], s.count[0].now
    r.produced += 1
    if r.produced == 1:
        r.first = now
    else:
        r.gap = max(r.gap, now - r.last)
        count_gap(s, now - r.last, 1)
    r.last = now
    s.count[0].idle = 0


@compiled
def beat(s: Core) -> None:
    """Advance the clock: one token for all requests in decode."""
    c, mask = s.count[0], s.peak.shape[0] - 1
    length = c.now - c.beat_end
    c.beats += 1
    c.beat_end = c.now
    c.idle = 0
    # Drop earlier beats that are no longer than this one.
    while c.peaks > c.oldest_peak and s.peak[(c.peaks - 1) & mask] <= length:
        c.peaks -= 1
    s.peak_beat[c.peaks & mask], s.peak[c.peaks & mask] = c.beats, length
    c.peaks += 1
    # Drop beats too old for any request in decode.
    while s.peak_beat[c.oldest_peak & mask] < c.beats - mask + 1:
        c.oldest_peak += 1
    if c.decodes > c.fresh:
        count_gap(s, length, c.decodes - c.fresh)
    # A new request's first gap began with its own last token, not with the last beat.
    for n in range(c.fresh):
        r = s.request[s.fresh[n]]
        r.gap = max(r.gap, c.now - r.last)
        count_gap(s, c.now - r.last, 1)
    c.fresh = 0
    finished, slot = 0, c.beats & (s.ring.shape[0] - 1)
    # Complete the requests whose last token is at this beat.
    while s.ring[slot] != NONE:
        i = s.ring[slot]
        end_decode(s, i)
        complete(s, i)
        finished += 1
    if finished:
        close_ranks(s)


@compiled
def write_back(s: Core) -> None:
    """Store the clock in all requests. It pauses this step."""
    c = s.count[0]
    if c.lazy:
        for n in range(c.running):
            r = s.request[s.running[n]]
            if r.state == DECODES:
                end_decode(s, s.running[n])
                if c.all:  # already served in this step
                    r.take, r.held = 1, blocks_for(s, r.computed + 1)
        c.lazy, c.fresh, c.all = 0, 0, 0


@compiled
def complete(s: Core, i: int) -> None:
    r, c = s.request[i], s.count[0]
    r.end, r.state = c.now, DONE
    c.free += r.held
    c.reserved -= blocks_for(s, r.prompt + r.limit - 1)
    c.done += 1


@compiled
def close_ranks(s: Core) -> None:
    """Remove finished and preempted requests from the running list."""
    c, kept = s.count[0], 0
    for n in range(c.running):
        i = s.running[n]
        if s.request[i].state == DECODES or s.request[i].state == UNDER_WAY:
            s.running[kept] = i
            kept += 1
    c.running = kept


# Preemption.


@compiled
def is_before(s: Core, a: int, b: int) -> bool:
    """Compare two running requests by the victim rule, without ties."""
    x, y, victim = s.request[a], s.request[b], s.setting[0].victim
    if victim == 1:  # fewest computed
        return x.computed < y.computed
    if victim == 2:  # most computed
        return x.computed > y.computed
    if victim == 3:  # vLLM pull request 56897
        return score(s, a) > score(s, b)
    if victim == 4:
        return x.priority > y.priority or (x.priority == y.priority and a > b)
    if victim == 5:  # SGLang's retract
        return x.produced < y.produced or (x.produced == y.produced and x.prompt > y.prompt)
    if victim == 7:
        return x.prompt < y.prompt
    return False


@compiled
def score(s: Core, i: int) -> float:
    r = s.request[i]
    value: float = r.held / max(1, r.prompt + r.produced) * (1.0 - r.produced / max(1, r.limit))
    return value


@compiled
def victim_of(s: Core) -> int:
    """Return the request to preempt. Ties: the last admitted."""
    c, rule = s.count[0], s.setting[0]
    best, highest, present, chosen = NONE, 0.0, 0, NONE
    # Draw a random victim's number among the running requests.
    if rule.victim == 6 and rule.victim_at == 0:  # random
        for n in range(c.running):
            present += s.request[s.running[n]].state != QUEUED
        chosen = int(word_at(np.uint64(rule.seed), c.preempted) % np.uint64(present))
    for n in range(c.running - 1, -1, -1):
        i = s.running[n]
        if s.request[i].state == QUEUED:
            continue
        if rule.victim_at != 0:
            value = asked(s, i, rule.victim_at)
            if best == NONE or value > highest:
                best, highest = i, value
        elif rule.victim == 6:
            present -= 1
            if present == chosen:
                best = i
        elif rule.victim == 0:
            return i
        elif best == NONE or is_before(s, i, best):
            best = i
    return best


@compiled
def preempt(s: Core, i: int) -> None:
    """Free a request's blocks and queue it, with known outputs."""
    r, c = s.request[i], s.count[0]
    # Return the request's tokens in this step to the budget.
    c.left += r.take
    if r.take > 0:
        c.served -= 1
        if r.state == DECODES:
            c.outputs -= 1
        else:
            c.prompts -= r.take
    c.under_way -= r.state == UNDER_WAY
    c.preempted += 1
    c.wasted += r.computed
    c.free += r.held
    c.reserved -= blocks_for(s, r.prompt + r.limit - 1)
    r.preemptions += 1
    r.computed = r.held = r.take = 0
    rejoin = s.setting[0].rejoin
    r.rejoined = -1 if rejoin == 0 else 1 if rejoin == 2 else 0
    r.tie = -c.preempted if rejoin == 0 else c.preempted
    c.stopped = 1
    write_log(s, i, PREEMPTED, 0)
    join_queue(s, i)


@compiled
def make_room(s: Core, i: int, needed: int) -> bool:
    """Preempt for `needed` free blocks. False if it preempts i."""
    while needed > s.count[0].free:
        victim = victim_of(s)
        preempt(s, victim)
        if victim == i:
            s.count[0].ended = 1
            return False
    return True


# Parts of a step.


@compiled
def serve_outputs(s: Core) -> None:
    """Give requests in decode one token, if possible all together."""
    c, rule = s.count[0], s.setting[0]
    if c.ended or c.decodes + (0 if c.lazy else c.running) == 0 or c.left == 0:
        return
    if c.lazy:
        # Serve all together if the blocks and the budget suffice.
        needed = s.phase[c.beats % rule.block]
        if c.decodes <= c.left and needed <= c.free:
            c.free -= needed
            c.left -= c.decodes
            c.served += c.decodes
            c.outputs = c.decodes
            c.all = 1
            return
        write_back(s)
    if rule.victim == 5 and rule.victim_at == 0:
        retract(s)
    running = c.running
    for n in range(running):
        i = s.running[n]
        r = s.request[i]
        if r.state != DECODES or c.left == 0:
            continue
        needed = blocks_for(s, r.computed + 1) - r.held
        if needed > c.free and not make_room(s, i, needed):
            break
        c.free -= needed
        r.held += needed
        r.take = 1
        c.left -= 1
        c.outputs += 1
        c.served += 1


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
    left = 0
    for n in range(c.running):
        left += s.request[s.running[n]].state != QUEUED
    while left > 1:
        preempt(s, victim_of(s))
        left -= 1
        if still_needed(s, AHEAD_STEPS) <= c.free:
            break
    produced, limits = 0, 0
    for n in range(c.running):
        r = s.request[s.running[n]]
        if r.state != QUEUED:
            produced += r.produced + AHEAD_STEPS
            limits += r.limit + 1
    c.ratio = min(1.0, produced / limits)


@compiled
def serve_under_way(s: Core) -> None:
    """Compute the next chunk of the prompt under way."""
    c = s.count[0]
    if c.ended or c.under_way == 0 or c.left == 0:
        return
    for n in range(c.running):
        i = s.running[n]
        r = s.request[i]
        if r.state != UNDER_WAY or c.left == 0:
            continue
        take = min(r.prompt + r.produced - r.computed, c.left)
        needed = max(0, blocks_for(s, r.computed + take) - r.held)
        if needed > c.free:
            write_back(s)
            if not make_room(s, i, needed):
                return
        c.free -= needed
        r.held += needed
        enter(s, i, take)


@compiled
def enter(s: Core, i: int, take: int) -> None:
    """Compute prompt tokens of a request in this step."""
    c = s.count[0]
    s.request[i].take = take
    c.left -= take
    c.prompts += take
    c.served += 1
    s.entering[c.entering] = i
    c.entering += 1


@compiled
def begin(s: Core, place: int, tokens: int) -> None:
    """Move a queued request to the running list."""
    c, i = s.count[0], s.queue[place]
    r = s.request[i]
    leave_queue(s, place)
    r.state, r.rejoined, r.held = UNDER_WAY, 0, blocks_for(s, tokens)
    c.free -= r.held
    c.reserved += blocks_for(s, r.prompt + r.limit - 1)
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
    # Memory short of the shortest prompt needs no search of the queue.
    while c.queued > 0 and c.running < rule.places and c.left > 0 and blocks_for(s, min(rule.shortest, c.left)) <= c.free:
        place = first_in_queue(s)
        i = s.queue[place]
        r = s.request[i]
        known = r.prompt + r.produced
        take = min(known, c.left)
        if (rule.chunked == 0 and take < known) or not has_room(s, i, known, take):
            return
        begin(s, place, known if rule.hold else take)
        enter(s, i, take)


@compiled
def has_room(s: Core, i: int, known: int, take: int) -> bool:
    """Return whether the rule admits request i."""
    c, rule, r = s.count[0], s.setting[0], s.request[i]
    keep = rule.reserve if c.running > 0 else 0
    if blocks_for(s, take) + keep > c.free:
        return False
    if rule.admit_at != 0:
        return asked(s, i, rule.admit_at) > 0
    if rule.admission == 0:
        return blocks_for(s, known) + keep <= c.free
    if rule.admission == 2:
        return c.reserved + blocks_for(s, r.prompt + r.limit - 1) + keep <= rule.usable
    if rule.admission == 3:
        # Estimate the outputs still to come from limits.
        coming = min(r.limit - r.produced, CLIP)
        for n in range(c.running):
            other = s.request[s.running[n]]
            coming += min(other.limit - produced_by(s, s.running[n]), CLIP)
        return known + c.ratio * coming <= (c.free - keep) * rule.block
    if rule.admission == 4:
        return fits_ahead(s, i, known, keep)
    return rule.admission != BY_ACTION


@compiled
def produced_by(s: Core, i: int) -> int:
    """Return a running request's tokens, including the clock's."""
    r, c = s.request[i], s.count[0]
    return r.produced + (c.beats - r.beat if r.state == DECODES and c.lazy else 0)


@compiled
def fits_ahead(s: Core, i: int, known: int, keep: int) -> bool:
    """Check memory at each coming completion (MC-SF, arXiv 2502.07115)."""
    c, r = s.count[0], s.request[i]
    members = c.running + 1
    for n in range(c.running):
        other, produced = s.request[s.running[n]], produced_by(s, s.running[n])
        s.ends[0, n] = max(other.predicted - produced, 1)
        decodes = other.state == DECODES
        s.ends[1, n] = other.computed + produced - other.produced if decodes else other.prompt + produced - 1
    s.ends[0, c.running] = max(r.predicted - r.produced, 1)
    s.ends[1, c.running] = known - 1
    # At each completion, add the blocks of all requests still running.
    for m in range(members):
        end, held = s.ends[0, m], 0
        for n in range(members):
            if s.ends[0, n] >= end:
                held += blocks_for(s, int(s.ends[1, n] + end))
        if held + keep > s.setting[0].usable:
            return False
    return True


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
def seconds_of(s: Core, prompts: int, outputs: int) -> float:
    time, tokens = s.setting[0], prompts + outputs
    stairs = (tokens + time.quantum - 1) // time.quantum
    beyond = max(0, tokens - time.quantum)
    value: float = time.fixed + time.prefill * prompts + time.decode * outputs + time.level * stairs + time.above * beyond
    return value


@compiled
def add_to_bins(s: Core, begin: float, end: float) -> None:
    """Add a step's queue, running requests and blocks to bins."""
    c, width = s.count[0], s.setting[0].width
    held = s.setting[0].usable - c.free
    waiting = c.queued + c.running - c.served
    length = end - begin
    c.busy += length
    c.used_time += held * length
    c.running_time += c.running * length
    c.waiting_time += waiting * length
    c.present_time += (c.queued + c.running) * length
    # Split the step over the bins of time.
    k = int(begin / width)
    while begin < end and k < s.bins.shape[0]:
        stop = min(end, (k + 1) * width)
        part = max(stop - begin, 0.0)
        s.bins[k, 0] += waiting * part
        s.bins[k, 1] += c.running * part
        s.bins[k, 2] += held * part
        begin = max(stop, begin)
        k += 1


@compiled
def choose(s: Core) -> None:
    """Choose the step's work, by the rule's kind of batch."""
    c, rule = s.count[0], s.setting[0]
    c.left, c.stopped, c.ended, c.prompts, c.outputs, c.served, c.all = rule.budget, 0, 0, 0, 0, 0, 0
    c.entering, c.lazy = 0, 1
    if rule.batch == 0:
        serve_outputs(s)
        serve_under_way(s)
        admit(s)
    elif rule.batch == 1:
        serve_under_way(s)
        admit(s)
        serve_outputs(s)
    elif rule.batch == 2:
        serve_under_way(s)
        admit(s)
        if c.served == 0:
            serve_outputs(s)
    elif c.decodes > 0:
        serve_outputs(s)
    else:
        serve_under_way(s)
        admit(s)


@compiled
def hand_out(s: Core, i: int) -> int:
    """Count a request's tokens. Return 1 if it ends."""
    r, c = s.request[i], s.count[0]
    if r.take > 0:
        r.computed += r.take
        write_log(s, i, COMPUTED, r.take)
        r.take = 0
        if r.computed < r.prompt + r.produced:
            return 0
        c.under_way -= r.state == UNDER_WAY
        new_token(s, i)
    if r.produced == r.output:
        complete(s, i)
        return 1
    begin_decode(s, i)
    return 0


@compiled
def finish(s: Core) -> None:
    """Advance time, hand out tokens, and complete requests."""
    c, left = s.count[0], 0
    length = seconds_of(s, c.prompts, c.outputs)
    add_to_bins(s, c.now, c.now + length)
    c.now += length
    c.computed += c.prompts + c.outputs
    if c.outputs > 0:
        c.ratio = max(c.ratio - FALL, LEAST)
    if c.lazy == 0:
        # The clock is paused: serve each request by its own tokens.
        close_ranks(s)
        for n in range(c.running):
            if s.request[s.running[n]].state == DECODES:
                left += hand_out(s, s.running[n])
    elif c.all:
        write_log(s, 0, BEAT, c.outputs)
        beat(s)
    for n in range(c.entering):
        if s.request[s.entering[n]].take > 0:  # else preempted in the same step
            left += hand_out(s, s.entering[n])
    if left:
        close_ranks(s)
    c.steps += 1
    c.idle += 1


@compiled
def resume(s: Core) -> None:
    """Restart the clock after preemptions in a step without service."""
    c = s.count[0]
    if c.lazy == 0:
        close_ranks(s)
        for n in range(c.running):
            if s.request[s.running[n]].state == DECODES:
                begin_decode(s, s.running[n])
        c.lazy = 1


# One decision at a time, for an environment.


@compiled
def is_short(s: Core) -> bool:
    """Return whether the next step lacks free blocks."""
    c = s.count[0]
    needed: bool = s.phase[c.beats % s.setting[0].block] > c.free
    return needed


@compiled
def may_enter(s: Core, i: int) -> bool:
    """Return whether there is room for request i and outputs."""
    r, c = s.request[i], s.count[0]
    needed = blocks_for(s, r.prompt + r.produced) + s.phase[c.beats % s.setting[0].block]
    fits: bool = c.running < s.setting[0].places and needed <= c.free
    return fits


@compiled
def admit_chosen(s: Core, place: int) -> None:
    r = s.request[s.queue[place]]
    begin(s, place, r.prompt + r.produced)


@compiled
def preempt_chosen(s: Core, i: int) -> None:
    c = s.count[0]
    c.lazy, c.all = 1, 0
    write_back(s)
    preempt(s, i)
    resume(s)


@compiled
def awaits_decision(s: Core) -> bool:
    """Return whether an environment's agent can preempt or admit."""
    if is_short(s) and s.count[0].running > 1:
        return True
    for place in range(s.count[0].queued):
        if may_enter(s, s.queue[place]):
            return True
    return False


@compiled
def run(s: Core, until: float, steps: int) -> int:
    """Run until `until` (seconds) or a stop. Return the reason.

    steps  for environments: run this many steps, then to the next decision. -1: no decisions
    """
    c, total = s.count[0], s.request.shape[0]
    while c.now < until:
        arrive(s)
        if c.queued == 0 and c.running == 0:
            if c.arrived == total:
                return FINISHED
            c.now = s.request[c.arrived].arrival
            continue
        if steps == 0 and awaits_decision(s):
            return DECISION
        if steps > 0:
            steps -= 1
        choose(s)
        if c.served == 0:
            # Nothing fits, or the rule waits for more. Preempted requests may enter in the next step.
            resume(s)
            if not c.stopped:
                if c.arrived == total or s.setting[0].closed > 0:
                    return STUCK
                c.now = s.request[c.arrived].arrival
            c.idle += 1
        else:
            finish(s)
        if c.idle > MOST_IDLE:
            return ENDLESS_LOOP
    return REACHED
