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

import packenv
from packenv.learning.agents.saved import PRETRAINED, load_agent
from packenv.learning.training.checkpoints import FORMAT, read_checkpoint
from packenv.policies.replay import find_replay
from packenv.policy import parameters_of
from packenv.runs.log import RunLog
from packenv.simulation import setting_of
from packenv.theory.capacity.certificate_files import load_certificate, save_certificate
from packenv.workloads.files import load_workload
from packenv.workloads.fitting.profile import describe
from packenv.workloads.laws import Constant, Discrete, Fixed, Mixture, Uniform
from packenv.workloads.laws.arrivals import Batch, Modulated
from packenv.workloads.servers import as_servers
from packenv.workloads.traces import read_trace
from tests.workloads.traces import samples

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


def make_corpus(folder: Path) -> list[Kind]:
    """Write one or more valid files of every format below `folder`."""
    return [*_traces(folder), *_workloads(folder), *_others(folder)]


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


def read_schedule(path: Path) -> None:
    """Read a schedule, and check it against its table of jobs."""
    workload = packenv.workload("price/fig1")
    find_replay(str(path)).initial_state(setting_of(workload), 0)


def _traces(folder: Path) -> list[Kind]:
    tables = {
        "folded.parquet": samples.folded_file(folder / "folded.parquet"),
        "slots.parquet": _parquet(folder / "slots.parquet", arrival=[0, 1, 2], size=[0.5, 0.25, 1], service=[3, 1, 2]),
        "seconds.parquet": _parquet(
            folder / "seconds.parquet", submit_time_s=[0.0, 0.5], duration_s=[1.0, None], cpu=[0.5, 0.2], memory=[0.1, 0.2]
        ),
        "lists.parquet": _parquet(
            folder / "lists.parquet", arrival=[0, 1], size=[0.5, 0.2], service=[1, 2], predecessors=[[], [0]], home=[[0, 1], []]
        ),
        "jobs.parquet": _parquet(
            folder / "jobs.parquet", submit_time_s=[0.0], num_tasks=[2], mean_task_duration_s=[1.5], task_duration_s=[[1.0, 2.0]]
        ),
    }
    texts = {
        "slots.csv": WORKFLOW,
        "seconds.csv": samples.WORKFLOW,
        "pods.csv": samples.PODS,
        "instances.csv": samples.INSTANCES,
        "log.swf": samples.SWF,
        "jobs.tr": samples.JOB_LINES,
        "facebook.tsv": samples.SWIM[:12],
    }
    files = {**tables, **{name: samples.text(folder / name, *lines) for name, lines in texts.items()}}
    for name in ("slots.csv", "log.swf", "jobs.tr", "facebook.tsv"):
        files[f"{name}.gz"] = folder / f"{name}.gz"
        files[f"{name}.gz"].write_bytes(gzip.compress(files[name].read_bytes(), mtime=0))
    google = samples.native_folder(folder / "google")
    part = next((google / "task_events").glob("*.gz"))
    describing = "packenv trace describe {} --resources all"
    return [
        *(Kind(name, path, read_tasks, describing) for name, path in files.items()),
        Kind("google", part, lambda path: read_tasks(path.parents[1]), "packenv trace describe {}/../.. --resources all"),
    ]


def _workloads(folder: Path) -> list[Kind]:
    mixed = Mixture([Uniform(0.1, 0.4), Discrete([0.5, 0.75], [0.5, 0.5])], [0.75, 0.25])
    bursts = Batch(size=Constant(2), process=Modulated([1.0, 4.0], [100.0, 20.0]))
    made = packenv.Workload(sizes=mixed, service=Fixed(20), servers="2x1,1x0.9", arrivals=bursts, intensity=0.5)
    made.save(folder / "mixed.json")
    packenv.workload("paper/fig3a").save(folder / "paper.json")
    running = "packenv evaluate {} --slots 1000 -p bf-js"
    return [Kind(name, folder / name, read_workload, running) for name in ("mixed.json", "paper.json")]


def _others(folder: Path) -> list[Kind]:
    servers = "packenv evaluate google2011-like --resources all --slots 100 --servers {}"
    (folder / "servers.json").write_text(json.dumps({"capacity": [[1, 0.5], [0.5, 0.25]]}))
    save_certificate(packenv.max_workload(packenv.workload("paper/fig3a")), folder / "proof.json")
    for ending in (".json", ".safetensors"):
        (folder / f"agent{ending}").write_bytes((PRETRAINED / f"fig3a{ending}").read_bytes())
    playing = "packenv evaluate paper/fig3a --slots 1000 -p agent:{}"
    return [
        Kind("machines.parquet", samples.machines_file(folder / "machines.parquet"), read_machines, servers),
        Kind("nodes.csv", samples.text(folder / "nodes.csv", *samples.NODES), read_machines, servers),
        Kind("servers.csv", samples.text(folder / "servers.csv", "cpu,memory", "1,0.5", "0.5,0.25"), read_machines, servers),
        Kind("servers.json", folder / "servers.json", read_machines, servers),
        Kind("proof.json", folder / "proof.json", read_proof, "packenv capacity paper/fig3a --check {}"),
        Kind("agent.json", folder / "agent.json", read_agent, playing),
        Kind("agent.safetensors", folder / "agent.safetensors", read_weights, playing),
        Kind("checkpoint.safetensors", _checkpoint(folder), read_checkpoint, "packenv train --resume"),
        Kind("schedule.parquet", _schedule(folder), read_schedule, "packenv evaluate price/fig1 -p replay:{}"),
        Kind("log.jsonl", _log(folder), RunLog, "packenv judge paper/fig3a -p bf-js --log {}"),
    ]


def _parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def _schedule(folder: Path) -> Path:
    result = packenv.simulate(packenv.workload("price/fig1"), "bf-js", drain=True, schedule=True)
    assert result.schedule is not None
    return _parquet(
        folder / "schedule.parquet",
        job=np.arange(len(result.schedule.start)),
        start=result.schedule.start,
        server=result.schedule.server,
    )


def _checkpoint(folder: Path) -> Path:
    from safetensors.numpy import save_file

    path = folder / "checkpoint.safetensors"
    save_file({"best/x": np.ones(3, np.float32)}, path, {"format": FORMAT, "counters": json.dumps({"samples": 10})})
    return path


def _log(folder: Path) -> Path:
    from packenv.runs.run import runs_of
    from packenv.runs.runner import Runner

    path = folder / "log.jsonl"
    with Runner(1) as runner:
        RunLog(path).complete(runs_of(packenv.workload("paper/fig3a"), ["bf-js"], [0, 1], 500, {}), runner)
    return path
