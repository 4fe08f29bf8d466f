"""Groups that JobFill offers on a server.

Fitting groups are ordered by nearness of data, then by work left. Jobs are visited one by one, without jobs that cannot come
before the last offered group. With `choices` the groups with the best scores of Tetris remain, the best first.
"""

from __future__ import annotations

from packenv.cluster.locality import has_homes, level_of
from packenv.cluster.state import NONE
from packenv.cluster.whole_jobs.book import at_home, free_of, group_fits
from packenv.cluster.whole_jobs.remaining_work import work_left
from packenv.cluster.whole_jobs.state import NEWS, nearest_task
from packenv.cluster.whole_jobs.waiting_groups import first_pair
from packenv.compiled.decorators import apart, compiled
from packenv.envs.core.state import Batch
from packenv.workloads.network import NODE, RACK


@compiled
def any_fits(b: Batch, server: int) -> bool:
    return has_room(b, server) and fitting_groups(b, server, 1) > 0


@compiled
def any_new_fits(b: Batch, server: int) -> bool:
    """Return whether a group with new tasks fits on the server."""
    book, jobs = b.jobs.book, b.jobs
    if has_room(b, server):
        for n in range(jobs.counts[NEWS]):
            if book.waiting[jobs.news[n]] > 0 and group_fits(b.c, book, jobs.news[n], server):
                return True
    return False


@compiled
def has_room(b: Batch, server: int) -> bool:
    """Return whether the smallest demands fit (a cheap first check)."""
    for r in range(b.jobs.least.shape[0]):
        if free_of(b.c, server, r) < b.jobs.least[r]:
            return False
    return True


@compiled
def fitting_groups(b: Batch, server: int, enough: int) -> int:
    """Return the number of fitting groups, at most about `enough`."""
    groups, count = b.jobs.groups, 0
    for n in range(groups.kinds.count[0]):
        kind = groups.kinds.number[n]
        if group_fits(b.c, b.jobs.book, groups.example[kind], server):
            count += groups.of_kind[kind]
            if count >= enough:
                break
    return count


OF_WORK = 2.0  # weight of the work left in the score: what serves Tetris best on jobs of several phases
REMOTE = 0.1  # share of the alignment that is lost on a server without the data, as Tetris has it


@apart
def offer(b: Batch, server: int, choices: int) -> None:
    """Write the offered groups, or the best `choices`, then NONE."""
    e, jobs = b.c.e, b.jobs.groups.jobs
    # no groups yet
    for n in range(b.offered.shape[1]):
        b.offered[e, n] = NONE
    b.fitting[e], b.foremost[e] = 0, NONE
    if server == NONE:
        return
    # the job with the least work left, whose groups come first
    b.fitting[e] = fitting_groups(b, server, b.jobs.book.count[0])
    foremost = foremost_job(b)
    b.foremost[e] = first_group(b, foremost)
    # before these: groups with data on the server, where tasks of a group have different data
    count, level = 0, NODE
    if b.jobs.groups.pairs.shape[0] > 0:  # otherwise all are at home everywhere, or groups are of tasks with the same data
        level = RACK
        for n in range(jobs.count[0]):
            count = offer_at_home(b, jobs.number[n], server, count)
    # then the other groups: those of that job, and those of all others
    count = offer_job(b, foremost, level, server, count)
    for n in range(jobs.count[0]):
        if jobs.number[n] != foremost:
            count = offer_job(b, jobs.number[n], level, server, count)
    if choices > 0:
        keep_best(b, server, choices, count)


@apart
def keep_best(b: Batch, server: int, choices: int, count: int) -> None:
    """Keep the `choices` groups with the highest scores (PAPERS §2).

    The score is a − 2 ε p: a is the alignment of demand and free room, p the job's work left, ε = mean a / mean p over the tasks
    of these groups. Ties keep their order.
    """
    e, jobs, alignments, works = b.c.e, b.jobs, 0.0, 0.0
    # alignments, and the sums for both means
    for n in range(count):
        g = b.offered[e, n]
        b.score[e, n] = alignment(b, g, server)
        alignments += jobs.book.waiting[g] * b.score[e, n]
        works += jobs.book.waiting[g] * b.rank[e, n]
    for n in range(count):
        b.score[e, n] -= OF_WORK * ratio(b.rank[e, n], works, alignments)
    # move the best to the front, so that ties keep their order
    for n in range(min(count, choices)):
        best = n
        for k in range(n + 1, count):
            if b.score[e, k] > b.score[e, best]:
                best = k
        g, score = b.offered[e, best], b.score[e, best]
        for k in range(best, n, -1):
            b.offered[e, k], b.score[e, k], b.rank[e, k] = b.offered[e, k - 1], b.score[e, k - 1], b.rank[e, k - 1]
        b.offered[e, n], b.score[e, n] = g, score
    for n in range(choices, count):
        b.offered[e, n] = NONE


@compiled
def alignment(b: Batch, g: int, server: int) -> float:
    """Return Σ demand · free as shares, less away from data."""
    c, total = b.c, 0.0
    for r in range(c.capacity.shape[1]):
        capacity = float(c.capacity[server, r])
        if capacity > 0:
            total += (b.jobs.book.demand[g, r] / capacity) * (free_of(c, server, r) / capacity)
    return total if at_home(b.jobs.book, g, server) else total * (1 - REMOTE)


@compiled
def ratio(amount: float, total: float, count: float) -> float:
    """Return the amount over its mean, 1 if all are 0."""
    return amount * count / total if total > 0 else 1.0


@compiled
def foremost_job(b: Batch) -> int:
    """Return the job with the least work (ties: earliest row)."""
    jobs, first, least = b.jobs.groups.jobs, NONE, 0.0
    for n in range(jobs.count[0]):
        j = jobs.number[n]
        left = work_left(b.c, b.jobs.work, j)
        if first == NONE or left < least:
            first, least = j, left
        elif left == least and head_of(b, first_group(b, j)) < head_of(b, first_group(b, first)):
            first = j
    return first


@compiled
def first_group(b: Batch, j: int) -> int:
    g = b.jobs.groups.ends[j].head
    first = g
    while g != NONE:
        if head_of(b, g) < head_of(b, first):
            first = g
        g = b.jobs.groups.links[g].next
    return first


@compiled
def head_of(b: Batch, g: int) -> int:
    return b.jobs.book.ends[g].head


@apart
def offer_at_home(b: Batch, j: int, server: int, count: int) -> int:
    """Offer job j's groups at home, and return the count."""
    groups, left = b.jobs.groups, work_left(b.c, b.jobs.work, j)
    for place in (NONE, server):
        n = first_pair(groups, j, place)
        while n < groups.pairs_of[j + 1] and groups.server[n] == place:
            if b.jobs.homes.servers.pair[groups.pairs[n]].head != NONE:
                count = offer_group(b, groups.group[n], NODE, left, server, count)
            n += 1
    return count


@apart
def offer_job(b: Batch, j: int, level: int, server: int, count: int) -> int:
    """Offer job j's groups from `level`, and return the count."""
    left = work_left(b.c, b.jobs.work, j)
    # skip a job whose groups all come after the last offered one
    if count == b.offered.shape[1]:
        last = b.near[b.c.e, count - 1]
        if level > last or (level == last and left > b.rank[b.c.e, count - 1]):
            return count
    g = b.jobs.groups.ends[j].head
    while g != NONE:
        near = level_of_group(b, g, server)
        if near >= level:
            count = offer_group(b, g, near, left, server, count)
        g = b.jobs.groups.links[g].next
    return count


@compiled
def level_of_group(b: Batch, g: int, server: int) -> int:
    """Return NODE, RACK or ANY for a group's nearest task."""
    if not has_homes(b.c):
        return NODE
    ends = b.jobs.book.ends[g]
    return level_of(b.c, ends.head if ends.head == ends.tail else nearest_task(b.jobs, g, server), server)


@compiled
def offer_group(b: Batch, g: int, level: int, left: float, server: int, count: int) -> int:
    """Insert a fitting group into the offer, and return the count."""
    e, most = b.c.e, b.offered.shape[1]
    if count == most and not goes_before(b, level, left, g, count - 1):
        return count
    place = place_among(b, level, left, g, count)
    if (place > 0 and b.offered[e, place - 1] == g) or not group_fits(b.c, b.jobs.book, g, server):
        return count
    # shift the groups behind it
    for n in range(min(count, most - 1), place, -1):
        b.offered[e, n], b.rank[e, n], b.near[e, n] = b.offered[e, n - 1], b.rank[e, n - 1], b.near[e, n - 1]
    b.offered[e, place], b.rank[e, place], b.near[e, place] = g, left, level
    return min(count + 1, most)


@compiled
def place_among(b: Batch, level: int, left: float, g: int, count: int) -> int:
    """Return the position of group g among the offered."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if goes_before(b, level, left, g, middle):
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def goes_before(b: Batch, level: int, left: float, g: int, n: int) -> bool:
    """Return whether group g goes before the n-th."""
    near, rank = b.near[b.c.e, n], b.rank[b.c.e, n]
    if level != near:
        return level < near
    return left < rank or (left == rank and head_of(b, g) < head_of(b, b.offered[b.c.e, n]))
