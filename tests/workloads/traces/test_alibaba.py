"""Alibaba's pods and nodes of 2023, and its instances of 2025, worked by hand."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import pytest

import packenv
from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.servers import parse_servers
from packenv.workloads.traces import Trace, initial_capacities, read_trace
from tests.workloads.traces.samples import CASES, INSTANCES, NODES, PODS, SPOT_JOBS, SPOT_NODES, native_folder, text


def as_parquet(file: Path) -> Path:
    """The same table, with the types that a CSV reader finds."""
    pq.write_table(pc_csv.read_csv(file), file.with_suffix(".parquet"))
    return file.with_suffix(".parquet")


@pytest.fixture(params=["csv", "parquet"])
def pods(request: pytest.FixtureRequest, tmp_path: Path) -> Trace:
    file = text(tmp_path / "pods.csv", *PODS)
    trace = read_trace(file if request.param == "csv" else as_parquet(file))
    assert isinstance(trace, Trace)
    return trace


def test_pods(pods: Trace) -> None:
    assert (len(pods), pods.resources) == (4, ("cpu", "memory", "gpu"))
    jobs, dropped, t0 = pods.jobs(slot_seconds=10, sizes="all")
    assert t0 == 10_000_000
    assert jobs.arrival.tolist() == [0, 1, 4]
    assert jobs.service.tolist() == [12, 11, 1]
    assert jobs.demand.tolist() == [
        [UNIT // 4, UNIT // 4, UNIT // 16],
        [UNIT // 2, UNIT // 2, UNIT // 4],
        [UNIT // 8, UNIT // 8, UNIT],
    ]
    assert {reason: count for reason, count in dropped.items() if count} == {"never scheduled": 1}
    assert pods.jobs().jobs.demand[:, 0].tolist() == [UNIT // 4, UNIT // 2, UNIT]


def test_devices(tmp_path: Path) -> None:
    """Three pods of .6 of a GPU on a node with two: two at once, and a plan of two nodes (PAPERS §7)."""
    pods, nodes = (str(CASES / f"gpu-shares-{name}.csv") for name in ("pods", "nodes"))
    workload = packenv.workload(pods, servers=nodes, resources="all", slot_seconds=1)
    assert str(workload.servers).endswith("@2*V100M16") and workload.provenance.remark is None
    starts = {policy: packenv.simulate(workload, policy, schedule=True).schedule for policy in ("bf-js", "fifo-ff")}
    assert all(schedule is not None and schedule.start.tolist() == [0, 0, 100] for schedule in starts.values())
    assert packenv.plan(workload, "max wait <= 0s", policies=["bf-js"]).plans["bf-js"].servers == 2
    amount = packenv.workload(pods, servers=nodes, resources="all", slot_seconds=1, devices=False)
    assert amount.provenance.remark is not None and not amount.has_devices
    assert packenv.plan(amount, "max wait <= 0s", policies=["bf-js"]).plans["bf-js"].servers == 1


def test_kinds_and_shares(tmp_path: Path) -> None:
    file, nodes = text(tmp_path / "pods.csv", *PODS), text(tmp_path / "nodes.csv", *NODES)
    workload = packenv.workload(str(file), servers=str(nodes), resources="all")
    assert workload.jobs is not None and workload.jobs.devices is not None
    assert workload.jobs.devices.tolist() == [[2, 0, 0], [8, 0, 0]]
    assert workload.left_out["tasks for kinds of GPU that no server has (T4|P100)"] == 1
    either = packenv.workload(str(file), servers="2x1:1:1@P100,1x1:1:1@V100", resources="all").jobs
    assert either is not None and either.device_kinds == ("P100", "V100", "T4")
    assert either.devices is not None and either.devices.tolist() == [[1, 500, 0b101], [2, 0, 0], [8, 0, 0]]
    assert not packenv.workload(str(file), servers="2x1:1", resources="cpu,memory").has_devices
    with pytest.raises(InputError, match=r"server 0: 2.4 devices is not a whole number"):
        packenv.workload(str(file), servers="2x1:1:0.3", resources="all")


def test_spot_gpus(tmp_path: Path) -> None:
    """Each worker is a task; kinds and parts of GPUs; nodes of kinds; a kind that is not there is named."""
    jobs, nodes = text(tmp_path / "jobs.csv", *SPOT_JOBS), text(tmp_path / "nodes.csv", *SPOT_NODES)
    for path, servers in ((jobs, nodes), (as_parquet(jobs), as_parquet(nodes))):
        workload = packenv.workload(str(path), servers=str(servers), resources="all", slot_seconds=10)
        table = workload.jobs
        assert table is not None and table.devices is not None and table.tenant is not None and table.job is not None
        assert str(workload.servers) == "2x128:1@1*A10,1x128:8@8*A100"
        assert table.arrival.tolist() == [0, 3, 3, 4] and table.service.tolist() == [5, 10, 10, 1]
        assert table.amounts.tolist() == [[8, 0.25], [16, 1], [16, 1], [96, 8]]
        assert table.devices.tolist() == [[1, 250, 0], [1, 0, 0b1], [1, 0, 0b1], [8, 0, 0b110]]
        assert table.job.tolist() == [1, 0, 0, 2] and table.tenant.tolist() == [1, 0, 0, 0]
        assert workload.left_out["tasks for kinds of GPU that no server has (B200)"] == 1
    with pytest.raises(InputError, match="machines, not tasks: they go with --servers"):
        read_trace(nodes)
    for row, problem in (
        ("j9,o,A10,1,1.5,1,50,1,HP", "row 5, column gpu_request: 1.5 GPUs: a part is of one GPU, in thousandths"),
        ("j9,o,A10,1,-1,1,50,1,HP", "row 5, column gpu_request: -1 is negative"),
        ("j9,o,A10,1,1,0,50,1,HP", "row 5, column worker_num: 0 workers"),
    ):
        with pytest.raises(InputError, match=problem):
            read_trace(text(tmp_path / "bad.csv", *SPOT_JOBS, row))


@pytest.mark.parametrize("form", ["slots", "seconds"])
def test_tables_with_kinds_of_gpus(tmp_path: Path, form: str) -> None:
    """A column gpu_kinds makes amounts of GPUs devices; without it they are one amount unless the user says so."""
    times = {"slots": "arrival,service", "seconds": "submit_time_s,duration_s"}[form]
    rows = [f"{times},cpu,gpu", "0,10,1,0.6", "0,10,1,0.6", "0,10,1,0.6", "1,10,1,2"]
    kinds = [f"{row},{kind}" for row, kind in zip(rows, ("gpu_kinds", "A10", "", "A10|T4", ""), strict=True)]
    said, plain = text(tmp_path / "said.csv", *kinds), text(tmp_path / "plain.csv", *rows)
    how = {} if form == "slots" else {"slot_seconds": 1}
    workload = packenv.workload(str(said), servers="1x8:2@T4,1x8:2@A10", resources="cpu,gpu", **how)
    assert workload.jobs is not None and workload.jobs.devices is not None
    assert workload.jobs.device_kinds == ("T4", "A10")
    assert workload.jobs.devices.tolist() == [[1, 600, 0b10], [1, 600, 0], [1, 600, 0b11], [2, 0, 0]]
    assert not packenv.workload(str(plain), servers="2x8:2", resources="cpu,gpu", **how).has_devices
    assert packenv.workload(str(plain), servers="2x8:2", resources="cpu,gpu", devices=True, **how).has_devices
    odd = text(tmp_path / "odd.csv", *rows, "2,1,1,1.5")
    for path, servers, resources in ((plain, "2x8", "max"), (plain, "2x8", "cpu"), (odd, "2x8:2", "cpu,gpu")):
        with pytest.raises(InputError, match="`devices` does not go with"):
            packenv.workload(str(path), servers=servers, resources=resources, devices=True, **how)
    bad = text(tmp_path / "bad.csv", *kinds, "2,1,1,1.5,")
    with pytest.raises(InputError, match=r"row 5, column gpu: 1.5 GPUs: a part is of one GPU"):
        packenv.workload(str(bad), servers="2x8:2", resources="cpu,gpu", **how)


@pytest.mark.parametrize(
    "pod, problem",
    [
        ("1,2,500,", "row 5, column gpu_milli: 500 of each of several GPUs: a part is of one GPU"),
        ("1,1,1500,", "row 5, column gpu_milli: 1500 is more than a whole GPU, 1000"),
        ("1,1,0,", "row 5, column gpu_milli: a pod with GPUs has 0 of each"),
        ("1,-1,1000,", "row 5, column num_gpu: -1 is negative"),
    ],
)
def test_pods_that_cannot_be(tmp_path: Path, pod: str, problem: str) -> None:
    memory, number, milli, spec = pod.split(",")
    file = text(tmp_path / "pods.csv", *PODS, f"p9,1000,{memory},{number},{milli},{spec},LS,Running,60,70,60")
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: {problem}"


def test_nodes_are_servers(tmp_path: Path) -> None:
    file = text(tmp_path / "nodes.csv", *NODES)
    expected = [[0.25, 0.25, 0.0], [1.0, 0.75, 1.0]]
    for path in (file, as_parquet(file)):
        assert initial_capacities(path).tolist() == expected
        assert parse_servers(str(path)).capacity.tolist() == expected
    assert parse_servers(str(file), 2, ("memory", "cpu")).capacity.tolist() == [[0.25, 0.25], [0.75, 1.0]]
    assert parse_servers(str(file), 1, ("gpu",)).capacity.tolist() == [[1.0]]  # the node without GPUs is left out
    with pytest.raises(InputError, match=r"nodes.csv: disk of the machines is not known, only cpu, memory, gpu"):
        parse_servers(str(file), 1, ("disk",))
    with pytest.raises(InputError, match="machines, not tasks: they go with --servers"):
        read_trace(file)
    broken = text(tmp_path / "broken.csv", *NODES, "n2,,1,0,")
    with pytest.raises(InputError, match=r"broken.csv: row 3, column cpu_milli: is empty"):
        initial_capacities(broken)


def test_google_machines_are_servers(tmp_path: Path) -> None:
    folder = native_folder(tmp_path / "google")
    assert parse_servers(str(folder)).capacity.tolist() == [[1.0, 1.0], [0.5, 0.25]]
    assert parse_servers(str(folder), 1, ("memory",)).capacity.tolist() == [[1.0], [0.25]]
    with pytest.raises(InputError, match="disk of the machines is not known, only cpu, memory: choose resources among these"):
        parse_servers(str(folder), 3, ("cpu", "memory", "disk"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_instances(tmp_path: Path, ending: str) -> None:
    file = text(tmp_path / "instances.csv", *INSTANCES)
    trace = read_trace(file if ending == "csv" else as_parquet(file))
    assert isinstance(trace, Trace)
    assert trace.resources == ("cpu", "gpu", "rdma", "memory", "disk")
    assert "64 cores, 1 GPU, 50 % of the network card, 320 GiB memory, 640 GiB disk" in trace.about
    jobs, dropped, t0 = trace.jobs(slot_seconds=10, sizes="all")
    assert t0 == 100_000_000
    assert jobs.arrival.tolist() == [0, 10]
    assert jobs.service.tolist() == [6, 9]  # 50.5 s and 90 s
    assert jobs.tenant is not None and jobs.tenant.tolist() == [0, 1]
    assert jobs.demand.tolist() == [
        [UNIT // 4, UNIT, UNIT, UNIT // 2, 51 * UNIT // 64],
        [UNIT, 0, UNIT // 50, UNIT, 51 * UNIT // 128],
    ]
    assert {reason: count for reason, count in dropped.items() if count} == {
        "in the initial snapshot": 2,
        "not finished": 1,
        "duration missing or <= 0": 1,
    }


def test_resources_can_be_chosen(tmp_path: Path) -> None:
    trace = read_trace(text(tmp_path / "pods.csv", *PODS), ("gpu", "cpu"))
    assert trace.jobs(sizes="all").jobs.demand.tolist() == [[UNIT // 16, UNIT // 4], [UNIT // 4, UNIT // 2], [UNIT, UNIT // 8]]
    with pytest.raises(InputError, match=r"no resource disk; known: cpu, memory, gpu"):
        read_trace(tmp_path / "pods.csv", ("disk",))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("p4,-1,0,0,0,,LS,Running,60,70,60", "row 5, column cpu_milli: -1 is negative"),
        ("p4,1,0,one,0,,LS,Running,60,70,60", "row 5, column num_gpu: 'one' is not a number"),
        ("p4,1,0,0,0,,LS,Running,,70,60", "row 5, column creation_time: is empty"),
        ("p4,1,0,0,0,,LS,Running,60,1e12,60", "row 5, column deletion_time: 1e12 is too large"),
        ("p4,1,0,0,0", "row 5: 5 values for 11 columns: a line may be cut short, or a cell may hold a line break"),
    ],
)
def test_a_bad_pod_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = text(tmp_path / "pods.csv", *PODS, line)
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: {problem}"
