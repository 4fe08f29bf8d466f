"""Workloads reduced to some resources, or to one size per task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from packenv.content.text import listed
from packenv.errors import ArgumentError, InputError
from packenv.units import LARGEST_AMOUNT
from packenv.workloads.laws import Joint
from packenv.workloads.servers import Servers, amount_text, as_servers
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.workloads.traces.trace import Sizes, Wanted


USUAL = "usual"
"""Default resources of a workload in commands: all of a file, otherwise `max`."""


def chosen_resources(resources: str | Sequence[str] | None) -> tuple[Wanted, Sizes | None]:
    """Return named resources and sizes, None for the usual ones."""
    if resources in (None, USUAL):
        return None, None
    text = resources if isinstance(resources, str) else ",".join(resources)
    if text in ("max", "all"):
        return (None, "max") if text == "max" else ("all", "all")
    named = text.removeprefix("max:")
    names = tuple(name.strip() for name in named.split(","))
    if "" in names or len(set(names)) < len(names):
        raise ArgumentError(f"`resources` must be max, all, names such as cpu,memory, or max:cpu,memory, not {text!r}")
    return names, "all" if named == text else "max"


def with_resources(base: Workload, choice: Wanted, sizes: Sizes | None) -> Workload:
    """Return the workload with only the resources of `choice`, or one size.

    With sizes "max" it is each task's largest demand. Raises InputError for a table of tasks, an unknown resource, and servers or
    demands that do not allow a single size.
    """
    if base.jobs is not None:
        if isinstance(choice, tuple):
            raise ArgumentError(f"workload {base.name} is a table of tasks: `resources` does not go with it")
        return base
    columns = [*range(base.D)]
    if isinstance(choice, tuple):
        names = base.resources or ()
        for name in choice:
            if name not in names:
                raise InputError(
                    f"workload {base.name} has no resource {name}; known: {', '.join(names) or 'one without a name'}"
                )
        columns = [names.index(name) for name in choice]
    # Nothing to reduce.
    if base.D == 1 or (sizes == "all" and columns == [*range(base.D)]):
        return base
    capacity = base.servers.capacity[:, columns]
    if not isinstance(base.sizes, Joint):
        raise ArgumentError(f"workload {base.name} has independent demands: use `resources` all")
    vectors, weights = base.sizes.atoms()
    vectors = vectors[:, columns]
    if sizes == "all":
        return base.with_(sizes=Joint(vectors.tolist(), weights.tolist()), servers=capacity, resources=choice)
    # One size needs servers with the same capacity of all resources.
    if (capacity != capacity[:, :1]).any():
        raise ArgumentError(f"workload {base.name} has no single size: use `resources` all")
    return base.with_(sizes=Joint(vectors.max(axis=1, keepdims=True), weights.tolist()), servers=capacity[:, 0], resources=None)


MOST_LETTERS = 60  # of servers in a hint
FOREIGN = 2**9
"""Demand / capacity from which units must differ."""
IDLE, USED = 2**20, 2**10
"""Capacity / demand of an almost unused resource, and of a scarcer one next to it, if units differ."""


def unlike_units(names: Sequence[str], most: NDArray[np.float64], servers: Servers) -> str | None:
    """Return a line if `most` (D,) and capacities have unlike units."""
    capacity, several = servers.capacity.max(axis=0), len(names) > 1
    if len(names) != servers.D:
        return None
    room = np.divide(capacity, most, out=np.full(len(names), np.nan), where=(most > 0) & (capacity > 0))
    for r in np.flatnonzero(~np.isnan(room)).tolist():
        # Capacities look too small, in a larger unit, or too large, in a smaller one.
        if room[r] < 1 / FOREIGN:
            factor = next((2.0**bits for bits in (10, 20, 30) if room[r] * 2.0**bits >= 1), None)
        elif several and room[r] >= IDLE and np.nanmin(room) < USED:
            factor = next((2.0**-bits for bits in (30, 20, 10) if room[r] >= 2.0**bits), None)
        else:
            continue
        if factor is None or capacity[r] * factor > LARGEST_AMOUNT:
            continue
        changed = servers.capacity * np.where(np.arange(len(names)) == r, factor, 1.0)
        text = str(replace(servers, capacity=changed))
        suggestion = f": `servers` {text}?" if len(text) <= MOST_LETTERS else ""
        amounts = f"a task needs up to {amount_text(most[r])}, and a server has {amount_text(capacity[r])}"
        return f"{names[r]} of tasks and of servers look like other units, as {amounts}{suggestion}"
    return None


def servers_for(
    spec: Any,
    resources: int,
    names: tuple[str, ...] | None,
    sizes: Sizes = "all",
    example: Callable[[Servers], str] | None = None,
    partitions: Collection[str] = (),
    uncounted: tuple[str, ...] = (),
) -> Servers:
    """Return servers with a capacity for each resource.

    names       of the resources that tasks ask for; with sizes "max" only the largest counts
    example     function that returns suitable servers, with the given capacities where they are enough
    partitions  as in `parse_servers`
    uncounted   names of recorded resources that tasks do not ask for
    """
    read = names if sizes == "all" or (names is not None and len(names) == 1) else None
    servers = as_servers(spec, resources, read, partitions)
    text = spec if isinstance(spec, str) else str(servers)
    if servers.D > resources == 1:
        known = names or ()
        known = (*known, *uncounted)[: servers.D] if len(known) == 1 else known
        several = ",".join(known) if len(known) >= servers.D else "all"
        raise ArgumentError(f"`servers` {text}: tasks have one size; use `resources` {several} for several capacities")
    if names is not None and resources != servers.D:
        number = "one capacity" if servers.D == 1 else f"{servers.D} capacities"
        problem, advice = f"`servers` {text}: {number}, but tasks need {listed(names)}", ": give a capacity for each"
        if example is None:
            raise ArgumentError(problem, advice)
        raise ArgumentError(problem, f"{advice}, such as `servers` {example(servers)}", {"servers": example(servers)})
    return servers
