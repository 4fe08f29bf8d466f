"""One agent on random workloads that nobody trained or chose it on, beside BF-J/S and the best of six policies on each.

    python experiments/any_workload.py                        # agent:any on the 200 workloads it is judged on
    python experiments/any_workload.py --log judged.jsonl     # goes on where it stopped
    python experiments/any_workload.py --family choice --workloads 50 --only -p agent:fig4b -p agent:./any-40
    python experiments/any_workload.py --weights --workloads 8 --seeds 2    # without each term of its score, one at a time

Each policy plays the same jobs of each workload. Ratios are of mean queues, to both of which a tenth of a task is added, as
queues that short hardly differ. A policy that falls behind in some run is unstable there, which is counted and not averaged.
A few workloads on which best fit is locked carry the geometric mean: the median and the quartiles stand beside it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from agents.random_workloads import FAMILIES, random_workload
from packenv.errors import InputError
from packenv.learning.agents.networks import TERM_NAMES
from packenv.learning.agents.saved import load_agent, save_agent
from packenv.results.stability import UNSTABLE, combine
from packenv.runs.log import RunLog
from packenv.runs.measured import Measured
from packenv.runs.run import by_policy, runs_of
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import Interval, certainly_above, interval, ratio_of_means
from packenv.theory.capacity.max_workload import resolved
from packenv.workloads.workload import Workload

AGENT, REFERENCE = "agent:any", "bf-js"
OTHERS = ("vqs", "vqs-bf", "bf-s", "quickswap", "msr:backfill")  # with BF-J/S, those whose best is the standard
FIRST_SEED = 4_000_000  # jobs that neither training nor a choice has seen
WORKLOADS, SEEDS, TASKS, TURNOVERS = 200, 4, 30_000, 25  # a run has so many tasks, and lasts so many mean services at least
QUICK_WORKLOADS, QUICK_SEEDS, QUICK_TASKS = 3, 2, 2000
FLOOR = 0.1  # tasks
LOSS = 1.02


@dataclass(frozen=True)
class Game:
    """What policies did on a workload."""

    workload: Workload
    runs: Mapping[str, Sequence[Measured]]

    def unstable(self, policy: str) -> bool:
        return combine(run.verdict for run in self.runs[policy]).kind == UNSTABLE

    def queues(self, policy: str) -> list[float]:
        return [run.values["mean_queue"] + FLOOR for run in self.runs[policy]]

    def ratio(self, policy: str, other: str = REFERENCE) -> Interval:
        return ratio_of_means(self.queues(policy), self.queues(other))

    def best(self, policies: Sequence[str]) -> str | None:
        """The policy with the shortest mean queue of those that are not unstable."""
        steady = [policy for policy in policies if not self.unstable(policy)]
        return min(steady, key=lambda policy: np.mean(self.queues(policy)), default=None)


def play(workload: Workload, policies: Sequence[str], first: int, seeds: int, tasks: int, log: RunLog) -> Game:
    """All policies on the same jobs."""
    known = resolved(workload)
    slots = round(max(tasks / known.rate, TURNOVERS * known.mean_service))
    runs = runs_of(known, policies, range(first, first + seeds), slots)
    with RunOptions(1) as options, options.runner(most=1) as runner:
        return Game(known, by_policy(policies, log.complete(runs, runner, known.name)))


def described(game: Game) -> str:
    workload = game.workload
    laws = (type(law).__name__ for law in (workload.sizes, workload.service, workload.arrivals))
    return f"{workload.name} ({len(workload.servers)} servers, {', '.join(laws)}, load {workload.load:.3f})"


def summary(games: Sequence[Game], policy: str, others: Sequence[str]) -> str:
    """A row: the geometric mean of the ratios, their quartiles, how many are certainly above LOSS, how often it is the best."""
    compared = [game for game in games if not game.unstable(policy) and not game.unstable(REFERENCE)]
    mean = geometric_mean(game.ratio(policy) for game in compared)
    low, median, high = quartiles(game.ratio(policy) for game in compared)
    losses = sum(certainly_above(game.ratio(policy), LOSS) for game in compared)
    standard = [(game, game.best(others)) for game in games]
    possible = [(game, best) for game, best in standard if best is not None]
    best = [(game, other) for game, other in possible if not game.unstable(policy)]
    reached = sum(round(game.ratio(policy, other).mean or 1.0, 2) <= 1.0 for game, other in best)
    of_best = geometric_mean(game.ratio(policy, other) for game, other in best)
    share, middle = f"{reached} of {len(possible)}", f"{median:.2f} ({low:.2f}, {high:.2f})"
    falls = sum(game.unstable(policy) for game in games)
    return f"| `{policy}` | {mean} ({len(compared)}) | {middle} | {losses} | {of_best} | {share} | {falls} |"


def geometric_mean(ratios: Iterable[Interval]) -> Interval:
    logs = interval(float(np.log(ratio.mean or 1.0)) for ratio in ratios)
    return Interval(*(None if end is None else float(np.exp(end)) for end in logs))


def quartiles(ratios: Iterable[Interval]) -> list[float]:
    """The ratio that a quarter, half and three quarters of the workloads are below; none of no workload."""
    means = [ratio.mean for ratio in ratios if ratio.mean is not None]
    return [float(value) for value in np.quantile(means, [0.25, 0.5, 0.75])] if means else [float("nan")] * 3


def without_each_term(
    name: str, workloads: Sequence[Workload], first: int, seeds: int, tasks: int, log: RunLog
) -> tuple[dict[str, str], list[Game]]:
    """By term, the agent whose weights of it are zero, and what all did on the same jobs as the agent. Raises InputError."""
    agent = load_agent(name.removeprefix("agent:"))
    if agent.network != "linear":
        raise InputError(f"{name}: --weights reads linear networks, not {agent.network}")
    about = {key: value for key, value in agent.about.items() if key not in ("format", "weights")}
    with TemporaryDirectory() as folder:
        policies = {}
        for place, term in enumerate(TERM_NAMES):
            weights = agent.weights["actor.weights"].copy()
            weights[:, place] = 0
            save_agent(f"{folder}/{place}", about, {"actor.weights": weights})
            policies[term] = f"agent:{folder}/{place}"
        games = [play(workload, [REFERENCE, name, *policies.values()], first, seeds, tasks, log) for workload in workloads]
    return policies, games


def print_weights(name: str, without: Mapping[str, str], games: Sequence[Game]) -> None:
    """A row for each term, those that are missed most first. Unstable queues count too: they are what is to be seen."""
    weights = load_agent(name.removeprefix("agent:")).weights["actor.weights"]  # (2, terms)
    over = {policy: geometric_mean(game.ratio(policy, name) for game in games) for policy in without.values()}
    print(f"| {len(games)} workloads, `{name}` | weight | per waiting | over `{REFERENCE}` | over the whole | unstable |")
    print("|---|--:|--:|--:|--:|--:|")
    rows = sorted(without.items(), key=lambda each: -(over[each[1]].mean or 0.0))
    for term, policy in [("", name), *rows]:
        place = TERM_NAMES.index(term) if term else None
        own = ["", ""] if place is None else [f"{weight:.2f}" for weight in weights[:, place]]
        mean, falls = geometric_mean(game.ratio(policy) for game in games), sum(game.unstable(policy) for game in games)
        print(f"| {f'without {term}' if term else 'the whole'} | {' | '.join(own)} | {mean} | {over.get(policy, 1)} | {falls} |")


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-p", "--policy", action="append", default=[], metavar="NAME", help=f"to be judged (default: {AGENT})")
    parser.add_argument("--only", action="store_true", help=f"beside {REFERENCE} alone, not the other policies")
    parser.add_argument("--family", choices=[*FAMILIES], default="judged", help="which random workloads (default: judged)")
    parser.add_argument("--workloads", type=int, metavar="N", help=f"the first so many (default: {WORKLOADS})")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first of them (default: 0)")
    parser.add_argument("--seeds", type=int, metavar="N", help=f"runs of a policy on a workload (default: {SEEDS})")
    parser.add_argument("--weights", action="store_true", help="without each term of the agents' scores, one at a time")
    parser.add_argument("--log", type=Path, metavar="FILE", help="keep finished runs, and go on from there")
    parser.add_argument("--quick", action="store_true", help="three workloads and short runs: a first look, not a result")
    options = parser.parse_args(arguments)
    usual = (QUICK_WORKLOADS, QUICK_SEEDS, QUICK_TASKS) if options.quick else (WORKLOADS, SEEDS, TASKS)
    count, seeds = options.workloads or usual[0], options.seeds or usual[1]
    judged, others = options.policy or [AGENT], [REFERENCE, *(() if options.only else OTHERS)]
    log, games = RunLog(options.log), []
    if options.weights:
        workloads = [random_workload(options.family, number) for number in range(count)]
        for policy in judged:
            print_weights(policy, *without_each_term(policy, workloads, FIRST_SEED, seeds, usual[2], log))
        return
    for number in range(options.first, options.first + count):
        workload = random_workload(options.family, number)
        games.append(play(workload, [*dict.fromkeys([*others, *judged])], FIRST_SEED, seeds, usual[2], log))
        ratios = ", ".join(f"{policy} {games[-1].ratio(policy)}" for policy in judged)
        print(f"{described(games[-1])}: {ratios}", file=sys.stderr, flush=True)
    heads = f"over `{REFERENCE}` | median (quartiles) | > {LOSS} | over the best | ≤ 1.00 of it | unstable"
    print(f"| {count} workloads, {seeds} seeds | {heads} |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for policy in [*judged, *others]:
        print(summary(games, policy, others))
    for policy in judged:
        for game in games:
            if not game.unstable(policy) and not game.unstable(REFERENCE) and certainly_above(game.ratio(policy), LOSS):
                print(f"`{policy}` above {LOSS}: {described(game)}: {game.ratio(policy)}")
            if game.unstable(policy) and not game.unstable(REFERENCE):
                print(f"`{policy}` unstable, {REFERENCE} not: {described(game)}")


if __name__ == "__main__":
    main()
