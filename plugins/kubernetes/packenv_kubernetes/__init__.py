"""A Kubernetes cluster, read from `kubectl get nodes,pods -A -o json`.

packenv finds this package by its entry points. The names below are imported on first use.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from packenv.extend import lazy_names

if TYPE_CHECKING:
    from packenv_kubernetes.cluster import Cluster as Cluster
    from packenv_kubernetes.dump import read_cluster as read_cluster
    from packenv_kubernetes.dump import workload_of as workload_of
    from packenv_kubernetes.live import tasks_of as tasks_of

WHAT = "a cluster as kubectl prints it"
COMMANDS = {"plan": "packenv kubernetes plan"}
"""For packenv: the name of such a file, and the commands that replace packenv's."""


def is_mine(path: Path) -> bool:
    """Return whether a file begins like kubectl's lists in JSON."""
    from packenv.extend import is_of_kubectl  # loads NumPy, which help does without

    return is_of_kubectl(str(path))


__all__, __getattr__, __dir__ = lazy_names(
    __name__, {".cluster": ["Cluster"], ".dump": ["read_cluster", "workload_of"], ".live": ["tasks_of"]}
)
__all__ += ["COMMANDS", "WHAT", "is_mine"]
