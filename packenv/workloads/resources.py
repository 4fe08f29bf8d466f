"""Workloads of several resources, reduced to some of them, or to the largest demand as the one size of a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from packenv.content.text import listed
from packenv.errors import ArgumentError, InputError
from packenv.workloads.laws import Joint
from packenv.workloads.servers import Servers, as_servers
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.workloads.traces.table import Sizes, Wanted


def chosen_resources(resources: str | Sequence[str] | None) -> tuple[Wanted, Sizes | None]:
    """Which resources are named, None for the usual ones, and whether their largest becomes the size; None: as is usual."""
    if resources is None:
        return None, None
    text = resources if isinstance(resources, str) else ",".join(resources)
    if text in ("max", "all"):
        return (None, "max") if text == "max" else ("all", "all")
    named = text.removeprefix("max:")
    names = tuple(name.strip() for name in named.split(","))
    if "" in names or len(set(names)) < len(names):
        raise ArgumentError(f"`resources` is max, all, names such as cpu,memory, or max:cpu,memory, not {text!r}")
    return names, "all" if named == text else "max"


def with_resources(base: Workload, choice: Wanted, sizes: Sizes | None) -> Workload:
    """The workload with the resources of `choice` only and, for sizes "max", each task's largest demand as its one size.

    Raises InputError for a table of tasks, an unknown resource, and where servers or demands do not allow a single size.
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
    if base.D == 1 or (sizes == "all" and columns == [*range(base.D)]):
        return base
    capacity = base.servers.capacity[:, columns]
    if not isinstance(base.sizes, Joint):
        raise ArgumentError(f"workload {base.name} has independent demands: use `resources` all")
    vectors, weights = base.sizes.atoms()
    vectors = vectors[:, columns]
    if sizes == "all":
        return base.with_(sizes=Joint(vectors.tolist(), weights.tolist()), servers=capacity, resources=choice)
    if (capacity != capacity[:, :1]).any():
        raise ArgumentError(f"workload {base.name} has no single size: use `resources` all")
    return base.with_(sizes=Joint(vectors.max(axis=1, keepdims=True), weights.tolist()), servers=capacity[:, 0], resources=None)


def servers_for(
    spec: Any,
    resources: int,
    names: tuple[str, ...] | None,
    sizes: Sizes = "all",
    example: Callable[[Servers], str] | None = None,
) -> Servers:
    """Servers for tasks of so many resources. Raises InputError unless they have a capacity for each.

    names    of the resources that tasks ask for; sizes "max": the largest is the one that counts
    example  servers that would do, with these servers' capacities as far as they are enough
    """
    servers = as_servers(spec, resources, names if sizes == "all" or (names is not None and len(names) == 1) else None)
    text = spec if isinstance(spec, str) else str(servers)
    if servers.D > resources == 1:
        several = "all" if sizes == "all" or names is None else ",".join(names)
        raise ArgumentError(f"`servers` {text}: tasks have one size; use `resources` {several} for several capacities")
    if names is not None and resources != servers.D:
        such = "" if example is None else f", such as `servers` {example(servers)}"
        raise ArgumentError(
            f"`servers` {text}: {'one capacity' if servers.D == 1 else f'{servers.D} capacities'}, and tasks ask for "
            f"{listed(names)}: say what a server has of each{such}"
        )
    return servers
