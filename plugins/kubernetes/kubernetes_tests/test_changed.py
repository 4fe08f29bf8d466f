"""A cluster with other nodes: kinds, pods that a new node makes fit, pods that start again, and their times, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from kubernetes_tests.sample import container, listed, node, pod
from packenv.errors import InputError
from packenv.runs.keys import digest_of_workload
from packenv.units import UNIT
from packenv.workloads.laws import Geometric
from packenv_kubernetes import read_cluster
from packenv_kubernetes.changed import changed, emptiest_first, kind_of, without_nodes
from packenv_kubernetes.cluster import Cluster
from packenv_kubernetes.started import ENDLESS


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Two nodes of 4 cores and one of 8; `a` is fuller than `b`, and only the big one has room for 6 cores."""
    nodes = [node("big", "8"), node("a"), node("b")]
    pods = [
        pod("on-a", container(cpu="3"), on="a", started="2024-05-01T11:59:00Z"),
        pod("on-b", container(cpu="2"), on="b", job=False, started="2024-05-01T11:58:00Z"),
        pod("on-big", container(cpu="6"), on="big", started="2024-05-01T11:59:30Z"),
        pod("waits-2", container(cpu="1"), created="2024-05-01T11:02:00Z"),
        pod("waits-1", container(cpu="6"), created="2024-05-01T11:01:00Z"),
        pod("too-large", container(cpu="12"), created="2024-05-01T11:00:00Z"),
    ]
    return read_cluster(listed(tmp_path / "cluster.json", [*nodes, *pods]))


def test_kinds(cluster: Cluster) -> None:
    assert kind_of(cluster) == ("a", (0.5, 1.0), "a") and kind_of(cluster, "b") == ("b", (0.5, 1.0), "b")
    assert kind_of(cluster, "2:0.5") == ("2:0.5", (2.0, 0.5), "a")
    assert emptiest_first(cluster, kind_of(cluster)) == ["b", "a"]
    for text, problem in (("c", "neither a node of .* nor a capacity such as 1:0.5"), ("1:1:1", "a node has 2 resources")):
        with pytest.raises(InputError, match=problem):
            kind_of(cluster, text)


def test_a_larger_node_lets_more_pods_wait(cluster: Cluster) -> None:
    large = kind_of(cluster, "2:1")
    grown = changed(cluster, large, 2)
    assert grown.nodes == ("big", "a", "b", "added 1", "added 2") and grown.capacity[3:].tolist() == [[2, 1], [2, 1]]
    assert [each.name for each in grown.waiting] == ["team/too-large", "team/waits-1", "team/waits-2"]
    assert grown.demand[:, 0].tolist() == [1.5, 0.75, 0.125]
    assert cluster.left_out == {"waiting pods that fit on no node": 1} and grown.left_out == {}
    as_it_is = changed(cluster, large, 0)
    assert as_it_is.stranded == ("team/too-large",) and as_it_is.row.tolist() == [1, 2]
    assert changed(cluster, kind_of(cluster), 1).left_out == cluster.left_out and not changed(cluster, large, 1).stranded


def test_an_extended_resource_that_no_node_has(tmp_path: Path) -> None:
    """A pod that asks for a graphics processor does not run where there is none."""
    pods = [pod("gpu", container(cpu="1", gpu="1")), pod("plain", container(cpu="1"))]
    found = read_cluster(listed(tmp_path / "c.json", [node("a"), *pods]))
    assert [each.name for each in found.waiting] == ["team/plain"] and found.resources == ("cpu", "memory")
    assert found.left_out == {"waiting pods that fit on no node": 1}


def test_a_resized_pod_starts_again_as_its_spec_says(tmp_path: Path) -> None:
    """It is shrinking from 3 cores to 1, and 2 are free elsewhere; while it runs it holds 3."""
    shrinking = pod("r", container(cpu="1"), on="a", job=False)
    given = {"cpu": "3"}
    shrinking["status"]["containerStatuses"] = [{"name": "c", "allocatedResources": given, "resources": {"requests": given}}]
    full = pod("full", container(cpu="2"), on="b", job=False)
    whole = read_cluster(listed(tmp_path / "c.json", [node("a"), node("b"), shrinking, full, pod("w", container(cpu="1"))]))
    left = without_nodes(whole, ["a"])
    draw: Any = left.workload().draw
    assert whole.running_demand[:, 0].tolist() == [0.75, 0.5] and left.stranded == () and draw.names == ("team/w", "team/r")
    assert draw(0).demand[:, 0].tolist() == [UNIT // 4, UNIT // 4]
    assert packenv.simulate(left.workload(), "bf-js", 1, schedule=True).started == 2


def test_pods_of_a_node_that_is_gone_start_again(cluster: Cluster) -> None:
    left = without_nodes(cluster, ["a", "big"])
    assert left.nodes == ("b",) and left.node.tolist() == [-1, 0, -1] and left.again == (0,)
    assert left.stranded == ("team/waits-1", "team/on-big")
    whole: Any = cluster.workload(Geometric(1000)).draw
    draw: Any = left.workload(Geometric(1000)).draw
    assert draw.names == ("team/waits-2", "team/on-a")
    for seed in range(5):
        remaining = whole.in_service(seed).remaining
        held = draw.in_service(seed)
        assert (held.server.tolist(), held.remaining.tolist()) == ([0], [ENDLESS])
        # what waits has the time that it had; what starts again, what it has been in service for and what remained
        assert draw(seed).service.tolist() == [whole(seed).service[1], 60 + remaining[0]]
    assert left.notes(Geometric(1000))[1] == "1 pod runs at the start and does not end"


def test_taken_away(cluster: Cluster) -> None:
    small = kind_of(cluster)
    assert changed(cluster, small, -1).nodes == ("big", "a") and changed(cluster, small, -1).again == (1,)
    assert changed(cluster, small, -2).again == (0, 1)
    with pytest.raises(InputError, match="2 nodes are like a, not 3"):
        changed(cluster, small, -3)
    with pytest.raises(InputError, match="has no node bigg that is ready; did you mean big"):
        without_nodes(cluster, ["bigg"])
    with pytest.raises(InputError, match="no node is left"):
        without_nodes(cluster, ["a", "b", "big"])
    again = without_nodes(changed(cluster, small, -1), ["a"])  # numbers of nodes move on, pods are queued once
    assert again.again == (1, 0) and again.node.tolist() == [-1, -1, 0] and np.all(again.row == np.arange(2))


def test_a_log_tells_clusters_apart(cluster: Cluster) -> None:
    """The queue is the same; what runs has lasted for another time, or is gone."""
    old = replace(cluster, now=cluster.now + 60)
    emptier = replace(cluster, running=cluster.running[1:], running_demand=cluster.running_demand[1:], node=cluster.node[1:])
    clusters = [cluster, old, emptier, cluster]
    assert len({digest_of_workload(one.workload(Geometric(1000))) for one in clusters}) == 3
