"""What if some servers fail: a policy on a cluster with and without them, on the same tasks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from packenv.errors import InputError
from packenv.inputs.numbers import read_whole
from packenv.planning.search import AskRuns, Search, Trial
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload

RANGE = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")


class Failure(NamedTuple):
    """One policy, on the same seeds."""

    policy: str
    whole: Trial  # with all servers
    left: Trial  # without those that fail

    def change(self, n: int) -> list[float | None]:
        """By how much the measure of goal n grows, seed by seed; None where a run has none."""
        pairs = zip(self.whole.values[n], self.left.values[n], strict=False)  # of the seeds that both have
        return [None if whole is None or left is None else left - whole for whole, left in pairs]


def parse_failing(text: str, servers: int) -> tuple[int, ...]:
    """Servers of a cluster, numbered from 0, such as `3,7,10-12`. Raises InputError if one is not there, or none is left."""
    found: set[int] = set()
    for part in text.split(","):
        read = RANGE.fullmatch(part)
        if read is None:
            raise InputError(f"--without {part.strip()!r}: not of the form 3,7,10-12; servers are numbered from 0")
        first = read_whole(read[1])
        last = read_whole(read[2] or read[1])
        if last < first:
            raise InputError(f"--without {part.strip()}: goes down")
        if last >= servers:
            raise InputError(f"--without {part.strip()}: no server {last:,}; they are numbered from 0 to {servers - 1:,}")
        found.update(range(first, last + 1))
    if len(found) == servers:
        raise InputError(f"--without {text}: no server is left")
    return tuple(sorted(found))


def without_servers(workload: Workload, failing: Sequence[int]) -> Workload:
    """The same work on the other servers. Raises InputError if a task fits none of them."""
    capacity = np.delete(workload.servers.capacity, failing, axis=0)
    kept = {} if workload.jobs is not None else {"rate": workload.rate}
    try:
        return workload.with_(servers=Servers(capacity), **kept)
    except InputError as problem:
        raise InputError(f"without these servers, {problem}") from None


def compare_failure(search: Search, failing: Sequence[int], ask: AskRuns) -> Failure:
    """Run the policy on the workload's own servers, and without those that fail."""
    budget = search.budget()
    whole = search.decided(search.workload, ask, budget)
    return Failure(search.name, whole, search.decided(without_servers(search.workload, failing), ask, budget))
