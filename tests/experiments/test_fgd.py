"""FGD's study: lists and their tuning, the bound by hand, what is said without data, and the published means."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import packenv
from experiments.fgd import figure
from experiments.fgd.bound import Program
from experiments.fgd.departures import LONGEST, fragmentation_of, stream, workload_of
from experiments.fgd.engine import Nodes
from experiments.fgd.figure import folder_of, lists_to_judge_on
from experiments.fgd.runs import DEMANDS, MOST, arrivals, read_study, run_case
from experiments.finding import Settings
from packenv.errors import InputError
from packenv.policies.gpus.ranking import GpuRequests

FOLDER = Path(os.environ.get("PACKENV_ORACLES", "")) / "fgd"
real = pytest.mark.skipif(
    "PACKENV_ORACLES" not in os.environ, reason="PACKENV_ORACLES is not set: the results of others are not here"
)

NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,32000,65536,2,A
n1,32000,65536,2,B
n2,32000,65536,1,A
"""
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
p0,4000,1024,1,600,
p1,4000,1024,1,1000,A|B
p2,4000,1024,2,1000,B
p3,1000,1024,0,0,
"""


def folder(path: Path, pods: str = PODS) -> Path:
    (path / "openb_node_list_gpu_node.csv").write_text(NODES)
    with gzip.open(path / "openb_pod_list_mine.csv.gz", "wt") as file:
        file.write(pods)
    return path


def test_lists(tmp_path: Path) -> None:
    study = read_study(folder(tmp_path))
    pods = study.lists["mine"]
    asked = pods.requests
    rows = np.column_stack([asked.demand, asked.share, asked.count, asked.kinds])[pods.of].tolist()
    assert rows == [[4000, 1024, 600, 1, 3], [4000, 1024, 1000, 1, 3], [4000, 1024, 1000, 2, 2], [1000, 1024, 0, 0, 3]]
    assert study.nodes.kind.tolist() == [1, 2, 1] and study.nodes.capacity == 5000
    order = arrivals(pods, study.nodes, np.random.default_rng(0))  # 3,600 milli: more come
    arrived = (pods.requests.share * pods.requests.count)[order].cumsum()
    assert sorted(order[:4]) == sorted(pods.of) and arrived[-2] < MOST * 5000
    means = run_case(study, ("mine", "fgd", "order", 0))
    assert means.allocated.shape == (len(DEMANDS),) and 0 < means.allocated[0] <= means.allocated[-1] <= 100


def test_a_list_that_is_too_long_loses_pods(tmp_path: Path) -> None:
    study = read_study(folder(tmp_path, PODS + "".join(f"q{n},1,1,1,1000,\n" for n in range(20))))
    pods = study.lists["mine"]
    order = arrivals(pods, study.nodes, np.random.default_rng(0))
    milli = int((pods.requests.share * pods.requests.count)[order].sum())
    assert MOST * 5000 - 2000 < milli <= MOST * 5000


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("p0,4000,1024,2,600,\n", r"row 1, column gpu_milli: 600 milli of several GPUs, or above 1000"),
        ("p0,4000,1024,1,1200,\n", r"row 1, column gpu_milli: 1200 milli of several GPUs, or above 1000"),
        ("p0,4000,1024,-1,0,\n", r"row 1, column num_gpu: is negative"),
    ],
)
def test_bad_lists(tmp_path: Path, bad: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_study(folder(tmp_path, PODS.splitlines()[0] + "\n" + bad))


def test_without_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACKENV_ORACLES", raising=False)
    with pytest.raises(InputError, match="fgd: name the folder of the lists of pods and nodes: --trace FOLDER"):
        folder_of(None)
    with pytest.raises(InputError, match="is not a folder of lists"):
        folder_of(str(tmp_path / "absent"))
    with pytest.raises(InputError, match=r"needs openb_node_list_gpu_node\.csv and lists of pods"):
        read_study(tmp_path)


@pytest.mark.parametrize(
    ("pods", "most"),
    [
        ({(4, 0, 600, 1): 5, (4, 0, 400, 1): 5}, 3000),  # 600 and 400 on each of three devices
        ({(4, 0, 600, 1): 5}, 1800),  # one a device
        ({(4, 0, 1000, 2): 5}, 2000),  # a node of three devices holds one pod of two, and the other node none
        ({(20, 0, 1000, 1): 5}, 1600),  # 32 cores are enough for 1.6 of them
        ({(4, 99, 500, 1): 5}, 0),
    ],
)
def test_the_bound_by_hand(pods: dict[tuple[int, int, int, int], int], most: float) -> None:
    """A node of 32 cores and three devices. What no policy reaches: pods in parts."""
    nodes = Nodes(np.array([[32, 64]]), np.array([3]), np.array([1]))
    rows = np.array(list(pods))
    demand, share, count = np.ascontiguousarray(rows[:, :2]), rows[:, 2].copy(), rows[:, 3].copy()
    requests = GpuRequests(demand=demand, share=share, count=count, kinds=np.ones(len(rows), np.int64))
    assert Program(nodes, requests).most(np.array([*pods.values()], np.float64)) == pytest.approx(most)


def test_fragmentation_over_time_by_hand(tmp_path: Path) -> None:
    """A whole device for 5 s, half a one for 10 s from 2 s on, on a node with two; F is taken of these two shapes."""
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES.splitlines()[0] + "\nn0,32000,65536,2,A\n")
    (tmp_path / "openb_pod_list_mine.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,scheduled_time,deletion_time\n"
        "p0,4000,1024,1,500,0,0,10\np1,4000,1024,1,1000,0,0,5\np2,4000,1024,1,1000,0,,\n"
    )
    study = read_study(tmp_path)
    pods = study.lists["mine"]
    assert pods.ran.tolist() == [10, 5, 0]
    workload = workload_of(study.nodes, pods, pods.of[[1, 0]], np.array([0, 2]), pods.ran[[1, 0]])
    result = packenv.simulate(workload, "bf-js", schedule=True, drain=True)
    # until 2 s a whole device is free; until 5 s half of one, of no use to a whole; until 12 s half of one beside a free one
    assert (
        fragmentation_of(workload, result, 0) == pytest.approx((0 * 2 + 3 * 250 + 7 * 250) / result.slots / 2000)
        and result.slots == 12
    )


def test_a_stream_asks_for_its_load(tmp_path: Path) -> None:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES)
    (tmp_path / "openb_pod_list_mine.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,scheduled_time,deletion_time\n"
        "p0,4000,1024,1,500,,0,0,1000\np1,4000,1024,1,1000,A,0,0,900000\np2,4000,1024,2,1000,,0,,\np3,64000,1,0,0,,0,0,9\n"
    )
    workload = stream(read_study(tmp_path), "mine", 0.9, 4_000, 0)
    jobs = workload.jobs
    assert jobs is not None and jobs.devices is not None
    assert set(zip(jobs.devices[:, 0].tolist(), jobs.service.tolist(), strict=True)) == {
        (1, 1_000),
        (1, LONGEST),
    }  # who ran, and fits
    work = float((np.where(jobs.devices[:, 1] == 0, 1000, 500) * jobs.service).sum())
    assert work / (2_000 * jobs.arrival[-1]) == pytest.approx(0.9, rel=0.1)  # of the first of three nodes


@real
def test_means() -> None:
    """One seed of two policies; `packenv reproduce fgd` has all, of ten."""
    study = read_study(FOLDER)
    for policy, points in (("fgd", 0.4), ("best-fit", 0.6)):
        means = run_case(study, ("default", policy, "order", 0))
        for demand in (110, 130):
            allocated, fragmented = study.published["default", policy, demand]
            n = DEMANDS.index(demand)
            assert means.allocated[n] == pytest.approx(allocated, abs=points)
            assert means.fragmented[n].sum() == pytest.approx(fragmented, abs=points)


@real
@pytest.mark.slow
def test_the_study(tmp_path: Path) -> None:
    finding = figure.reproduce(Settings(quick=True, folder=str(FOLDER)))
    shown = {claim.claim: claim.shown for claim in finding.claims}
    assert shown["FGD allocates most at 130 %, Random least"]
    assert shown["no policy allocates more than the linear program allows"]
    finding.save_picture(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_a_choice_is_judged_on_lists_that_are_there() -> None:
    chosen = ("default", "gpushare40", "gpuspec10", "multigpu20")
    assert lists_to_judge_on([*chosen, "cpu050"]) == ""
    assert lists_to_judge_on(chosen) == "a list that had no part in the choice"
    assert lists_to_judge_on(["default", "cpu050"]) == "gpushare40, gpuspec10 and multigpu20"
