"""A Kubernetes cluster as it is, from `kubectl get nodes,pods -A -o json`: servers, what runs on them, and what waits."""

from packenv.workloads.kubernetes.cluster import Cluster
from packenv.workloads.kubernetes.dump import is_cluster, read_cluster

__all__ = ["Cluster", "is_cluster", "read_cluster"]
