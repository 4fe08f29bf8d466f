"""Small valid files of every format that packenv reads, made by code, and what reads each of them."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import save_file

import packenv
from packenv.learning.agents.saved import PRETRAINED, load_agent
from packenv.learning.training.run_folder import FORMAT, read_checkpoint
from packenv.policies.optimal import load_optimal, save_optimal
from packenv.policies.replay import find_replay
from packenv.policy import parameters_of
from packenv.runs.log import RunLog
from packenv.runs.run import runs_of
from packenv.runs.runner import Runner
from packenv.simulation import setting_of
from packenv.theory.certificate_files import load_certificate, load_queue_bound, save_certificate, save_queue_bound
from packenv.workloads.fitting.profile import describe
from packenv.workloads.laws import Constant, Discrete, Fixed, Mixture, Uniform
from packenv.workloads.laws.arrivals import Batch, Modulated
from packenv.workloads.servers import as_servers
from packenv.workloads.traces import read_trace
from packenv.workloads.workload import load_workload
from tests.workloads.traces import samples

SMALL = packenv.workload("small/fig3a")
Reader = Callable[[Path], Any]
WORKFLOW = [
    "arrival,size,service,job,phase,predecessors,home,value",
    "0,0.5,3,1,0,,0;1,1.5",
    "1,0.25,2,1,1,0,2,2",
    "4,1,9,2,0,0 1,,3",
]


class Kind(NamedTuple):
    """A file that is mutated, what reads it, and the command that does (`{}` stands for the file)."""

    name: str
    path: Path
    read: Reader
    command: str


def read_tasks(path: Path) -> None:
    """Read a trace, convert it, and describe one in eight, which takes ten times as long."""
    trace = read_trace(path, "all")
    try:
        trace.jobs(sizes="all")
    finally:
        if len(trace) == 1 or path.stat().st_size % 8 == 0:
            describe(trace)


def read_machines(path: Path) -> None:
    """Read a file of servers in two resources, as `--servers FILE` does."""
    as_servers(str(path), 2, ("cpu", "memory"))


def read_workload(path: Path) -> None:
    """Read a workload, and what every command asks of it."""
    workload = load_workload(path)
    workload.laws()
    _ = workload.area_bound, workload.mean_size, workload.default_levels(), workload.to_dict()


def read_agent(path: Path) -> None:
    """Read an agent, and prepare it for a run on the workload that it was made for."""
    agent = load_agent(path)
    setting = setting_of(packenv.workload("paper/fig3a"))
    agent.needs(setting)
    agent.initial_state(setting, 0)
    parameters_of(agent)


def read_weights(path: Path) -> None:
    """Read the weights of an agent, whose description is made to name them."""
    described = path.with_suffix(".json")
    about = json.loads(described.read_text())
    described.write_text(json.dumps(about | {"weights": hashlib.sha256(path.read_bytes()).hexdigest()}))
    read_agent(described)


def read_proof(path: Path) -> None:
    """Read a certificate and check it: a false one must not pass."""
    bracket = load_certificate(path)
    bracket.verify(packenv.workload("paper/fig3a"))


def read_queue_bound(path: Path) -> None:
    """Read a bound on the queue and check it: a false one must not pass."""
    load_queue_bound(path).verify(SMALL)


def read_optimal(path: Path) -> None:
    """Read an optimal policy, and prepare it for a run on the workload that it was made for."""
    policy = load_optimal(path)
    policy.needs(setting_of(SMALL))
    policy.initial_state(setting_of(SMALL), 0)


def read_decisions(path: Path) -> None:
    """Read the decisions of an optimal policy, whose description is made to name them."""
    described = path.with_suffix(".json")
    about = json.loads(described.read_text())
    described.write_text(json.dumps(about | {"decisions": hashlib.sha256(path.read_bytes()).hexdigest()}))
    read_optimal(described)


def read_schedule(path: Path) -> None:
    """Read a schedule, and check it against its table of jobs."""
    workload = packenv.workload("price/fig1")
    find_replay(str(path)).initial_state(setting_of(workload), 0)


def _traces(folder: Path) -> None:
    samples.folded_file(folder / "folded.parquet")
    _parquet(folder / "slots.parquet", arrival=[0, 1, 2], size=[0.5, 0.25, 1], service=[3, 1, 2])
    _parquet(folder / "seconds.parquet", submit_time_s=[0.0, 0.5], duration_s=[1.0, None], cpu=[0.5, 0.2], memory=[0.1, 0.2])
    lists = {"predecessors": [[], [0]], "home": [[0, 1], []]}
    _parquet(folder / "lists.parquet", arrival=[0, 1], size=[0.5, 0.2], service=[1, 2], **lists)
    durations = {"mean_task_duration_s": [1.5], "task_duration_s": [[1.0, 2.0]]}
    _parquet(folder / "jobs.parquet", submit_time_s=[0.0], num_tasks=[2], **durations)
    samples.text(folder / "slots.csv", *WORKFLOW)
    samples.text(folder / "seconds.csv", *samples.WORKFLOW)
    samples.text(folder / "pods.csv", *samples.PODS)
    samples.text(folder / "instances.csv", *samples.INSTANCES)
    samples.text(folder / "log.swf", *samples.SWF)
    samples.text(folder / "jobs.tr", *samples.JOB_LINES)
    samples.text(folder / "facebook.tsv", *samples.SWIM[:12])
    for name in ("slots.csv", "log.swf", "jobs.tr", "facebook.tsv"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes(), mtime=0))
    samples.native_folder(folder / "google")


def _workloads(folder: Path) -> None:
    mixed = Mixture([Uniform(0.1, 0.4), Discrete([0.5, 0.75], [0.5, 0.5])], [0.75, 0.25])
    bursts = Batch(size=Constant(2), process=Modulated([1.0, 4.0], [100.0, 20.0]))
    made = packenv.Workload(sizes=mixed, service=Fixed(20), servers="2x1,1x0.9", arrivals=bursts, intensity=0.5)
    made.save(folder / "mixed.json")
    packenv.workload("paper/fig3a").save(folder / "paper.json")


def _machines(folder: Path) -> None:
    samples.machines_file(folder / "machines.parquet")
    samples.text(folder / "nodes.csv", *samples.NODES)
    samples.text(folder / "servers.csv", "cpu,memory", "1,0.5", "0.5,0.25")
    (folder / "servers.json").write_text(json.dumps({"capacity": [[1, 0.5], [0.5, 0.25]]}))


def _others(folder: Path) -> None:
    save_certificate(packenv.max_workload(packenv.workload("paper/fig3a")), folder / "proof.json")
    for ending in (".json", ".safetensors"):
        (folder / f"agent{ending}").write_bytes((PRETRAINED / f"fig3a{ending}").read_bytes())
    counters = {"format": FORMAT, "counters": json.dumps({"samples": 10})}
    save_file({"best/x": np.ones(3, np.float32)}, folder / "checkpoint.safetensors", counters)
    save_queue_bound(packenv.queue_bound(SMALL), folder / "bound.json")
    save_optimal(folder / "optimal", packenv.stationary_optimum(SMALL, most=2))
    result = packenv.simulate(packenv.workload("price/fig1"), "bf-js", drain=True, schedule=True)
    assert result.schedule is not None
    start, server, *_ = result.schedule
    _parquet(folder / "schedule.parquet", job=np.arange(len(start)), start=start, server=server)
    with Runner(1) as runner:
        runs = runs_of(packenv.workload("paper/fig3a"), ["bf-js"], [0, 1], 500, {})
        RunLog(folder / "log.jsonl").complete(runs, runner)


def _parquet(path: Path, **columns: Any) -> None:
    pq.write_table(pa.table(columns), path)


DESCRIBE = "packenv trace describe {} --resources all"
EVALUATE = "packenv evaluate {} --slots 1000 -p bf-js"
SERVERS = "packenv evaluate google2011-like --resources all --slots 100 --servers {}"
OPTIMAL = "packenv evaluate small/fig3a --slots 1000 -p optimal:{}"
AGENT = "packenv evaluate paper/fig3a --slots 1000 -p agent:{}"
TRACES = (
    *(
        "folded.parquet",
        "slots.parquet",
        "seconds.parquet",
        "lists.parquet",
        "jobs.parquet",
        "slots.csv",
        "seconds.csv",
        "pods.csv",
    ),
    *("instances.csv", "log.swf", "jobs.tr", "facebook.tsv", "slots.csv.gz", "log.swf.gz", "jobs.tr.gz"),
    "facebook.tsv.gz",
)
READERS: dict[str, tuple[Reader, str]] = {
    **dict.fromkeys(TRACES, (read_tasks, DESCRIBE)),
    "google/task_events/part-00000-of-00002.csv.gz": (lambda path: read_tasks(path.parents[1]), DESCRIBE),
    **dict.fromkeys(("mixed.json", "paper.json"), (read_workload, EVALUATE)),
    **dict.fromkeys(("machines.parquet", "nodes.csv", "servers.csv", "servers.json"), (read_machines, SERVERS)),
    "proof.json": (read_proof, "packenv capacity paper/fig3a --check {}"),
    "bound.json": (read_queue_bound, "packenv bound small/fig3a --check {}"),
    "optimal.json": (read_optimal, OPTIMAL),
    "optimal.safetensors": (read_decisions, OPTIMAL),
    "agent.json": (read_agent, AGENT),
    "agent.safetensors": (read_weights, AGENT),
    "checkpoint.safetensors": (read_checkpoint, "packenv train --resume"),
    "schedule.parquet": (read_schedule, "packenv evaluate price/fig1 -p replay:{}"),
    "log.jsonl": (RunLog, "packenv judge paper/fig3a -p bf-js --log {}"),
}
"""By name of a file of the corpus: what reads it, and the command that does."""


def make_corpus(folder: Path) -> None:
    """Write a valid file of every format below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for write in (_traces, _workloads, _machines, _others):
        write(folder)


def kinds_in(folder: Path) -> list[Kind]:
    """The files of a corpus, with what reads them."""
    return [Kind(name, folder / name, read, command) for name, (read, command) in READERS.items()]
