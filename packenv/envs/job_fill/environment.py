"""One server at a time: which job starts its next task?

## Description
Jobs of many tasks, in phases or with predecessors, with one or several resources, with or without values, owners and places of
their data: any finite table of jobs, such as the workload `analytics`. A decision is about one server on which a waiting task
fits. Servers come in index order. The actions are groups of equal tasks (job, phase, demand, expected service). The server offers
at most `window` groups that fit: first groups with data there, then groups with data in the rack, and among these the jobs with
the least work left first. With `choices` it offers only the best of these by the score of Tetris: alignment less twice the work
left, each over its mean. Always taking the first is nearly `tetris:f=0,m=2`. If only one group fits on a server, it then starts
without a decision. Sizes of action and observation do not depend on the number of jobs, servers or resources.

Tasks of a group may have their data on different servers. The task with the nearest data starts: first one with data on the
server, or without data; then one with data in the rack; then any. Ties go to the earliest row. With `ask="always"` tasks with
different data are in different groups.

## Action Space
`Discrete(K + 1)`: a = n starts the nearest task of the n-th offered group. The last action passes: the server is left out until
its next completion, the next task that becomes eligible, or until no task is in service anywhere. Passing is invalid while no
task is in service (except with `ask="always"`), so that something runs while something waits.

`info["action_mask"]` (int8) and `action_masks()` (bool) show which actions are valid. `invalid` chooses what replaces an invalid
action. With "wait" it counts as pass.

## Observation Space
`actions` (K + 1, F), a row of features for every action, and `context` (C,), of the cluster: see the tables below.
(*): also written for the action that passes. Scarcity of a resource: Σ demand · expected slots over the tasks that have
arrived and not started, eligible or not, over the capacity of the cluster. "compact" and "full" are not offered.

## Its Own Rewards
| `"completion"` | minus the unfinished jobs, in every slot: over an episode minus the sum of completion times |
|---|---|
| `"overtaking"` | when a task starts: minus the waiting jobs with less work left than its own, times its work |
| `"value"` | as `completion`, each job weighted by its value |
| `"makespan"` | minus the slots that pass |

`"overtaking"` is the part of `completion`, shaped by a potential, that depends on the choice of the task
(`packenv.envs.rewards.overtaking`), with a fraction of the noise. The others may end in `:unfairness=PRICE`, as in
`"completion:unfairness=2"`. Then every slot costs each job (or tenant) with waiting tasks the price if it has no share of the
cluster, half the price with half its fair share, and nothing with its fair share. A fair share is one over the jobs (or tenants)
with eligible tasks. The sum is the price times `packenv.results.fairness.missing_shares`.

With `window` or `ask` but not `choices` all groups of the window, 8 by default, are offered.
An episode begins with an empty cluster.

## Own Arguments
| `passing` | False | servers cannot be passed while a group is offered; or True |
| `choices` | 4 | offered groups: the best by score of the `window` (32); None: all |
| `ask` | `"changed"` | `"always"`: decide about passed servers in every slot, and after a round with a start |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.waiting import now
from packenv.cluster.servers import reopen_all, server_count
from packenv.cluster.state import NONE
from packenv.cluster.whole_jobs.remaining_work import work_left
from packenv.cluster.whole_jobs.state import EVERYWHERE, nearest_task, note_slot, start_of_group
from packenv.compiled.decorators import apart, compiled
from packenv.envs.core.between_decisions import pass_over, reopen_passed
from packenv.envs.core.definition import Definition, Layout, Sizes, check_integer, one_of
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.job_fill.describe import describe_cluster, describe_groups
from packenv.envs.job_fill.features import OF_GROUPS
from packenv.envs.job_fill.offer import any_fits, any_new_fits, offer
from packenv.envs.options import WITHOUT_TYPES
from packenv.envs.policy_agents.planned import Choice, Planned, nearest_action, still_planned
from packenv.errors import InputError
from packenv.policy import Needs

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core
    from packenv.envs.options import Options


class JobFillRules(NamedTuple):
    """The options that compiled code reads."""

    passing: int  # 1 if a server may be passed
    again: int  # 1: passed servers are asked again in every slot, and after every round in which something started
    choices: int  # how many groups are offered, the best by the score of Tetris first; 0: as many as the window


@begins(JobFillRules)
def begin(rules: JobFillRules, b: Batch) -> None:
    """Process the slot's events, and reconsider passed servers."""
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
    # visit passed servers again if this round started something
    if rules.again and turn.server == NONE and turn.passed and b.c.head[b.c.e].started > turn.started:
        reopen_all(b.c)
        turn.passed = 0
        begin_round(rules, b)


@apart
def start(b: Batch, g: int, server: int) -> None:
    """Start a task of group g, and count overtaken work."""
    jobs, waiting_jobs = b.jobs, b.jobs.groups.jobs
    left, less = work_left(b.c, jobs.work, jobs.book.job[g]), 0
    for n in range(waiting_jobs.count[0]):
        less += work_left(b.c, jobs.work, waiting_jobs.number[n]) < left
    b.turn[b.c.e].overtaken += less * float(jobs.work.rate[g] * jobs.book.duration[g]) / jobs.work.capacity
    start_of_group(b.c, jobs, g, server)


@observes(JobFillRules)
def observe(rules: JobFillRules, b: Batch) -> None:
    server, last = b.turn[b.c.e].server, b.mask.shape[1] - 1
    for n in range(last):
        b.mask[b.c.e, n] = b.offered[b.c.e, n] != NONE
    b.mask[b.c.e, last] = 1 if server == NONE or may_pass(rules, b) else 0
    describe_groups(b, server)
    describe_cluster(b, server)


@compiled
def may_pass(rules: JobFillRules, b: Batch) -> bool:
    return rules.passing > 0 and (rules.again > 0 or not nothing_runs(b))


@compiled
def nothing_runs(b: Batch) -> bool:
    return b.c.head[b.c.e].in_service == 0


@compiled
def begin_round(rules: JobFillRules, b: Batch) -> None:
    b.turn[b.c.e].started = b.c.head[b.c.e].started
    next_decision(rules, b, 0)


@compiled
def next_decision(rules: JobFillRules, b: Batch, first: int) -> None:
    """Find the next server and its groups from `first` on."""
    turn, server = b.turn[b.c.e], offer_next(b, first, rules.choices)
    while rules.choices > 0 and rules.passing == 0 and server != NONE and b.fitting[b.c.e] == 1:
        start(b, b.offered[b.c.e, 0], server)
        server = offer_next(b, server, rules.choices)
    turn.server, turn.phase = server, WAITING if server == NONE else DECIDING


@apart
def offer_next(b: Batch, first: int, choices: int) -> int:
    """Write the next server's offer, and return it or NONE."""
    server = next_server(b, first)
    offer(b, server, choices)
    return server


@compiled
def next_server(b: Batch, first: int) -> int:
    """Return the next server >= first with room, or NONE.

    Nothing fitted on any open server at the end of the last slot. So only servers with a completion, or reopened, look at all
    groups. The others look at groups with new tasks. Server `first` has changed and looks at all.
    """
    c, jobs = b.c, b.jobs
    for server in range(first, server_count(c)):
        if jobs.counts[EVERYWHERE] or c.server[c.e, server].freed == now(c):
            if any_fits(b, server):
                return server
        elif any_new_fits(b, server):
            return server
    return NONE


DEFAULTS = {
    **{"workload": "analytics", "window": 32, "choices": 4},
    **{"observation": "normalized", "reward": "overtaking", "invalid": "first", "passing": False},
}

WHOLE = {"choices": None, "window": 8}

ASKED = ("changed", "always")


def layout(
    sizes: Sizes,
    capacity: NDArray[np.int64],
    options: Options,
    *,
    passing: bool = True,
    ask: str = "changed",
    choices: int | None = None,
) -> Layout:
    """Return JobFill's layout, for (L, D) units of capacity."""
    if not options.describes_actions:
        raise InputError(f"JobFill has the observations 'actions' and 'normalized', not {options.observation!r}")
    if choices is not None:
        check_integer("choices", choices, 2, sizes.window)
    actions = (choices or sizes.window) + 1
    return Layout(
        rules=JobFillRules(one_of("passing", passing, (False, True)), one_of("ask", ask, ASKED), choices or 0),
        needs=Needs(vectors=sizes.resources > 1, table=True, durations=True),
        actions=actions,
        observed={"actions": (actions, len(OF_GROUPS.of_action)), "context": (len(OF_GROUPS.of_context),)},
        groups=sizes.window,
        by_data=ask == "always",
        features=OF_GROUPS,
    )


def instead(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the defaults for offering the whole window."""
    every = "choices" not in arguments and ("window" in arguments or arguments.get("ask", "changed") != "changed")
    return WHOLE if every or arguments.get("choices", 0) is None else {}


def policy_action(core: Core, row: int, planned: Planned) -> int:
    """Return an action for a planned task's group, or pass.

    It is exact if the group would start that task. The earliest planned row goes first. With `ask="always"` the server is passed
    until the tasks before it in its group have started on later servers.
    """
    batch, place = core.place_of(row)
    _, tasks = still_planned(core, row, planned)
    decided, book, rows = int(batch.turn["server"][place]), batch.jobs.book, batch.c.task["row"][place]
    here = sorted(((i, server) for i, server in tasks if server == decided), key=lambda task: int(rows[task[0]]))

    def action_of(i: int, server: int) -> Choice:
        g = int(book.group[rows[i]])
        offered = np.flatnonzero(batch.offered[place] == g)
        return Choice(int(offered[0]), nearest_task(batch.jobs, g, server) == rows[i]) if len(offered) else Choice(NONE, False)

    if core.layout.rules.again and not any(action_of(i, server).exact for i, server in here):
        return core.layout.actions - 1
    return nearest_action(core, row, planned, here, action_of)


DEFINITION = Definition(
    "JobFill",
    layout,
    policy_action,
    __doc__,
    OF_GROUPS,
    follows_jobs=True,
    defaults=DEFAULTS,
    instead=instead,
    without=WITHOUT_TYPES,
)
