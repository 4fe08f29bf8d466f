"""`packenv warmup`: compile in advance, for runs and all workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from packenv.cli.options.names import POLICY
from packenv.cli.options.of_fields import JSON, options_of
from packenv.cli.options.workload import chosen_policies
from packenv.cli.outputs import check_files
from packenv.envs.registration import ENVIRONMENTS, find_definition, id_of, kind_of
from packenv.files import write_json
from packenv.options.shared import DEFAULT_POLICIES
from packenv.options.verbs import WarmupOptions

if TYPE_CHECKING:
    from packenv.workloads.workload import Workload

USUAL = "paper/fig4b"
SLOTS = 3000  # of a run: a function is compiled when it is first called
STEPS = 1000  # of an environment: enough decisions for a long queue


@click.command()
@click.argument("policies", metavar="[POLICY]...", nargs=-1, type=POLICY)
@options_of(WarmupOptions, environments=f"{', '.join(ENVIRONMENTS)}; repeat for more.")
@click.option("--json", "json_path", type=JSON, help="Write the seconds as JSON.")
def warmup(policies: tuple[str, ...], options: WarmupOptions, json_path: str | None) -> None:
    """Compile policies and environments in advance, into the cache of machine code.

    Without arguments: the policies of `packenv evaluate` and all environments. What is already compiled takes a second.

    \b
    packenv warmup
    packenv warmup bf-js agent:fig4b --env ServerFill
    packenv warmup tetris --workload analytics
    """
    check_files(json_path)
    environments = options.environments
    if not policies and not environments:
        policies, environments = DEFAULT_POLICIES, tuple(ENVIRONMENTS)
    kinds = tuple(dict.fromkeys(map(kind_of, environments)))
    from rich.console import Console

    from packenv.compiled.cache import base
    from packenv.runs.progress import announce_if_slow
    from packenv.workloads.find import workload as find_workload

    names = chosen_policies(policies) if policies else ()
    workload = find_workload(options.source or USUAL)
    console = Console(soft_wrap=True, highlight=False)
    timings: list[dict[str, Any]] = []
    usual = {kind: find_workload(default) for kind in kinds if (default := find_definition(kind).defaults.get("workload"))}
    for name, compile_it in _all(names, kinds, workload, {} if options.source else usual):
        began = time.perf_counter()
        with announce_if_slow(f"{name}: a short run"):
            compile_it()
        timings.append({"name": name, "seconds": round(time.perf_counter() - began, 2)})
        console.print(f"{name}: {timings[-1]['seconds']:.1f} s")
    console.print(f"machine code is in {base()}")
    if json_path is not None:
        write_json(json_path, {"workload": workload.name, "cache": str(base()), "compiled": timings})


def _all(
    policies: tuple[str, ...], kinds: tuple[str, ...], workload: Workload, usual: Mapping[str, Workload]
) -> Iterator[tuple[str, Callable[[], None]]]:
    for name in policies:
        yield name, partial(run_policy, name, workload)
    for kind in kinds:
        yield kind, partial(play, kind, usual.get(kind, workload))


def run_policy(name: str, workload: Workload) -> None:
    """Make a short run.

    Raises InputError if the policy does not go with the workload.
    """
    from packenv.api import simulate
    from packenv.policy import find_policy

    policy = find_policy(name)
    policy = getattr(policy, "rehearsal", policy)
    finite = workload.jobs is not None or workload.draw is not None
    simulate(workload, policy, None if finite else SLOTS, warmup=0)


def play(kind: str, workload: Workload) -> None:
    """Play short episodes of one environment and a batch, with first valid actions."""
    import gymnasium
    import numpy as np

    env = gymnasium.make(id_of(kind), workload=workload)
    many: Any = gymnasium.make_vec(id_of(kind), num_envs=2, workload=workload)
    _, info = env.reset(seed=0)
    _, infos = many.reset(seed=0)
    for _ in range(STEPS):
        *_, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
        *_, infos = many.step(np.asarray(infos["action_mask"]).argmax(axis=1))
        if terminated or truncated:
            _, info = env.reset()
