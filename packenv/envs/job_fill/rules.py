"""JobFill: one server at a time, in index order, among those on which waiting tasks fit. An action names a group to start from.

Offered are the groups of like tasks that fit on the server: those with data there first, then those with data in its rack; of
equally near ones those of jobs with the least work left; of equal ones the earliest row. The task of the group whose data are
nearest to the server starts. After a start the same server is asked again; a server that is passed is left out until its next
completion or the next task that becomes eligible; with `ask="always"` until the next slot, or the end of a round in which
something started.

While no task is in service no server may be passed, and all that were passed are asked again, so that something runs while
something waits. Not so with `ask="always"`: policies may wait with an empty cluster.
"""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster.queue.waiting import now
from packenv.cluster.servers import reopen_all, server_count
from packenv.cluster.state import NONE
from packenv.cluster.whole_jobs.remaining_work import work_left
from packenv.cluster.whole_jobs.state import EVERYWHERE, note_slot, start_of_group
from packenv.compiled.decorators import apart, compiled
from packenv.envs.core.between_decisions import pass_over, reopen_passed
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.job_fill.describe import describe_cluster, describe_groups
from packenv.envs.job_fill.offer import any_fits, any_new_fits, offer


class JobFillRules(NamedTuple):
    """The options that compiled code reads."""

    passing: int  # 1 if a server may be passed
    again: int  # 1: passed servers are asked again in every slot, and after every round in which something started
    choices: int  # how many groups are offered, the best by the score of Tetris first; 0: as many as the window


@begins(JobFillRules)
def begin(rules: JobFillRules, b: Batch) -> None:
    """Take up what happened, and ask again about servers that were passed, where something has changed."""
    turn = b.turn[b.c.e]
    passed = turn.passed
    reopen_passed(b)
    if rules.again or (turn.passed and nothing_runs(b)):
        reopen_all(b.c)
        turn.passed = 0
    note_slot(b.c, b.jobs, rules.again > 0 or passed > turn.passed)
    begin_round(rules, b)


@acts(JobFillRules)
def act(rules: JobFillRules, b: Batch) -> None:
    """Start a task on the server, or pass it over."""
    turn, action = b.turn[b.c.e], b.action[b.c.e]
    g = NONE
    if action < b.mask.shape[1] - 1:
        g = b.offered[b.c.e, action]
        turn.invalid = g == NONE
    else:
        turn.invalid = not may_pass(rules, b)
    if g == NONE:
        pass_over(b, turn.server)
    else:
        start(b, g, turn.server)
    next_decision(rules, b, turn.server)
    if rules.again and turn.server == NONE and turn.passed and b.c.head[b.c.e].started > turn.started:
        reopen_all(b.c)
        turn.passed = 0
        begin_round(rules, b)


@apart
def start(b: Batch, g: int, server: int) -> None:
    """Start a task of group g, and count by how many slots its work delays the waiting jobs with less work left."""
    jobs, waiting_jobs = b.jobs, b.jobs.groups.jobs
    left, less = work_left(b.c, jobs.work, jobs.book.job[g]), 0
    for n in range(waiting_jobs.count[0]):
        less += work_left(b.c, jobs.work, waiting_jobs.number[n]) < left
    b.turn[b.c.e].overtaken += less * float(jobs.work.rate[g] * jobs.book.duration[g]) / jobs.work.capacity
    start_of_group(b.c, jobs, g, server)


@observes(JobFillRules)
def observe(rules: JobFillRules, b: Batch) -> None:
    """Write the observation and the mask of the row."""
    server, last = b.turn[b.c.e].server, b.mask.shape[1] - 1
    for n in range(last):
        b.mask[b.c.e, n] = b.offered[b.c.e, n] != NONE
    b.mask[b.c.e, last] = 1 if server == NONE or may_pass(rules, b) else 0
    describe_groups(b, server)
    describe_cluster(b, server)


@compiled
def may_pass(rules: JobFillRules, b: Batch) -> bool:
    """Whether the server of the decision may be passed."""
    return rules.passing > 0 and (rules.again > 0 or not nothing_runs(b))


@compiled
def nothing_runs(b: Batch) -> bool:
    """Whether no task is in service anywhere: if nothing starts, nothing may ever happen again."""
    return b.c.head[b.c.e].in_service == 0


@compiled
def begin_round(rules: JobFillRules, b: Batch) -> None:
    """Ask the servers in index order."""
    b.turn[b.c.e].started = b.c.head[b.c.e].started
    next_decision(rules, b, 0)


@compiled
def next_decision(rules: JobFillRules, b: Batch, first: int) -> None:
    """Find the next server on which something fits, from `first` on, and the groups to offer there.

    With `choices`, and without passing, the only group that fits on a server starts without a decision.
    """
    turn, server = b.turn[b.c.e], offer_next(b, first, rules.choices)
    while rules.choices > 0 and rules.passing == 0 and server != NONE and b.fitting[b.c.e] == 1:
        start(b, b.offered[b.c.e, 0], server)
        server = offer_next(b, server, rules.choices)
    turn.server, turn.phase = server, WAITING if server == NONE else DECIDING


@apart
def offer_next(b: Batch, first: int, choices: int) -> int:
    """Write what is offered on the next server on which something fits, from `first` on; returns the server, or NONE."""
    server = next_server(b, first)
    offer(b, server, choices)
    return server


@compiled
def next_server(b: Batch, first: int) -> int:
    """The first server from `first` on on which a waiting task fits; NONE if there is none.

    At the end of the last slot nothing fitted on any open server. So on servers without a completion, and not reopened, only
    groups that got new tasks are looked at; on server `first` itself, which has changed, all.
    """
    c, jobs = b.c, b.jobs
    for server in range(first, server_count(c)):
        if jobs.counts[EVERYWHERE] or c.server[c.e, server].freed == now(c):
            if any_fits(b, server):
                return server
        elif any_new_fits(b, server):
            return server
    return NONE
