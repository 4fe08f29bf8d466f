"""The features of the observation "actions", in order.

All are of order 1 for every workload. Sizes are shares of the largest server, and ages are in mean services. A count n is
log(1 + n) / 5, or "per root" log(1 + n · √(5 / L)) / 5: a queue of L servers varies by √L tasks, so this means the same on 5
servers and on 1,000. So a network with the same weights for every action does not depend on the number of servers or types. An
invalid action has a row of zeros.

The order is part of the format of saved agents: add new features at the end of ACTION_FEATURES.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import fused
from packenv.compiled.intrinsics import natural

SHARE, FLAG, COUNT, PER_ROOT, AGE = "share", "0 or 1", "log count", "log count per root", "log age"
"""Scales of features."""


class Feature(NamedTuple):
    """One number of an action's row, or of the context."""

    name: str
    scale: str
    of_start: str  # what it says of an action that starts a task, or of the cluster
    of_configuration: str = ""  # what it says of taking configuration k; empty: 0
    of_wait: bool = False  # whether it is also written for the action that waits, or passes a server; otherwise 0 there
    negative: bool = False  # whether it may be below 0


ACTION_FEATURES = (
    Feature("valid", FLAG, "1: the action is valid", "1: valid", of_wait=True),
    Feature("waits", FLAG, "1: it waits, or passes the server", "1: k has a type-1 job", of_wait=True),
    Feature("size", SHARE, "size of the task", "size that k would start now, at most the capacity"),
    Feature("room_left", SHARE, "room of the server without the task", "rest of the capacity", of_wait=True),
    Feature("room_filled", SHARE, "room after up to 3 more tasks, each the largest that fits"),
    Feature("queue_count", COUNT, "tasks in its virtual queue", "weight of k: ⟨k, Q⟩"),
    Feature("queue_size", COUNT, "size waiting in its virtual queue", "size waiting in the virtual queues of k"),
    Feature("head_age", AGE, "age of the head of its virtual queue", "age of the oldest head of these"),
    Feature("same_type", COUNT, "jobs of its type in the server", "jobs in k"),
    Feature("largest_of_type", SHARE, "largest size of its type", "largest size of k's main type"),
    Feature("roomy_servers", SHARE, "servers with room of its type or a larger one", "servers with k active"),
    Feature("room", SHARE, "room of the server", "capacity of the server", of_wait=True),
    Feature("jobs", COUNT, "jobs in the server", of_wait=True),
    Feature("job_age", SHARE, "mean age a of its jobs: a / (a + mean service)", of_wait=True),
    Feature("complements", PER_ROOT, "waiting tasks that fill an empty server with it up to 1/32"),
    Feature("companions", PER_ROOT, "waiting tasks that fit beside it on an empty server"),
    Feature("excess", PER_ROOT, "companions and tasks up to its size, less all waiting", negative=True),
    Feature("queue_per_root", PER_ROOT, "tasks in its virtual queue"),
    Feature("waiting", PER_ROOT, "tasks waiting", "tasks waiting", of_wait=True),
)

CONTEXT_FEATURES = (
    Feature("waiting_tasks", COUNT, "tasks waiting"),
    Feature("waiting_size", COUNT, "size waiting"),
    Feature("large_waiting", COUNT, "tasks waiting of sizes above ½ of the kind of server at hand"),
    Feature("medium_waiting", COUNT, "tasks waiting of sizes above ¼, up to ½"),
    Feature("small_waiting", COUNT, "tasks waiting of sizes up to ¼"),
    Feature("free", SHARE, "free share of the cluster, mean over the resources"),
    Feature("large_room", SHARE, "servers with room above ½"),
    Feature("medium_room", SHARE, "servers with room above ¼, up to ½"),
    Feature("small_room", SHARE, "servers with room up to ¼, full ones left out"),
)


class Features(NamedTuple):
    """The tables of an environment's `actions` and `context`."""

    of_action: tuple[Feature, ...]
    of_context: tuple[Feature, ...]
    subject: str = "of an action that starts a task"

    @property
    def waiting(self) -> int | None:
        """Return the position of `waiting…` in `context`, if any."""
        return next((k for k, feature in enumerate(self.of_context) if feature.name.startswith("waiting")), None)


OF_TASKS = Features(ACTION_FEATURES, CONTEXT_FEATURES)
OF_CONFIGURATIONS = Features(
    tuple(feature._replace(of_start=feature.of_configuration or "0", of_wait=False) for feature in ACTION_FEATURES),
    CONTEXT_FEATURES,
    "of an action that takes configuration k",
)


FEATURES, CONTEXT = len(ACTION_FEATURES), len(CONTEXT_FEATURES)
FIRST_FEATURES = 14
"""The features of agents saved before the others were added."""
HIGHEST = 32.0
"""No feature is larger: log(1 + n) / 5 of any count or age is not, and the others are shares."""
FILL = 3
"""Tasks that `room_filled` adds, at most."""
NEAR = 32
"""`complements` fill an empty server up to one NEARth of its capacity."""

# Positions of the features, for compiled code: the names of the tables in capitals.
VALID, WAITS, SIZE, ROOM_LEFT, ROOM_FILLED = range(5)
QUEUE_COUNT, QUEUE_SIZE, HEAD_AGE, SAME_TYPE, LARGEST_OF_TYPE, ROOMY_SERVERS = range(5, 11)
ROOM, JOBS, JOB_AGE = range(11, 14)
COMPLEMENTS, COMPANIONS, EXCESS, QUEUE_PER_ROOT, WAITING = range(14, 19)
WAITING_TASKS, WAITING_SIZE = range(2)
LARGE_WAITING, MEDIUM_WAITING, SMALL_WAITING = range(2, 5)
FREE = 5
LARGE_ROOM, MEDIUM_ROOM, SMALL_ROOM = range(6, 9)

NO_TYPES, NO_COMPANY, NO_INVALID = 1, 2, 4
"""What may be left unwritten for a network that does not read it, added up in `Batch.unread`: features 5 to 10, 13 and the
context; features 14 to 18; and the rows of actions that are not valid."""


FACTOR = 0.2
TABULATED = 4096
COMMON_SERVERS = 5
"""With this many servers a count per root of the servers, n · √(5 / L), is the count."""


def logarithms(share: float) -> NDArray[np.float32]:
    """Return log(1 + share · n) / 5 as a table, (4096,)."""
    return (np.log1p(share * np.arange(TABULATED)) * FACTOR).astype(np.float32)


LOGARITHMS = logarithms(1.0)


@fused
def logarithm(x: float) -> float:
    """Return log(1 + x) / 5 for x >= 0."""
    return math.log1p(x) * FACTOR


@fused
def logarithm_of(count: int) -> float:
    return LOGARITHMS[natural(count)] if count < LOGARITHMS.shape[0] else logarithm(count)
