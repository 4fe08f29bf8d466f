"""What the environments keep beside the clusters: one row for each, in one Frame with them.

Shapes: E clusters, L servers, D resources, G kinds of server, 2J types, K jobs of the window, A actions, P places.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.state import Cluster
from packenv.compiled.frame import Frame
from packenv.envs.core.lineup import Lineup

WAITING, DECIDING, OVER, FRESH, BEGUN = 0, 1, 2, 3, 4
"""Phase of a row: on its way to the next decision, at one, at the end of its episode, at the beginning of one, or in a
slot that has just begun, before anybody has looked at it."""

HORIZON, LIMIT, DONE, STUCK = 1, 2, 3, 4
"""Why an episode ended."""

REASONS = ("", "horizon", "waiting limit", "all work is done", "nothing left to happen")

turn_type = np.dtype(
    [
        ("phase", "i8"),
        ("until", "i8"),  # the slot in which the episode is truncated, NEVER if it has no horizon
        ("reason", "i8"),
        ("invalid", "i8"),  # 1 if the last action was not valid
        ("server", "i8"),  # the server at hand, NONE for decisions about the whole cluster
        ("cursor", "i8"),  # where the pass over the servers goes on
        ("started", "i8"),  # tasks started in this pass
        ("passed", "i8"),  # 1 while some server has been passed
        ("fresh", "i8"),  # 1 up to the first decision of an episode
        ("window", "i8"),  # tasks in the window,
        ("window_started", "i8"),  # and tasks started, as far as it knows
        ("known_started", "i8"),  # tasks started, and in service, as far as the books of the servers know
        ("known_in_service", "i8"),
        ("rate", "f8"),  # mean number of tasks that arrive per slot,
        ("exogenous", "f8"),  # and their scalar size, in units of capacity
        # at the last decision, or the beginning of the episode:
        ("now", "i8"),
        ("queue_sum", "i8"),
        ("size_sum", "f8"),
        ("delay_sum", "i8"),
        ("tasks", "i8"),
        ("placed", "i8"),  # since then: size placed, in units,
        ("guarded", "i8"),  # and slots that passed under the guard
        ("guard_slot", "i8"),  # the slot that the guard scheduled last
    ],
    align=True,
)

passage_type = np.dtype(
    [
        ("elapsed", "f8"),
        ("queue", "f8"),
        ("size", "f8"),
        ("delay", "f8"),
        ("started", "f8"),
        ("placed", "f8"),
        ("arrivals", "f8"),
        ("arriving", "f8"),
        ("guarded", "f8"),
        ("slot", "i8"),
        ("invalid", "i8"),
        ("reason", "i8"),
    ],
    align=True,
)


window_type = np.dtype([("since", "i8"), ("size", "i4"), ("place", "i4")], align=True)


class Batch(Frame):
    """Clusters under the control of an agent. Arrays of observations that an environment does not want have length 0."""

    c: Cluster
    first: int  # the compiled step works on rows first ..
    last: int  # .. last - 1
    form: int  # the environment's main option
    width: int  # Placement: actions per server; ServerFill: 1 if servers may be passed; Configuration: 1 if it limits each type
    guard_limit: int  # with more waiting tasks the guard schedules; NEVER without one
    finite: int  # 1 if the work ends
    turn: NDArray[np.void]  # (E,) turn_type
    passage: NDArray[np.void]  # (E,) passage_type: what came of the last action
    action: NDArray[np.int64]  # (E,)
    window: NDArray[np.void]  # (E, K) window_type: the oldest waiting tasks, where the queue is to be seen
    ages: NDArray[np.float64]  # (E, L, 2) sums over the jobs in a server: of their starts, and of their squares
    room_class: NDArray[np.int32]  # (E, L) type of each server's room
    rooms: NDArray[np.int32]  # (E, 2J + 1) how many servers there are of each
    active: NDArray[np.int32]  # (E, L) active configuration of each server, NONE before the first
    reserved: NDArray[np.int64]  # (E, L) VQS: room held by the type-1 job in the reserved part
    table: NDArray[np.int64]  # (G, N, 2J) configurations of each kind of server
    known: NDArray[np.int64]  # (G,) how many of them there are
    total: NDArray[np.int64]  # (D,) capacity of the whole cluster
    scale: NDArray[np.float64]  # (3,) of features: the largest scalar capacity, in units; the mean service; √(5 / L)
    logarithms: NDArray[np.float32]  # (N,) of features: of 0 .. N - 1 tasks per root of the servers
    lineup: Lineup  # where actions are described,
    unread: int  # and what of that need not be told (packenv.envs.observation.actions)
    # what the agent sees
    queue: NDArray[np.float32]  # (E, K, D + 2)
    virtual_queues: NDArray[np.float32]  # (E, G · 2J, 4 or 2); of the kind at hand only where there is a server at hand
    servers: NDArray[np.float32]  # (E, L, D or D + 2J or D + 2J + 1)
    server: NDArray[np.float32]  # (E, D or D + 2J + 2)
    cluster: NDArray[np.float32]  # (E, D + 2J + 1)
    configurations: NDArray[np.float32]  # (E, 2J)
    actions: NDArray[np.float32]  # (E, A, F)
    context: NDArray[np.float32]  # (E, C)
    mask: NDArray[np.int8]  # (E, A)
