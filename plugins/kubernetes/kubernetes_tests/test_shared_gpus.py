"""GPUs that pods share by memory: by hand, and random clusters in which no GPU is above its memory and nothing waits in vain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from kubernetes_tests.sample import listed, node, pod
from packenv.workloads.laws import Fixed, Geometric
from packenv_kubernetes import read_cluster
from packenv_kubernetes.changed import changed, kind_of, without_nodes
from packenv_kubernetes.fits_nowhere import unfit_lines

GPU_MEM = "aliyun.com/gpu-mem"


def gpus(name: str, count: int, size: int = 16) -> dict[str, Any]:
    return node(name, "64", **{GPU_MEM: str(count * size), "aliyun.com/gpu-count": str(count)})


def share(name: str, memory: int, gpu: int | str | None = None, cpu: str = "1", **of_pod: Any) -> dict[str, Any]:
    """`gpu`: what the annotation says."""
    made = pod(name, {"name": "c", "resources": {"limits": {"cpu": cpu, GPU_MEM: str(memory)}}}, **of_pod)
    if gpu is not None:
        made["metadata"]["annotations"] = {"ALIYUN_COM_GPU_MEM_IDX": str(gpu)}
    return made


def starts(cluster: Any, policy: str = "fifo-ff:blocking=false", service: int = 100) -> dict[str, int]:
    workload = cluster.workload(Fixed(service))
    schedule = packenv.simulate(workload, policy, drain=True, schedule=True).schedule
    times, _ = workload.draw.times(0, schedule.start, schedule.end)
    return dict(zip(workload.draw.names, times.tolist(), strict=True))


LATER = {"started": "2024-05-01T11:59:00Z"}  # for 60 s
LATEST = {"started": "2024-05-01T11:59:30Z"}  # for 30 s


def test_running_pods_have_the_gpu_of_their_annotation(tmp_path: Path) -> None:
    """Of two GPUs of 16 4 and 10 are left: by amounts 8 and 6 would both start now; 6 waits for the end of a 6 on the first."""
    pods = [
        share("a", 6, 0, on="n", **LATER),
        share("b", 6, 0, on="n", **LATEST),
        share("c", 6, 1, on="n", **LATEST),
        share("eight", 8, created="2024-05-01T11:30:00Z"),
        share("six", 6, created="2024-05-01T11:40:00Z"),
        share("four", 4, created="2024-05-01T11:50:00Z"),
    ]
    cluster = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), *pods]))
    assert cluster.ignored == {} and cluster.gpus is not None and cluster.gpus.taken.tolist() == [1, 1, 2]
    assert starts(cluster) == {"team/eight": 0, "team/six": 40, "team/four": 0}
    without = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), *pods]), ("cpu",))
    assert without.gpus is None and set(starts(without).values()) == {0}


@pytest.mark.parametrize("said", [None, "-1", "x", '{"c": {"0": 3, "1": 3}}'])
def test_without_annotations_running_pods_are_packed_tightly(tmp_path: Path, said: str | None) -> None:
    """6, 10 and 4 of two GPUs of 16: 10 and 6 fill one, and 12 are left of the other, not 6 and 6."""
    pods = [share(f"p{memory}", memory, said, on="n", **LATER) for memory in (6, 10, 4)]
    cluster = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), *pods, share("twelve", 12)]))
    assert cluster.gpus is not None and cluster.gpus.taken.tolist() == [1, 1, 2]
    line = f"{GPU_MEM} of 3 running pods (team/p6, team/p10 and team/p4): no annotation names its GPU; tight packing is assumed"
    assert any(note.startswith(line) for note in cluster.notes(None))
    assert starts(cluster) == {"team/twelve": 0}


def test_no_more_gpus_help_a_share_that_is_larger_than_one(tmp_path: Path) -> None:
    """20 of the 32 that a node has together, of which each GPU has 16: a node with more of them is of no use."""
    (line,) = unfit_lines(read_cluster(listed(tmp_path / "c.json", [gpus("g", 2), share("large", 20)])))
    assert "20 aliyun.com/gpu-mem, 1 core, its share of a GPU on a single one, which has 16 at the most; the nearest, g," in line
    assert line.endswith("--add with a node like g does not help")
    (line,) = unfit_lines(read_cluster(listed(tmp_path / "c.json", [gpus("g", 2), share("large", 12, cpu="80")])))
    assert line.endswith("would help, a node like this")


def test_containers_may_say_it(tmp_path: Path) -> None:
    made = share("a", 6, on="n", **LATER)
    made["metadata"]["annotations"] = {"scheduler.framework.gpushare.allocation": json.dumps({"c": {"1": 6}})}
    cluster = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), made, share("b", 12)]))
    assert cluster.gpus is not None and cluster.gpus.taken.tolist() == [2] and not cluster.gpus.lines()


def test_a_gpu_with_more_than_it_has_takes_nothing_until_there_is_room(tmp_path: Path) -> None:
    """12 and 8 on a GPU of 16: until the 12 end 4 are lacking, then 8 are left."""
    pods = [share("a", 12, 0, on="n", **LATER), share("b", 8, 0, on="n", **LATEST), share("c", 16, 1, on="n", **LATEST)]
    pods += [share("one", 1, created="2024-05-01T11:30:00Z"), share("eight", 8, created="2024-05-01T11:40:00Z")]
    cluster = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), *pods]))
    assert starts(cluster) == {"team/one": 40, "team/eight": 70}


def test_added_nodes_have_gpus_and_those_that_are_gone_have_none(tmp_path: Path) -> None:
    """On a node of one GPU of 16 a pod of 10 runs, and two of 7 wait."""
    pods = [share("a", 10, 0, on="n", **LATER), *(share(f"w{n}", 7, created=f"2024-05-01T11:3{n}:00Z") for n in range(2))]
    cluster = read_cluster(listed(tmp_path / "c.json", [gpus("n", 1), gpus("m", 1), share("b", 12, 0, on="m", **LATER), *pods]))
    assert starts(cluster) == {"team/w0": 40, "team/w1": 40}
    assert starts(changed(cluster, kind_of(cluster), 1)) == {"team/w0": 0, "team/w1": 0}
    half = changed(cluster, kind_of(cluster, "1:1:2:2"), 1)  # as much memory as two GPUs
    assert half.gpus is not None and half.gpus.devices[-1].tolist() == [2, 16, -1]
    gone = starts(without_nodes(cluster, ["m"]))
    assert gone == {"team/w0": 40, "team/w1": 40, "team/b": 140}


def test_preemption_looks_for_a_gpu(tmp_path: Path) -> None:
    """By amounts `high` fits beside both; on no GPU: it is not said to start now."""
    pods = [share("a", 10, 0, on="n", **LATER), share("b", 10, 1, on="n", **LATEST)]
    high = share("high", 8, priority=5)
    cluster = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), *pods, high, share("low", 3)]))
    workload = cluster.workload(Fixed(100))
    assert any("team/high would start now by amounts" in note for note in workload.draw.notes)  # type: ignore[union-attr]
    assert starts(cluster) == {"team/high": 40, "team/low": 0}
    fits = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), *pods, share("high", 6, priority=5), share("low", 6)]))
    assert starts(fits) == {"team/high": 0, "team/low": 0}


def test_other_policies_are_refused(tmp_path: Path) -> None:
    cluster = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), share("a", 6)]))
    with pytest.raises(packenv.InputError, match=r"vqs.* does not look for room on devices"):
        packenv.simulate(cluster.workload(Fixed(100)), "vqs", slots=10)


def test_random_clusters(tmp_path: Path) -> None:
    """In every slot no GPU is above its memory, and no pod waits that has room, whose order is that of creation."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        nodes = [
            gpus(f"n{n}", int(count), int(size)) for n, (count, size) in enumerate(zip([1, 2, 3], [16, 24, 16], strict=True))
        ]
        left = {(n, d): size for n, (count, size) in enumerate([(1, 16), (2, 24), (3, 16)]) for d in range(count)}
        pods = []
        for number in range(14):
            memory, (n, d) = int(rng.integers(1, 10)), [*left][rng.integers(len(left))]
            if left[n, d] >= memory:
                left[n, d] -= memory
                begin = f"2024-05-01T11:5{rng.integers(10)}:00Z"
                pods.append(share(f"r{number}", memory, d, on=f"n{n}", started=begin))
        waiting = [int(memory) for memory in rng.integers(1, 13, 25)]
        pods += [share(f"w{k:02}", memory, created=f"2024-05-01T11:10:{k:02}Z") for k, memory in enumerate(waiting)]
        cluster = read_cluster(listed(tmp_path / "c.json", [*nodes, *pods]))
        workload = cluster.workload(Geometric(400), slot_seconds=1)
        result = packenv.simulate(workload, "fifo-ff:blocking=false", seed=seed, drain=True, schedule=True)
        schedule, started = result.schedule, workload.draw
        assert schedule is not None and schedule.devices is not None and cluster.gpus is not None
        running = [int(share) for share in cluster.gpus.shares(cluster.running)]
        remaining = started.remaining(seed)  # type: ignore[union-attr]
        whole = {(n, d): size for n, (count, size) in enumerate([(1, 16), (2, 24), (3, 16)]) for d in range(count)}
        for slot in np.unique(np.concatenate([[0], schedule.start, schedule.end])).tolist():
            used = dict.fromkeys(whole, 0)
            for memory, n, bits, end in zip(running, cluster.node.tolist(), cluster.gpus.taken.tolist(), remaining, strict=True):
                used[n, bits.bit_length() - 1] += memory * bool(slot < end)
            for k in np.flatnonzero((schedule.start <= slot) & (slot < schedule.end)).tolist():
                used[int(schedule.server[k]), int(schedule.devices[k]).bit_length() - 1] += waiting[k]
            assert all(used[key] <= whole[key] for key in whole)
            room = max(whole[key] - used[key] for key in whole)
            assert all(waiting[k] > room for k in np.flatnonzero(schedule.start > slot).tolist())
        assert (schedule.start > 0).any()


@pytest.mark.parametrize("choice", [None, ("cpu", GPU_MEM)])
def test_what_is_larger_than_a_gpu_fits_nowhere(tmp_path: Path, choice: tuple[str, ...] | None) -> None:
    """17 of GPUs of 16; of three of 9 two start on two GPUs. Where nodes do not say how many GPUs they have, that is said."""
    pods = [share("a", 17), *(share(f"b{n}", 9) for n in range(3))]
    cluster = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), *pods]), choice)
    assert [each.name for each in cluster.unfit] == ["team/a"]
    assert starts(cluster) == {"team/b0": 0, "team/b1": 0, "team/b2": 100}
    silent = node("n", "64", **{GPU_MEM: "32"})
    cluster = read_cluster(listed(tmp_path / "c.json", [silent, *pods]), choice)
    assert cluster.ignored == {f"pods with {GPU_MEM}, on nodes without a number of GPUs: one GPU each is assumed": 4}
    assert starts(cluster) == {"team/a": 0, "team/b0": 0, "team/b1": 100, "team/b2": 100}


def test_several_gpus_of_one_pod_are_an_amount(tmp_path: Path) -> None:
    spread = share("a", 24)
    spread["spec"]["containers"][0]["resources"]["limits"]["aliyun.com/gpu-count"] = "2"
    cluster = read_cluster(listed(tmp_path / "c.json", [gpus("n", 2), spread, share("b", 8)]))
    assert cluster.ignored == {f"pods whose {GPU_MEM} is to be of several GPUs: a node's is one amount": 1}
    assert starts(cluster) == {"team/a": 0, "team/b": 0}
