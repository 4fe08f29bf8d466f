"""Agents for whole jobs against all policies that know jobs, each with its best parameters: at home, elsewhere, weight by weight.

    python experiments/whole_job_agents.py                                  # all agents for whole jobs that come with packenv
    python experiments/whole_job_agents.py --agent runs/mine/agent --workload analytics --log agents.jsonl
    python experiments/whole_job_agents.py --weights                        # without each of their features, one at a time
    python experiments/whole_job_agents.py --mixes judged --agent jobs      # on random mixes of jobs that it never met

For each measure the best parameters of a policy are chosen on other tables than those reported, and neither has been seen in
training or its evaluations. Numbers are the agent's mean over the policy's on the same tables, with 95 % intervals: below 1 the
agent is better. Elsewhere: other numbers of servers, other demands, and durations that are believed wrong by up to a half. With
`--weights` the weights of a feature are set to zero, and numbers are means without it over means with it: above 1 it is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import packenv
from agents.random_jobs import JOB_FAMILIES, random_jobs
from packenv.errors import InputError
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.saved import load_agent, pretrained_agents, save_agent
from packenv.learning.agents.weights import with_later_features
from packenv.runs.leaderboard import problem_of
from packenv.runs.log import RunLog
from packenv.runs.measured import Measured
from packenv.runs.measures import COMPLETION, JOBS, ranked_measures
from packenv.runs.run import Run, by_policy, runs_of
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import interval, ratio, ratio_of_means
from packenv.theory.completion.bound import completion_bound
from packenv.units import UNIT
from packenv.workloads.estimates import misjudged
from packenv.workloads.named.analytics import analytics
from packenv.workloads.named.dag import dag
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]

REPORTED, CHOSEN = 2_000_000, 3_000_000  # first seeds: of the tables reported, and of those on which parameters are chosen
SEEDS, QUICK_SEEDS, CHOOSING = 16, 2, 8
MIXES, QUICK_MIXES, SEEDS_OF_MIX = 50, 2, 2
GRID: dict[str, tuple[str, ...]] = {
    "tetris": tuple(f"tetris:f={f},m={m}" for f in (0, 0.25) for m in (0, 0.5, 1, 2, 4, 100)),
    "drf": ("drf",),
    "price": ("price", "price:welfare=1"),
    "srpt": ("srpt", "srpt:total"),
    "critical-path": ("critical-path",),
    "most-work": ("most-work",),
    "weighted-fair": tuple(f"weighted-fair:alpha={alpha}" for alpha in (-2, -1, -0.5, 0, 0.5)),
    "graphene": tuple(f"graphene:long={long},large={large}" for long in (0.3, 0.5, 0.7) for large in (0.3, 0.5)),
    "bf-js": ("bf-js",),
    "fifo": ("fifo:blocking=false",),
}
"""By policy, the parameters that are tried; `fifo:blocking=false` backfills."""
OF_JOBS = ranked_measures(JOBS)
OF_DATA = {
    "tetris": tuple(f"{policy},remote={remote}" for policy in GRID["tetris"] for remote in (0, 0.1, 0.4, 0.9)),
    "delay": ("delay", "delay:interval=1", "delay:interval=10", "delay:interval=30", "delay-dynamic"),
}
"""And on tables that say where data lie."""
OF_VALUE = {"priority": ("priority",)}
ANY_JOBS, ANYWHERE = "jobs", "random jobs"  # an agent, and its home: random mixes
OF_MIX = "tetris", "best", "chosen"
UNTUNED = ("tetris:f=0,m=1", "tetris:f=0,m=2", "tetris:f=0,m=4", "srpt", "graphene:long=0.5,large=0.5")
OF_PLACES = ",remote=0.4"
"""Policies with the same parameters on all mixes, and one more of Tetris where data have places."""
QUICK_GRID = {"tetris": ("tetris:f=0,m=1", "tetris:f=0,m=0"), "bf-js": ("bf-js",)}


def grid_for(workload: Workload, quick: bool) -> dict[str, tuple[str, ...]]:
    """The policies that can run on the workload, with the parameters to try."""
    assert workload.jobs is not None
    if quick:
        return QUICK_GRID
    grid = GRID | (OF_DATA if workload.jobs.home is not None else {}) | (OF_VALUE if workload.jobs.value is not None else {})
    return {name: tried for name, tried in grid.items() if problem_of(Run(workload, tried[0])) is None}


def elsewhere(name: str, home: Workload) -> dict[str, Workload]:
    """Settings in which the agent was not trained."""
    found: dict[str, Workload] = {}
    if name == "analytics":
        found = {f"{servers} servers": analytics(jobs=4 * servers, servers=servers) for servers in (10, 500)}
        found |= {"independent demands": analytics(kinds=False), "two resources": analytics(resources=2)}
    elif name == "dag":
        found = {f"{servers} servers": dag(jobs=20 * servers, servers=servers) for servers in (5, 50)}
    elif name.startswith("price/"):
        found = {"10 machines": home.with_(servers="10x50:50"), "an abundant resource": packenv.workload("price/abundant")}
        found |= {other: packenv.workload(other) for other in ("price/fig5", "price/fig8") if other != name}
    return found | {"durations wrong by up to a half": misjudged(home, 0.5)}


class Player:
    """Makes runs of whole tables, and keeps them in a log."""

    def __init__(self, processes: int | None, log: Path | None) -> None:
        self.options, self.log = RunOptions(processes), RunLog(log)

    def play(self, workload: Workload, policies: Sequence[str], first: int, seeds: int) -> dict[str, list[Measured]]:
        """By policy, what is measured of each seed. A table that is not drawn by seed is one."""
        count = seeds if workload.draw is not None else 1
        runs = runs_of(workload, policies, range(first, first + count), options={"drain": True, "schedule": True})
        with self.options as made, made.runner(most=len(runs)) as runner:
            return by_policy(policies, self.log.complete(runs, runner, workload.name))


def means(found: Sequence[Measured], key: str) -> list[float | None]:
    return [each.values[key] for each in found]


def compare(player: Player, agent: str, workload: Workload, title: str, seeds: int, quick: bool) -> None:
    """Print the agent's measures, and their ratios to those of each policy with the parameters that were best elsewhere."""
    grid = grid_for(workload, quick)
    tried = player.play(workload, [policy for own in grid.values() for policy in own], CHOSEN, QUICK_SEEDS if quick else CHOOSING)

    def best(name: str, key: str) -> str:
        return min(grid[name], key=lambda policy: interval(means(tried[policy], key)).mean or np.inf)

    chosen = {(name, measure.key): best(name, measure.key) for name in grid for measure in OF_JOBS}
    found = player.play(workload, list(dict.fromkeys([agent, *chosen.values()])), REPORTED, seeds)
    print(f"\n| {title}, {len(found[agent])} tables | {' | '.join(measure.heading for measure in OF_JOBS)} |\n|---|--:|--:|--:|")
    own = {measure.key: means(found[agent], measure.key) for measure in OF_JOBS}
    print(f"| `{agent}` | {' | '.join(str(interval(values)) for values in own.values())} |")
    for name in grid:
        cells = []
        for measure in OF_JOBS:
            policy = chosen[name, measure.key]
            knobs = policy.partition(":")[2]
            over = ratio_of_means(own[measure.key], means(found[policy], measure.key))
            cells.append(f"{over}{f' ({knobs})' if knobs else ''}")
        print(f"| over `{name}` | {' | '.join(cells)} |")
    bounds = [completion_bound(workload.at(run.seed)).mean for run in found[agent]]
    print(f"| over the lower bound | {ratio_of_means(own[COMPLETION], bounds)} | – | – |", flush=True)


def judge_on_mixes(player: Player, agents: Sequence[str], family: str, mixes: int, seeds: int, quick: bool) -> None:
    """Print how the agents, and each policy with the parameters that are best on a mix, compare with Tetris and with the best;
    and the agents over policies whose parameters are the same on all mixes.
    """
    rows: list[dict[str, Any]] = []  # by mix, mean completion time by agent, and by policy with its best parameters
    untuned: list[dict[str, float]] = []  # by mix, that of UNTUNED
    for number in range(mixes):
        workload = random_jobs(family, number)
        grid = grid_for(workload, quick)
        policies = [policy for tried in grid.values() for policy in tried]
        runs = player.play(workload, [*agents, *policies], REPORTED, seeds)
        times = {policy: np.array([np.inf if x is None else x for x in means(runs[policy], COMPLETION)]) for policy in runs}
        least = {name: min(float(times[policy].mean()) for policy in tried) for name, tried in grid.items()}
        over = {
            "best": min(least.values()),
            "chosen": chosen_elsewhere([times[policy] for policy in policies]) if seeds > 1 else None,
        }
        rows.append({agent: float(times[agent].mean()) for agent in agents} | least | over)
        runs_of_untuned = {policy: times.get(policy + OF_PLACES, times.get(policy)) for policy in UNTUNED}
        untuned.append({policy: float(found.mean()) for policy, found in runs_of_untuned.items() if found is not None})
        ratios = ", ".join(f"{agent} {rows[-1][agent] / over['best']:.3f}" for agent in agents)
        about = f"{workload.name} ({len(workload.servers)} servers, {workload.D} resources)"
        print(f"{about}: over the best, {min(least, key=least.__getitem__)}: {ratios}", file=sys.stderr, flush=True)
    print(
        f"| {mixes} mixes, {seeds} tables each | over `tetris` | over the best | ≤ 1.00 of it | over the best on other tables |"
    )
    print("|---|--:|--:|--:|--:|")
    for name in [name for name in dict.fromkeys(name for row in rows for name in row) if name not in ("best", "chosen")]:
        of_name = [row for row in rows if name in row]
        tetris, best, chosen = (ratio([row[name] for row in of_name], [row[other] for row in of_name]) for other in OF_MIX)
        reached = sum(round(row[name] / row["best"], 2) <= 1.0 for row in of_name)
        print(f"| `{name}` | {tetris} | {best} | {reached} of {len(of_name)} | {chosen} |")
    everywhere = [policy for policy in UNTUNED if all(policy in row for row in untuned)]
    print(f"\n| over | {' | '.join(f'`{policy}`' for policy in everywhere)} |\n|---{'|--:' * len(everywhere)}|")
    for agent in agents:
        own = [row[agent] for row in rows]
        over_untuned = [str(ratio(own, [row[policy] for row in untuned])) for policy in everywhere]
        print(f"| `{agent}` | {' | '.join(over_untuned)} |")


def chosen_elsewhere(times: Sequence[Floats]) -> float:
    """Mean over tables of what the policy has that is the best in the mean of the others; `times`: of each policy, (tables,)."""
    table = np.array(times)  # (policies, tables)
    best = [int(np.delete(table, n, axis=1).mean(axis=1).argmin()) for n in range(table.shape[1])]
    return float(table[best, np.arange(table.shape[1])].mean())


def without_each(agent: SavedAgent) -> Iterator[tuple[str, float | None, SavedAgent]]:
    """By feature that counts, its weight (of sums, without sign), and the agent with its weights set to zero."""
    layout = agent.layout(np.full((1, 1), UNIT))
    of_action, of_context = layout.features.of_action, layout.features.of_context
    features, context = len(of_action), len(of_context)
    names = [*(each.name for each in of_action), *(f"{each.name} (cluster)" for each in of_context)]
    about = agent.about | {"network": agent.about["network"] | {"context": context}}
    for n, name in enumerate(names):
        weights = with_later_features(agent.weights, features, context, agent.context)
        weights, weight = {key: value.copy() for key, value in weights.items()}, None
        if agent.network in ("sum", "varying"):
            keys = ("actor.of_action", "actor.per_waiting") if n < features else ("actor.of_context",)
            rows, place = [weights[key] for key in keys if key in weights], n if n < features else n - features
            weight = sum(abs(float(row[place])) for row in rows)
            for row in rows:
                row[place] = 0.0
        elif agent.network == "shared":
            weights["actor.first.weight"][:, n] = 0.0
        else:
            raise InputError(f"{agent.name}: --weights reads sum, varying and shared networks, not {agent.network}")
        if weight != 0:
            yield name, weight, SavedAgent(agent.name, about, weights)


def ablate(player: Player, agent: str, workload: Workload, seeds: int) -> None:
    """Print by how much each measure is longer without each feature."""
    with TemporaryDirectory() as folder:
        weights: dict[str, tuple[str, float | None]] = {}
        for n, (name, weight, one) in enumerate(without_each(load_agent(agent.removeprefix("agent:")))):
            save_agent(Path(folder) / str(n), {k: v for k, v in one.about.items() if k not in ("format", "weights")}, one.weights)
            weights[f"agent:{Path(folder) / str(n)}"] = name, weight
        found = player.play(workload, [agent, *weights], REPORTED, seeds)
    print(f"\n| `{agent}` without | weight | {' | '.join(measure.heading for measure in OF_JOBS)} |\n|---|--:|--:|--:|--:|")
    for policy, (name, weight) in weights.items():
        losses = [ratio_of_means(means(found[policy], m.key), means(found[agent], m.key)) for m in OF_JOBS]
        print(f"| {name} | {'–' if weight is None else f'{weight:.3g}'} | {' | '.join(map(str, losses))} |", flush=True)


def homes(agents: Sequence[str], workload: str | None) -> list[tuple[str, str]]:
    """The agents for whole jobs among those named, or that come with packenv, and the workload that each is for."""
    found = []
    for name in agents or pretrained_agents():
        agent = load_agent(name)
        about: Any = agent.about.get("workload")
        if agent.definition.follows_jobs:
            found.append((agent.name, workload or str(about.get("name") if isinstance(about, dict) else about)))
        elif agents:
            raise InputError(f"{agent.name} is not an agent for whole jobs: it acts in {agent.kind}")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare agents, or take their features away one by one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", action="append", default=[], metavar="NAME", help="agent, by name or path; repeat for more")
    parser.add_argument("--workload", metavar="NAME", help="where it is at home (default: where it was trained)")
    parser.add_argument("--weights", action="store_true", help="set the weights of each feature to zero, one at a time")
    parser.add_argument("--seeds", type=int, metavar="N", help=f"tables that are reported (default: {SEEDS})")
    parser.add_argument("--log", type=Path, metavar="FILE", help="keep finished runs, and go on from there")
    parser.add_argument("--processes", type=int, metavar="N", help="runs side by side (default: one per core)")
    parser.add_argument("--quick", action="store_true", help="few policies and seeds, at home only: a first look, not a result")
    parser.add_argument("--mixes", choices=[*JOB_FAMILIES], metavar="FAMILY", help="on random mixes of this family instead")
    parser.add_argument("--count", type=int, metavar="N", help=f"the first so many mixes (default: {MIXES})")
    said = parser.parse_args(arguments)
    player, seeds = Player(said.processes, said.log), said.seeds or (QUICK_SEEDS if said.quick else SEEDS)
    count = said.count or (QUICK_MIXES if said.quick else MIXES)
    of_mix = min(seeds, said.seeds or SEEDS_OF_MIX)
    if said.mixes is not None:
        agents = [agent for agent, _ in homes(said.agent or [ANY_JOBS], None)]
        judge_on_mixes(player, agents, said.mixes, count, of_mix, said.quick)
        return
    found = homes(said.agent, said.workload)
    if not found:
        print("no agent for whole jobs comes with packenv: name one with --agent")
    for agent, name in found:
        if name == ANYWHERE and not said.weights:
            judge_on_mixes(player, [agent], "judged", count, of_mix, said.quick)
            continue
        home = random_jobs("judged", 0) if name == ANYWHERE else packenv.workload(name)
        if said.weights:
            ablate(player, agent, home, seeds)
            continue
        compare(player, agent, home, f"`{name}`", seeds, said.quick)
        for where, workload in ({} if said.quick else elsewhere(name, home)).items():
            compare(player, agent, workload, f"`{name}`, {where}", seeds, said.quick)


if __name__ == "__main__":
    main()
