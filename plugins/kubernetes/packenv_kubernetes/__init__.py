"""A Kubernetes cluster as it is, from `kubectl get nodes,pods -A -o json`: reading it, and what is asked of it.

Nothing of packenv depends on this room: `packenv.workloads.find.room_of` asks it by name whether a file is its own, and what
answers for such a file is found here. The names below are imported when they are first used.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from packenv.lazy_names import lazy_names

if TYPE_CHECKING:
    from packenv_kubernetes.cluster import Cluster as Cluster
    from packenv_kubernetes.commands.command import plan_cluster as plan_cluster
    from packenv_kubernetes.commands.command import plan_starts as plan_starts
    from packenv_kubernetes.dump import read_cluster as read_cluster
    from packenv_kubernetes.dump import workload_of as workload_of
    from packenv_kubernetes.live import tasks_of as tasks_of

SNIFFED = 2**10  # bytes
START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"(apiVersion|items|kind)"\s*:')


def is_cluster(path: Path) -> bool:
    """Whether a file begins as kubectl prints lists in JSON."""
    from packenv.workloads.traces.format import first_bytes

    return START.match(first_bytes(path, SNIFFED)) is not None


__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".cluster": ["Cluster"],
        ".commands.command": ["plan_cluster", "plan_starts"],
        ".dump": ["read_cluster", "workload_of"],
        ".live": ["tasks_of"],
    },
)
__all__ += ["is_cluster"]
