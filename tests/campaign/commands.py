"""Random command lines, drawn by Hypothesis from the commands' own definitions."""

from __future__ import annotations

import shlex
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from packenv.cli.main import COMMANDS, Commands
from packenv.cli.options.every_command import Decimal, Whole
from tests.campaign.corpus import make_corpus
from tests.campaign.failures import Failures
from tests.campaign.mutations import CANARY
from tests.campaign.processes import problems, run

SECONDS = 20.0  # a command that takes longer is interrupted, which is no failure
SKIPPED = ("bench",)  # it takes minutes, and reads nothing
SHORT = {
    "evaluate": ["--slots", "300"],
    "judge": ["--seeds", "1", "--width", "0.5"],
    "compare": ["--slots", "300", "--time", "1"],
    "leaderboard": ["--slots", "300", "--seeds", "2", "--no-judge", "-w", "paper/fig4b@0.5", "-p", "bf-js"],
    "train": ["--samples", "2000", "--population", "4", "--horizon", "500", "--judge-every", "0"],
    "optimum": ["--limit", "1"],
    "reproduce": ["--quick", "--slots", "100", "--seeds", "1"],
    "capacity": ["--seconds", "2"],
    "plan": ["--slots", "300", "--seeds", "1", "-p", "bf-js"],
    "optimal-policy": ["--most", "2", "--slots", "100", "--seeds", "1"],
    "record": ["--episodes", "1", "--horizon", "50"],
}
"""Options that make a command short; those drawn stand behind them and count."""

WORDS: dict[str, list[str]] = {
    "source": ["paper/fig4b", "small/fig3a",
        "price/fig1", "delay/racks", "slots.csv", "seconds.csv", "log.swf", "jobs.tr", "mixed.json",
        "google", "pods.csv", "folded.parquet", "absent.csv", "agent.json", ".", "", "paper/fig9", "/dev/null",
        "facebook.tsv"],
    "policies": ["bf-js", "vqs", "vqs:J=4", "vqs:J=99", "fifo-ff", "maxweight", "maxweight:types=100000", "tetris", "drf",
        "fair", "delay", "eagle", "sparrow:ratio=0", "yaq", "price", "sat", "agent:fig3a", "agent:agent",
        "replay:schedule.parquet", "replay:slots.csv", "optimal:optimal", "optimal:agent", "easy", "conservative:depth=0",
        "reserve:age=-1", "quickswap", "msr", "kmw:backfill,few=3", "msr:types=2",
        ":x", ".a:b", "os:nothing", "x", "", "bf-js:J", "vqs:J=" + "9" * 400,
        "agent:", "json:tool"],
    "first": ["bf-js", "vqs", "bf-js", "3", "3x1,2x0.5", "servers.json", "0", "agent:fig3a", "x", ""],
    "measure": ["mean wait", "p80 wait", "makespan", "utilisation", "", "p100 wait", "mean completion"],
    "wanted": ["p95 wait <= 60s", "mean wait<=1", "utilisation >= 70%", "max queue <= 0", "makespan <= 1h", "p90 wait <= 1",
        "mean wait <= 1e400", "mean queue <= -1", "", "wait", "p50 wait <= 1y", "p50 completion <= 9slots", "٣ wait <= ٣"],
    "servers": ["1", "5", "3x1,2x0.5", "3x1:0.5", "0", "-1", "9" * 30, "100000000x1", "1x1e999", "servers.json", "nodes.csv",
        "google", "machines.parquet", "absent", "x", "2x0.001", "1x0", "٣"],
    "sizes": ["uniform:0.1:0.9", "discrete:0.4@0.5,0.6@0.5", "constant:0.5", "beta:0.1:0.1", "uniform:1:0", "constant:9",
        "pareto:1:2", "discrete:", "constant:1e-300", "exponential:0.1", "x", "uniform:0.1:" + "9" * 400],
    "service": ["geometric:100", "fixed:10", "fixed:1e15", "lognormal:100:9", "pareto:1:1", "geometric:1e300", "fixed:0",
        "x:"],
    "resources": ["max", "all", "cpu", "cpu,memory", "max:cpu", "cpu,cpu", "", "x"],
    "slot_seconds": ["0.1", "1", "1e-30", "1e999999999", "0", "-1", "x", "1e15"],
    "speedup": ["1", "1.3", "1e18", "0", "x", "0.0000001"],
    "network": ["0:1,600:4", "5:1", "x", "0:-1", "5:1,5:2", "1e300:1e300"],
    "texts": ["paper/fig4b@0.5", "paper/fig4b@load=0.9,slots=9", "mixed.json@0.5", "slots.csv@servers=2", "x@", "@",
        "paper/fig3a@rate=1e99"],
    "figures": ["fig2", "fig1", "price-fig1", "x", "fig3a"],
    "figure": ["fig2"],
    "check": ["proof.json", "bound.json", "agent.json", "slots.csv"],
    "page": ["page.md", "slots.csv"],
    "environment": ["placement", "server_fill", "configuration", "x"],
    "environments": ["ServerFill", "placement", "x"],
    "way": ["ppo", "evolution", "x"],
    "options": ["order=size", "passing=true", "x=1", "x", "=", "order=" + "9" * 400],
    "logdir": ["runs", "slots.csv"],
    "start": ["fig3a", "agent", "x"],
    "path": ["slots.csv", "seconds.csv", "log.swf", "google", "absent", "machines.parquet", "jobs.tr.gz", "servers.csv"],
    "out": ["out.csv", "out.parquet", "out.json", "own-v0", "absent/own-v1", "absent/out.csv", "/dev/full", "."],
}  # fmt: skip
FILES = ["out.json", "out.png", "out.parquet", "absent/out.json", ".", "out", "/dev/full", "slots.csv/x", "out.pdf"]
WHOLES = ["0", "1", "2", "7", "-1", "100", "9" * 400, str(2**53), str(2**31), "1_0", "x", "1e3"]
DECIMALS = ["0.5", "0", "1", "-1", "0.999", "2", "1e-9", "1e300", "nan", "inf", "1_0", "x", "9" * 400]


def command_lines() -> st.SearchStrategy[list[str]]:
    """Words of a command line: a command, what makes it short, and some of its options with values good and bad."""
    return st.one_of([_lines_of(path, command) for path, command in _commands()])


def try_commands(count: int, seconds: float, number: int, out: Path) -> Counter[str]:
    """Run so many random command lines, as far as the time goes. Returns counts."""
    folder, failures, counts = out / "commands", Failures(out / "commands-failures"), Counter[str]()
    folder.mkdir(parents=True, exist_ok=True)
    pristine = folder / "pristine"
    pristine.mkdir(exist_ok=True)
    make_corpus(pristine)
    (pristine / "page.md").write_text("<!-- leaderboard -->\n<!-- /leaderboard -->\n")
    ends = time.monotonic() + seconds

    @seed(number)
    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(command_lines())
    def one(words: list[str]) -> None:
        if time.monotonic() > ends:
            raise TimeoutError
        here = folder / "here"
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(pristine, here)
        kept = {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}
        ended = run(words, here, SECONDS)
        found = problems(ended, answers=(1, 3) if words[0] == "compare" else ())
        found += ["something was executed"] if (here / CANARY).exists() else []
        found += [f"{name} is lost or changed" for name in lost(kept, here) if name not in words]
        found += [f"{path.name} is left" for path in here.iterdir() if path.name.startswith(".") and not ended.late]
        counts["interrupted" if ended.late else f"status {ended.status}"] += 1
        for problem in found:
            counts["failures"] += 1
            failures.add(f"{' '.join(words[:1])}: {problem}", f"packenv {shlex.join(words)}", ended.said[-5000:])

    with suppress(TimeoutError):
        one()
    return counts


def lost(before: dict[str, bytes], folder: Path) -> list[str]:
    """Files of the folder that are gone or have other contents."""
    return [name for name, data in before.items() if not (folder / name).exists() or (folder / name).read_bytes() != data]


def _commands() -> Iterator[tuple[list[str], click.Command]]:
    group = Commands("packenv")
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        inner = getattr(command, "commands", None)
        if inner is None and name not in SKIPPED:
            yield [name], command
        yield from (([name, each], below) for each, below in (inner or {}).items())


def _lines_of(path: list[str], command: click.Command) -> st.SearchStrategy[list[str]]:
    arguments = [_values(param) for param in command.params if isinstance(param, click.Argument)]
    options = [_option(param) for param in command.params if isinstance(param, click.Option) and param.name != "help"]
    chosen = st.lists(st.one_of(options), max_size=5) if options else st.just([])
    return st.tuples(st.tuples(*arguments), chosen).map(
        lambda drawn: [*path, *SHORT.get(path[0], []), *(word for given in drawn[1] for word in given), "--", *drawn[0]]
    )


def _option(param: click.Option) -> st.SearchStrategy[list[str]]:
    names = [*param.opts, *param.secondary_opts]
    if param.is_flag:
        return st.sampled_from(names).map(lambda name: [name])
    return _values(param).map(lambda value: [param.opts[0], value])


def _values(param: click.Parameter) -> st.SearchStrategy[str]:
    kind: Any = param.type
    if param.name in ("policy", "against", "guard", "imitate", "reference"):
        return st.sampled_from(WORDS["policies"])
    if param.name == "second":
        return st.sampled_from(WORDS["first"])
    if param.name in ("sources", "trace", "workload"):
        return st.sampled_from(WORDS["source"])
    if param.name in WORDS:
        return st.sampled_from(WORDS[param.name])
    if isinstance(kind, (Whole, Decimal)):
        return st.sampled_from(WHOLES if isinstance(kind, Whole) else DECIMALS)
    if isinstance(kind, click.Choice):
        return st.sampled_from([*kind.choices, "x"])
    return st.sampled_from(FILES)
