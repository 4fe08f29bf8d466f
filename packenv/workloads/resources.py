"""Workloads of several resources, reduced to some of them, or to the largest demand as the one size of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.errors import ArgumentError, InputError
from packenv.workloads.laws import Joint
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.workloads.traces.table import Sizes, Wanted


def chosen_resources(text: str | None) -> tuple[Wanted, Sizes | None]:
    """Which resources a text names, None for the usual ones, and whether their largest becomes the size; None: as is usual."""
    if text is None:
        return None, None
    if text in ("max", "all"):
        return (None, "max") if text == "max" else ("all", "all")
    listed = text.removeprefix("max:")
    names = tuple(name.strip() for name in listed.split(","))
    if "" in names or len(set(names)) < len(names):
        raise ArgumentError(f"`resources` is max, all, names such as cpu,memory, or max:cpu,memory, not {text!r}")
    return names, "all" if listed == text else "max"


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
