"""The state of a batch of environments around their clusters.

Shapes: E clusters, L servers, D resources, G kinds of server, 2J types, K tasks of the window, A actions, P places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.state import Cluster
from packenv.cluster.whole_jobs.state import WholeJobs
from packenv.compiled.frame import Frame

WAITING, DECIDING, OVER, FRESH, BEGUN = 0, 1, 2, 3, 4
"""Phase of a row: between two decisions, at a decision, at the end of its episode, at the beginning of one, or at the
beginning of a slot in which nothing has been decided yet."""

FIRST = 2
"""Of `Batch.nearest`: the first valid action is carried out in place of one that is not valid."""

AT_HORIZON, TOO_MANY_WAITING, WORK_DONE, NOTHING_LEFT = 1, 2, 3, 4
"""Why an episode ended, as `info["reason"]` says it; 0 while it goes on. REASONS has the text of each."""

REASONS = ("", "horizon", "waiting limit", "all work is done", "nothing left to happen")

Numbers = float | NDArray[np.float64]

turn_type = np.dtype(
    [
        ("phase", "i8"),
        ("until", "i8"),  # the slot in which the episode is truncated, NEVER if it has no horizon
        ("reason", "i8"),
        ("invalid", "i8"),  # 1 if the last action was not valid
        ("server", "i8"),  # the server that the decision is about, NONE for decisions about the whole cluster
        ("cursor", "i8"),  # the server at which the pass over the servers goes on
        ("started", "i8"),  # tasks started before this pass
        ("passed", "i8"),  # 1 while a server is passed over
        ("fresh", "i8"),  # 1 up to the first decision of an episode
        ("window", "i8"),  # tasks in the window,
        ("window_started", "i8"),  # and tasks started when it was last brought up to date
        ("counted_started", "i8"),  # tasks started, and in service, when the summaries of the servers were last brought
        ("counted_in_service", "i8"),  # up to date
        ("rate", "f8"),  # mean number of tasks that arrive per slot,
        ("exogenous", "f8"),  # their scalar size, in units of capacity,
        ("offered", "f8"),  # and what they add to `served` in the long run, over the mean service
        # at the last decision, or the beginning of the episode:
        ("now", "i8"),
        ("queue_sum", "i8"),
        ("size_sum", "f8"),
        ("delay_sum", "i8"),
        ("tasks", "i8"),
        ("placed", "i8"),  # since then: size placed, in units,
        ("served", "f8"),  # ∫ size in service dt, in units, mean over the resources,
        ("unfinished", "f8"),  # ∫ unfinished jobs dt, where whole jobs are followed,
        ("unfinished_value", "f8"),  # ∫ their values dt,
        ("missing_shares", "f8"),  # ∫ what owners with waiting tasks lack of their fair shares dt,
        ("overtaken", "f8"),  # slots by which the tasks that started delay jobs with less work left,
        ("guarded", "i8"),  # and slots that passed under the guard
        ("guard_slot", "i8"),  # the slot that the guard scheduled last
        # where the jobs of a table wait for one machine (packenv.envs.next_job):
        ("kept", "i8"),  # the task that is to start next, NONE if none is chosen; with EASY
        ("reserved", "f8"),  # the slot in which it is expected to,
        ("beside", "f8"),  # and units that may be taken beside it then
        ("slowdown_waiting", "f8"),  # Σ bounded slowdown of the waiting tasks, as if they had started when it was last counted
        ("slowdown", "f8"),  # the same with those of all tasks that have started,
        ("slowdown_rewarded", "f8"),  # at the last decision,
        ("queue_rewarded", "i8"),  # and ∫ Q dt there
        ("rows", "f8"),  # of the episode's table,
        ("mean_service", "f8"),  # and their mean service in slots
    ],
    align=True,
)


class Passage(NamedTuple):
    """Events since the last action: numbers, or arrays (E,).

    Times are in slots, sizes in units of capacity. Your own rewards read these fields. An integral ∫ … dt is a sum over the slots
    from the last action to the present one.
    """

    elapsed: Numbers  # slots
    queue: Numbers  # ∫ Q dt: waiting tasks, added up over these slots
    size: Numbers  # the same of their sizes
    delay: Numbers  # of the tasks that started, added up
    started: Numbers  # tasks
    placed: Numbers  # their sizes, added up
    served: Numbers  # ∫ size in service dt over the mean service: of several resources, the mean
    arrivals: Numbers  # mean number of tasks that arrive in so many slots
    arriving: Numbers  # their size
    offered: Numbers  # what they add to `served` in the long run
    guarded: Numbers  # slots that passed under the guard
    unfinished: Numbers  # ∫ jobs that have arrived and not ended, dt; 0 where whole jobs are not followed
    unfinished_value: Numbers  # ∫ Σ of their values dt
    missing_shares: Numbers  # ∫ Σ over owners with waiting tasks of what each lacks of its fair share, as a share of it, dt
    overtaken: Numbers  # Σ over the tasks that started: waiting jobs with less work left · work, in mean services of a server
    mean_queue: Numbers  # of the episode so far, as in Result
    mean_delay: Numbers
    mean_waiting_size: Numbers
    utilisation: Numbers  # of the resource that is used most
    slot: Numbers  # the present one
    invalid: Numbers  # 1 if the action was not valid
    reason: Numbers  # why the episode ended, 0 while it goes on
    baseline: Numbers  # ∫ Q dt of the baseline over the same slots; 0 unless the reward is `advantage`
    slowdown: Numbers  # NextJob: what the bounded slowdowns have grown by, over the jobs of the table
    wait: Numbers  # ∫ Q dt over the jobs of the table and their mean service; both from the beginning of the episode on
    mean_slowdown: Numbers  # of the jobs that have arrived in the episode so far


passage_type = np.dtype([(name, "i8" if name in ("slot", "invalid", "reason") else "f8") for name in Passage._fields])

OF_EPISODE = ("mean_queue", "mean_delay", "mean_waiting_size", "utilisation")
"""Measures of the episode so far that `info` has, next to what happened in the step."""

window_type = np.dtype([("since", "i8"), ("size", "i4"), ("place", "i4")], align=True)


class Batch(Frame):
    """Clusters with an agent (missing observations have length 0)."""

    c: Cluster
    first: int  # the compiled step works on rows first ..
    last: int  # .. last - 1
    guard_limit: int  # with more waiting tasks the guard schedules; NEVER without one
    finite: int  # 1 if the workload is a table of jobs
    nearest: int  # what is carried out in place of an action that is not valid: 0 nothing, 1 the nearest valid one, FIRST
    turn: NDArray[np.void]  # (E,) turn_type
    passage: NDArray[np.void]  # (E,) passage_type: what happened since the last action
    action: NDArray[np.int64]  # (E,)
    window: NDArray[np.void]  # (E, K) window_type: the oldest waiting tasks, where `queue` is observed
    ages: NDArray[np.float64]  # (E, L, 2) of each server: the sum of its jobs' starting slots, and of their squares
    room_class: NDArray[np.int32]  # (E, L) type of each server's room, 2J if it has none
    rooms: NDArray[np.int32]  # (E, 2J + 1) servers of each class of room
    active: NDArray[np.int32]  # (E, L) active configuration of each server, NONE before the first
    reserved: NDArray[np.int64]  # (E, L) VQS: room held by the type-1 job in the reserved part
    table: NDArray[np.int64]  # (G, N, 2J) configurations of each kind of server
    counts: NDArray[np.int64]  # (G,) how many of them there are
    total: NDArray[np.int64]  # (D,) capacity of the whole cluster
    scale: NDArray[np.float64]  # (3,) of features: the largest scalar capacity, in units; the mean service; √(5 / L)
    logarithms: NDArray[np.float32]  # (N,) of features: log(1 + n · √(5 / L)) / 5 of n = 0 .. N - 1
    waiting_sizes: NDArray[np.int32]  # (E, P + WIDTH) scratch: the sizes of the waiting tasks, where features need them
    jobs: WholeJobs  # of the row, where the environment follows whole jobs: then a batch has one row
    facts: NDArray[np.float64]  # (n, K) what the environment reads of each row of the table (`Layout.facts`), or (0, 0)
    releases: NDArray[np.float64]  # (P, 2) scratch, with facts: slots in which tasks in service are expected to end; their sizes
    offered: NDArray[np.int32]  # (E, K) groups of identical tasks that the actions start, NONE after the last
    score: NDArray[np.float64]  # (E, K) scratch: by which the best are kept, where not all are offered
    rank: NDArray[np.float64]  # (E, K) work left of their jobs,
    near: NDArray[np.int8]  # (E, K) and how near their data are to the server: NODE, RACK or ANY
    fitting: NDArray[np.int64]  # (E,) groups that fit on the server of the decision
    foremost: NDArray[np.int64]  # (E,) the group of the job with the least work left, fitting or not; NONE without a server
    unread: int  # features that need not be written (packenv.envs.core.features)
    # the observation
    queue: NDArray[np.float32]  # (E, K, D + 2)
    virtual_queues: NDArray[np.float32]  # (E, G · 2J, 4 or 2), or (E, 2J, 4 or 2) where a decision is about one server
    servers: NDArray[np.float32]  # (E, L, D or D + 2J or D + 2J + 1)
    server: NDArray[np.float32]  # (E, D or D + 2J + 2)
    cluster: NDArray[np.float32]  # (E, D + 2J + 1)
    configurations: NDArray[np.float32]  # (E, 2J)
    actions: NDArray[np.float32]  # (E, A, F)
    context: NDArray[np.float32]  # (E, C)
    mask: NDArray[np.int8]  # (E, A)
