"""Reading a file executes nothing: a name of code is put into every field of a valid file of every format."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

import packenv
from packenv.compiled import sources
from packenv.errors import InputError
from packenv.learning.agents.saved import PRETRAINED, load_agent
from packenv.learning.settings import Settings
from packenv.learning.training.run_folder import FORMAT, SETTINGS, check_folder, read_checkpoint
from packenv.policies.replay import find_replay
from packenv.policy import find_registered
from packenv.runs.log import RunLog
from packenv.runs.measured import measured
from packenv.theory.certificate_files import load_certificate, load_queue_bound, save_certificate, save_queue_bound
from packenv.workloads.laws import parse_law
from packenv.workloads.servers import parse_servers
from packenv.workloads.traces import read_trace

Place = tuple[str | int, ...]
Reader = Callable[[Path], object]


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What appears if one of `names` is executed; it must not be there at the end."""
    (tmp_path / "canary_policy.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'sang')!r})\nPolicy = 'bf-js'\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "sang"
    assert not (tmp_path / "sang").exists()


def names(canary: Path) -> list[str]:
    """Code that would make the canary, and policies that read another file."""
    return [f"os:mkdir:path={canary}", "canary_policy:Policy", f"agent:{PRETRAINED / 'fig4b'}", "replay:trace.parquet"]


def test_the_names_would_be_executed_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the command line and in Python, where whoever names code may run it."""
    with pytest.raises(InputError):
        find_registered(f"os:mkdir:path={tmp_path / 'sang'}")
    assert not (tmp_path / "sang").exists()
    packenv.find_policy(f"os:mkdir:path={tmp_path / 'sang'}")
    assert (tmp_path / "sang").exists()


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place in plain values, containers too; of a list the first two items, which stand for the others."""
    yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from places(item, (*at, key))


def with_name(value: Any, at: Place, name: str) -> Any:
    """The same values, with the name at one place."""
    if not at:
        return name
    copy = value.copy()
    copy[at[0]] = with_name(value[at[0]], at[1:], name)
    return copy


def accepted(plain: Any, canary: Path, read: Callable[[Any], object]) -> set[str]:
    """First keys of the places where a name was accepted, as a text without meaning. Anything but InputError is a failure."""
    taken = set()
    for at in places(plain):
        for name in names(canary):
            try:
                read(with_name(plain, at, name))
            except InputError as error:
                assert "\n" not in str(error)
            else:
                taken.add(".".join(map(str, at)))
            assert not canary.exists(), f"{name} was executed at {at}"
    return taken


def in_file(path: Path, read: Reader) -> Callable[[Any], object]:
    def of(plain: Any) -> object:
        path.write_text(json.dumps(plain))
        return read(path)

    return of


SAID = {"workload", "arrivals", "algorithm", "reward", "timescale", "summary", "commands", "seed", "samples", "kept", "version"}
"""What an agent's file says of its training: shown to people, and not read by packenv."""


@pytest.mark.parametrize("agent", ["fig4b", "fig3b"])
def test_agents(agent: str, canary: Path, tmp_path: Path) -> None:
    shutil.copy(PRETRAINED / f"{agent}.safetensors", tmp_path / "agent.safetensors")
    plain = json.loads((PRETRAINED / f"{agent}.json").read_text())
    options = plain["environment"]["options"] | {"baseline": "bf-js", "guard": "bf-js", "reward": "queue", "start": "empty"}
    plain["environment"]["options"] = options | {"workload": "paper/fig4b"}
    read = in_file(tmp_path / "agent.json", load_agent)
    read(plain)
    taken = accepted(plain, canary, read)
    free = SAID | {"commit", "measured", "environment.options.workload", "network.hidden"}
    assert {place for place in taken if place.partition(".")[0] not in free} <= free


@pytest.mark.parametrize("where", [("guard", "policy"), ("environment", "options", "baseline")])
def test_names_that_an_agent_may_say(where: Place, tmp_path: Path) -> None:
    shutil.copy(PRETRAINED / "fig4b.safetensors", tmp_path / "agent.safetensors")
    plain = json.loads((PRETRAINED / "fig4b.json").read_text())
    plain["environment"]["options"]["baseline"] = "bf-js"
    read = in_file(tmp_path / "agent.json", load_agent)
    assert read(with_name(plain, where, "bf-s"))
    for bad in ("vqs:J=7,stall=os", "no_such", "", ":x", "agent:fig4b", 7, ["bf-js"]):
        with pytest.raises(InputError):
            read(with_name(plain, where, bad))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["paper/fig4b", "paper/fig3a", "google2011-like"])
def test_workloads(name: str, canary: Path, tmp_path: Path) -> None:
    plain = packenv.workload(name).to_dict()
    free = {"name", "resources.0", "resources.1"}
    assert accepted(plain, canary, in_file(tmp_path / "w.json", packenv.workload)) <= free


@pytest.mark.parametrize("law", ["uniform:0.1:0.9", "discrete:0.4@0.5,0.6@0.5", "lognormal:100:2", "geometric:100"])
def test_laws(law: str, canary: Path, tmp_path: Path) -> None:
    parts = {"service" if law[0] in "lg" else "sizes": parse_law(law, "law")}
    plain = packenv.workload("paper/fig4b").with_(**parts).to_dict()
    assert accepted(plain, canary, in_file(tmp_path / "w.json", packenv.workload)) <= {"name"}


def test_certificates(canary: Path, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    for name in ("paper/fig3a", "analytics"):
        save_certificate(packenv.max_workload(packenv.workload(name), gap=0.2), path)
        plain = json.loads(path.read_text())
        plain["history"], plain["attained"]["configurations"] = plain["history"][:1], plain["attained"]["configurations"][:2]
        assert accepted(plain, canary, in_file(path, load_certificate)) == {"proved_for"}  # shown to people
    save_queue_bound(packenv.queue_bound(packenv.workload("paper/fig4b", intensity=0.9)), path)
    assert accepted(json.loads(path.read_text()), canary, in_file(path, load_queue_bound)) == {"proved_for"}


def test_servers(canary: Path, tmp_path: Path) -> None:
    for plain in ([1, 0.5], [[1, 0.5], [1, 1]], {"capacity": [1, 2]}):
        assert accepted(plain, canary, in_file(tmp_path / "s.json", lambda path: parse_servers(str(path)))) == set()
    for name in names(canary):
        (tmp_path / "s.csv").write_text(f"capacity\n1\n{name}\n")
        with pytest.raises(InputError):
            parse_servers(str(tmp_path / "s.csv"))


def test_logs(canary: Path, tmp_path: Path) -> None:
    run = measured(packenv.simulate(packenv.workload("paper/fig3a"), "bf-js", 300))
    RunLog(tmp_path / "log").keep("key", run)
    plain = json.loads((tmp_path / "log").read_text())

    def read(changed: Any) -> object:
        (tmp_path / "log").write_text(json.dumps(changed) + "\n")
        return RunLog(tmp_path / "log").values

    accepted(plain, canary, read)


def test_saved_settings_and_checkpoints(canary: Path, tmp_path: Path) -> None:
    settings = Settings(packenv.workload("paper/fig4b"))
    read = in_file(tmp_path / SETTINGS, lambda path: check_folder(path.parent, settings, resume=True))
    read(settings.record())
    assert accepted(json.loads(json.dumps(settings.record())), canary, read) == set()
    for name in names(canary):
        for metadata in ({"format": FORMAT, "counters": name}, {"format": name}, {"format": FORMAT, "counters": "{}", "x": name}):
            save_file({name: np.zeros(2)}, tmp_path / "checkpoint.safetensors", metadata=metadata)
            with suppress(InputError):
                assert read_checkpoint(tmp_path / "checkpoint.safetensors").counters == {}


def test_index_of_the_sources(canary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = {str(tmp_path / "canary_policy.py"): [[1, 2, 3], "digest", ["canary_policy"], ["os"]]}
    for at in places(plain):
        for name in names(canary):
            monkeypatch.setattr(sources, "_sources", {})
            (tmp_path / sources.MEMORY).write_text(json.dumps(with_name(plain, at, name)))
            sources.sources_of(["packenv.errors"], tmp_path)


TABLES = {
    "own.csv": "arrival,size,service\n0,0.5,3\n1,0.4,2\n",
    "timed.csv": "submit_time_s,duration_s,cpu,job\n0,10,0.5,a\n5,20,0.25,b\n",
    "standard.swf": "; UnixStartTime: 0\n; MaxProcs: 4\n1 0 -1 10 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n",
    "jobs.tr": "0 2 10 9 11\n5 1 3 3\n",
    "samples.tsv": "job0\t0\t0\t100\t0\t100\njob1\t5\t5\t100\t0\t100\n",
}


@pytest.mark.parametrize("file", TABLES)
def test_traces(file: str, canary: Path, tmp_path: Path) -> None:
    """Every word of a trace, headers too. Some may be any text: identifiers of jobs, comments."""
    parts = re.split(r"([,;\s]+)", TABLES[file])
    for n, part in enumerate(parts):
        if n % 2 == 0 and part:
            for name in names(canary):
                (tmp_path / file).write_text("".join([*parts[:n], name, *parts[n + 1 :]]))
                with suppress(InputError):
                    read_trace(str(tmp_path / file), None)


def test_schedules(canary: Path, tmp_path: Path) -> None:
    columns: dict[str, Any] = {"job": [0, 1], "start": [0, 1], "server": [0, 0]}
    for name in names(canary):
        for key in columns:
            renamed = {name if each == key else each: values for each, values in columns.items()}
            for table in (columns | {key: [name, name]}, renamed):
                pq.write_table(pa.table(table), tmp_path / "schedule.parquet")
                with pytest.raises(InputError):
                    find_replay(str(tmp_path / "schedule.parquet"))
