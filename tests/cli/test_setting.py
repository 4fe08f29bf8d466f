"""From the command line's words to a workload: which resources, and which servers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from packenv.cli.options.workload import WorkloadOptions, workload_from
from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.resources import chosen_resources
from tests.workloads.traces.samples import INSTANCES, JOB_LINES, NODES, PODS, SWF, folded_file, native_folder, text


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("max", (None, "max")),
        ("all", ("all", "all")),
        ("cpu", (("cpu",), "all")),
        ("memory, cpu", (("memory", "cpu"), "all")),
        ("max:cpu,memory", (("cpu", "memory"), "max")),
    ],
)
def test_resources(words: str, chosen: object) -> None:
    assert chosen_resources(words) == chosen


@pytest.mark.parametrize("words", ["", "cpu,", "cpu,cpu", "max:"])
def test_bad_resources(words: str) -> None:
    with pytest.raises(InputError, match="`resources` must be max, all, names such as cpu,memory, or max:cpu,memory, not"):
        chosen_resources(words)


def test_a_trace_and_its_machines(tmp_path: Path) -> None:
    pods, nodes = text(tmp_path / "pods.csv", *PODS), text(tmp_path / "nodes.csv", *NODES)
    workload, dropped = workload_from(WorkloadOptions(str(pods), servers=str(nodes), resources="all"))
    assert (workload.resources, dropped["never scheduled"]) == (("cpu", "memory", "gpu"), 1)
    assert workload.servers.capacity.tolist() == [[0.25, 0.25, 0], [1, 0.75, 1]]
    swapped, _ = workload_from(WorkloadOptions(str(pods), servers=str(nodes), resources="memory,cpu"))
    assert swapped.servers.capacity.tolist() == [[0.25, 0.25], [0.75, 1]]
    one_size, _ = workload_from(WorkloadOptions(str(pods), servers="2", resources="max:cpu,memory"))
    assert one_size.jobs is not None
    assert one_size.jobs.demand.tolist() == [[UNIT // 4], [UNIT // 2], [UNIT // 8]]
    with pytest.raises(InputError, match=r"nodes.csv: tasks have one size; use --resources cpu,memory,gpu"):
        workload_from(WorkloadOptions(str(pods), servers=str(nodes), resources="max"))
    assert workload_from(WorkloadOptions(str(pods), servers=str(nodes)))[0].resources == ("cpu", "memory", "gpu")


IN_SECONDS = ["submit_time_s,duration_s,cpu,memory,home", "4,5,0.1,0.1,0", "0,,0.9,0.9,", "2,5,0.1,0.3,1", "1,5,0.2,0.2,2"]


@pytest.mark.parametrize(
    ("name", "lines", "servers", "problem"),
    [
        ("a.csv", IN_SECONDS, "9x0.05", "row 4: a demand of 0.2 fits in no server; the largest has 0.05, and so"),
        ("a.csv", IN_SECONDS, "2", "row 4: home server 2 does not exist, there are 2"),
        ("a.csv", ["arrival,size,service,predecessors", "0,0,1,1", "0,0.5,1,"], "1x0.3", "row 2: a demand of 0.5"),
        ("pods.csv", PODS, "1x0.2", "row 2: a demand of 0.25"),
        ("instances.csv", INSTANCES, "1x0.5", "row 3: a demand of 1"),
        ("jobs.tr", JOB_LINES, "1x0.5", "row 1: a demand of 1"),
        ("jobs.tr", JOB_LINES[::-1], "1x0.5", "row 4: a demand of 1"),
    ],
)
def test_what_cannot_run_is_named_by_where_it_stands(
    name: str, lines: list[str], servers: str, problem: str, tmp_path: Path
) -> None:
    """The row of the file, whatever has been dropped and sorted since."""
    file = text(tmp_path / name, *lines)
    with pytest.raises(InputError) as error:
        workload_from(WorkloadOptions(str(file), servers=servers, resources="max"))
    assert str(error.value).startswith(f"{file}: {problem}")


@pytest.mark.parametrize(
    ("name", "lines", "servers", "count"),
    [
        ("a.csv", IN_SECONDS, "9x0.25", 1),
        ("a.csv", ["arrival,size,service,predecessors", "0,0.25,1,1", "0,0.5,1,"], "1x0.3", 1),
        ("log.swf", SWF, "1x0.2", 2),
    ],
)
def test_tasks_that_fit_no_server_are_counted(name: str, lines: list[str], servers: str, count: int, tmp_path: Path) -> None:
    _, dropped = workload_from(WorkloadOptions(str(text(tmp_path / name, *lines)), servers=servers, resources="max"))
    assert dropped["tasks that fit no server"] == count


def test_folders_name_the_job_and_folded_files_the_row(tmp_path: Path) -> None:
    folder, folded = native_folder(tmp_path / "google"), folded_file(tmp_path / "tasks.parquet")
    for source, where in ((folder, f"{folder}: job 8"), (folded, f"{folded}: row 3")):
        with pytest.raises(InputError, match=re.escape(f"{where}: a demand of 0.25 fits in no server; the largest has 0.2")):
            workload_from(WorkloadOptions(str(source), servers="1x0.2"))


def test_google_machines_have_no_disk(tmp_path: Path) -> None:
    folder = str(native_folder(tmp_path / "google"))
    assert workload_from(WorkloadOptions(folder, servers="2", resources="all"))[0].D == 3
    assert workload_from(WorkloadOptions(folder, servers=folder, resources="cpu,memory"))[0].servers.capacity.tolist() == [
        [1, 1],
        [0.5, 0.25],
    ]
    with pytest.raises(InputError) as error:
        workload_from(WorkloadOptions(folder, servers=folder, resources="all"))
    assert str(error.value) == f"{folder}: disk of the machines is not known, only cpu, memory: choose resources among these"


def test_resources_of_a_named_workload() -> None:
    whole = workload_from(WorkloadOptions("google2011-like", resources="all"))[0]
    memory = workload_from(WorkloadOptions("google2011-like", resources="memory"))[0]
    assert (memory.D, memory.resources) == (1, ("memory",))
    assert memory.mean_size == pytest.approx(whole.mean_size[1])
    assert (
        workload_from(WorkloadOptions("google2011-like", resources="max:cpu,memory"))[0]
        == workload_from(WorkloadOptions("google2011-like"))[0]
    )
    with pytest.raises(InputError, match="google2011-like has no resource gpu; known: cpu, memory"):
        workload_from(WorkloadOptions("google2011-like", resources="gpu"))
