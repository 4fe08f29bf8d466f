"""How a table is read is one value: a new option of it is one line in one file."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import fields

import packenv
from packenv.options.shared import Reading
from packenv.workloads.traces import read_trace
from tests.workloads.traces.samples import CASES

TOY = """
import importlib.util, inspect, sys, types
spec = importlib.util.find_spec("packenv.options.shared")
lines = spec.loader.get_source(spec.name)
toy = '    toy: str | None = option(None, "A toy.")\\n'
module = types.ModuleType(spec.name)
sys.modules[spec.name] = module
exec(compile(lines.replace("    speedup: str =", toy + "    speedup: str =", 1), spec.origin, "exec"), module.__dict__)

import packenv
from packenv.cli.main import main
from packenv.options.verbs import OF_ROWS
from packenv.workloads import workload_of_trace
from packenv.workloads.traces import read_trace

assert {"toy"} < {*inspect.signature(packenv.workload).parameters} & {*inspect.signature(read_trace).parameters, "toy"}
assert "toy" in OF_ROWS
arrived = []
read = workload_of_trace.read_trace
def reader(source, choice, reading):
    arrived.append(reading.toy)
    return read(source, choice, reading=reading)
workload_of_trace.read_trace = reader
packenv.workload(sys.argv[1], servers=2, toy="bear")
try:
    packenv.workload("paper/fig4b", toy="bear")
except packenv.InputError as problem:
    assert "`toy` goes with a trace" in str(problem), problem
for command in ("evaluate", "plan", "judge", "capacity", "trace describe"):
    try:
        main([*command.split(), "--help"])
    except SystemExit:
        pass
main(["evaluate", sys.argv[1], "--servers", "2", "--slot-seconds", "1", "--toy", "cat", "-p", "fifo-ff", "--drain"])
print("arrived", *arrived)
"""


def test_a_new_option_is_one_line() -> None:
    run = subprocess.run([sys.executable, "-c", TOY, str(CASES / "tasks.csv")], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("--toy") == 5 and run.stdout.splitlines()[-1] == "arrived bear cat"


def test_the_public_surface_has_every_option() -> None:
    names = [item.name for item in fields(Reading)]
    assert {*names} <= {*inspect.signature(packenv.workload).parameters}
    assert [*inspect.signature(read_trace).parameters] == [
        "source", "resources", "columns", "time_unit", "partition", "finished_only",
    ]  # fmt: skip


def test_columns_are_a_text_or_a_mapping() -> None:
    file = str(CASES / "times-end-as-duration.csv")
    text = "start_time_s=Submitted,end_time_s=End,cpu=Cores"
    mapping = dict(pair.split("=") for pair in text.split(","))
    for columns in (text, mapping):
        jobs = packenv.workload(file, servers="2x4", slot_seconds=1, columns=columns).jobs
        assert jobs is not None and jobs.service.tolist() == [10, 10, 10]
