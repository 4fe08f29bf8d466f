"""How often verdicts are wrong: packenv's, and two rules of a simulator of LLM inference, on queues of known load.

Every run is a queue of this file: first come, first served, on equal servers. A cell is a service law, a number of servers, a
kind of arrivals and a number of arrivals, on one side of load 1; its runs share the loads of that side evenly. Numbers below the
table count wrong answers (stable above load 1, unstable below) and the runs that were decided.

    python -m experiments.verdicts --runs 400
    python -m experiments.verdicts --runs 40 --arrivals 500 2000      # a first look
    python -m experiments.verdicts --arrivals 50000 --log cells.jsonl # may be interrupted, and continued with more runs

The other rules are inference-sim's `composite` and `backlog-drift` (sim/saturation, September 2026), which see completions until
the last arrival.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

import packenv

Floats = NDArray[np.float64]

SERVICES = ("exponential", "fixed", "lognormal 1.5", "lognormal 2.5", "pareto 1.5")
SERVERS = (1, 16, 256)
KINDS = ("poisson", "bursty", "daily")
ARRIVALS = (500, 2_000, 6_000, 50_000)
BELOW, ABOVE = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98), (1.02, 1.05, 1.1, 1.2, 1.5)
DAY, A_DAY = 86_400.0, 500  # seconds, and arrivals in a day
SOJOURN, SWING = 25.0, 0.75  # of the bursty kind: mean interarrival times in a state, and how far the rates are from their mean
DAILY_SWING = 0.5
LETTERS = {"stable": "s", "unstable": "u", "undecided": "d"}


def services(law: str, count: int, rng: np.random.Generator) -> Floats:
    """(count,) service times with mean 1."""
    name, _, shape = law.partition(" ")
    if name == "exponential":
        return rng.exponential(size=count)
    if name == "fixed":
        return np.ones(count)
    if name == "lognormal":
        sigma = float(shape)
        return np.exp(sigma * rng.standard_normal(count) - sigma**2 / 2)
    alpha = float(shape)
    return rng.random(count) ** (-1 / alpha) * (alpha - 1) / alpha


def arrivals(kind: str, count: int, rng: np.random.Generator) -> Floats:
    """(count,) arrival times with mean distance 1, sorted."""
    clock = np.cumsum(rng.exponential(size=count))  # Poisson in the time in which the rate is 1
    if kind == "poisson":
        return clock
    if kind == "daily":
        grid = np.linspace(0, 2 * count + A_DAY, 40 * (2 * count // A_DAY + 1) + 1)
        phase = 2 * np.pi / A_DAY
        passed = grid - DAILY_SWING * np.sin(phase * grid) / phase  # the night comes first
        return np.interp(clock, passed, grid)
    states = int(4 * count / SOJOURN) + 200
    stays = rng.exponential(SOJOURN, states)
    rates = 1 + SWING * (1 - 2 * ((np.arange(states) + rng.integers(2)) % 2))
    passed = np.concatenate([[0.0], np.cumsum(stays * rates)])
    return np.interp(clock, passed, np.concatenate([[0.0], np.cumsum(stays)]))


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def starts(arrival: Floats, service: Floats, servers: int) -> Floats:
    """(n,) when each task starts: the first server that is free takes the task that came first."""
    free = [0.0] * servers
    begin = np.empty(len(arrival))
    for i in range(len(arrival)):
        begin[i] = max(arrival[i], free[0])
        heapq.heapreplace(free, begin[i] + service[i])
    return begin


def composite(arrival: Floats, end: Floats) -> str:
    """The rule of `CompositeDetector`: a deficit of completions, or latencies that grow from quarter to quarter."""
    over = end <= arrival[-1]
    latency = (end - arrival)[over][np.argsort(end[over], kind="stable")]
    floor, trend, n = 1 / math.sqrt(len(arrival)), 0.0, len(latency)
    if n >= 2:
        first, second = latency[: n // 2].mean(), latency[n // 2 :].mean()
        trend = max(0.0, (second - first) / first)
        ends = [*(n // 4 * np.arange(4)), n]
        quarters = [latency[a:b].mean() for a, b in itertools.pairwise(ends)] if n >= 20 else [0.0, 1.0]
        if not (np.diff(quarters) > 0).all():
            trend = 0.0
    score = max(1 - n / len(arrival), min(trend, 1.0))
    return "stable" if score < floor else "unstable" if trend > floor else "undecided"


def backlog_drift(arrival: Floats, end: Floats, window: float = 60.0) -> str:
    """The rule of `BacklogDriftDetector`: the slope of the requests in flight at the ends of windows of a minute."""
    edges = np.arange(1, math.floor(arrival[-1] / window) + 2) * window
    edges[-1] = arrival[-1]
    flying = np.searchsorted(arrival, edges, "right") - np.searchsorted(np.sort(end), edges, "right")
    if len(flying) < 2:
        return "stable"
    x = np.arange(len(flying)) - (len(flying) - 1) / 2
    slope, floor = float(x @ flying / (x @ x)), 1 / math.sqrt(len(arrival))
    return "stable" if slope <= floor else "unstable" if slope > 3 * floor else "undecided"


RULES: dict[str, Callable[[Floats, Floats, Floats], str]] = {
    "packenv": lambda arrival, start, end: packenv.verdict(*(times * DAY / A_DAY for times in (arrival, start, end))).kind,
    "composite": lambda arrival, start, end: composite(arrival, end),
    "backlog drift": lambda arrival, start, end: backlog_drift(arrival, end),
}


def cell(law: str, servers: int, kind: str, count: int, loads: Sequence[float], runs: range, seed: int) -> dict[str, str]:
    """A letter for each run and rule: s stable, u unstable, d undecided. The runs take the loads in turn."""
    answers = dict.fromkeys(RULES, "")
    for run in runs:
        load = loads[run % len(loads)]
        rng = np.random.default_rng([seed, run, count, servers, SERVICES.index(law), KINDS.index(kind), round(1000 * load)])
        arrival = arrivals(kind, count, rng)
        service = services(law, count, rng) * load * servers
        start = starts(arrival, service, servers)
        for rule, answer in RULES.items():
            answers[rule] += LETTERS[answer(arrival, start, start + service)]
    return answers


def logged(path: Path | None) -> dict[tuple[Any, ...], dict[str, str]]:
    """The answers of earlier commands: {(seed, side, law, servers, kind, arrivals): {rule: letters}}."""
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for line in path.read_text().splitlines() if path and path.exists() else ():
        entry = json.loads(line)
        cells[tuple(entry["cell"])] = entry["answers"]
    return cells


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400, help="Runs of a cell on each side of load 1 [default: 400].")
    parser.add_argument("--arrivals", type=int, nargs="+", default=ARRIVALS, help="Arrivals of a run.")
    parser.add_argument("--services", nargs="+", default=SERVICES, choices=SERVICES, help="Laws of services.")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, help="Kinds of arrivals.")
    parser.add_argument("--seed", type=int, default=1, help="Seed of all runs.")
    parser.add_argument("--log", type=Path, help="File of the answers, to continue with the same or more runs.")
    options = parser.parse_args(arguments)
    totals: dict[tuple[str, str, str], list[int]] = {}
    worst: dict[tuple[str, str], tuple[float, str]] = {}
    cells = logged(options.log)
    for count in options.arrivals:
        for law, servers, kind in itertools.product(options.services, SERVERS, options.kinds):
            for side, wrong, right, loads in (("below", "u", "s", BELOW), ("above", "s", "u", ABOVE)):
                # Answers of the log, and of runs that are not in it.
                key = (options.seed, side, law, servers, kind, count)
                answers = cells.get(key, dict.fromkeys(RULES, ""))
                done = len(answers["packenv"])
                if done < options.runs:
                    new = cell(law, servers, kind, count, loads, range(done, options.runs), options.seed)
                    answers = {rule: answers[rule] + new[rule] for rule in RULES}
                    if options.log:
                        with options.log.open("a") as file:
                            file.write(json.dumps({"cell": key, "answers": answers}) + "\n")
                # Wrong answers, right ones and runs of each group.
                groups = ["all", law, f"{servers} servers", kind, f"{count:,} arrivals"]
                for rule in RULES:
                    letters = answers[rule][: options.runs]
                    for group in groups:
                        add(totals, (group, rule, side), letters, wrong, right)
                    if kind == "poisson" and law in SERVICES[:2] and count == 6_000:
                        at = letters[loads.index(1.2) :: len(loads)] if 1.2 in loads else ""
                        add(totals, ("6,000 arrivals, light tails, load 1.2", rule, side), at, wrong, right)
                    share_and_cell = letters.count(wrong) / len(letters), f"{law}, {servers} servers, {kind}, {count:,}"
                    worst[rule, side] = max(worst.get((rule, side), (0.0, "")), share_and_cell)
        runs = 2 * totals["all", "packenv", "below"][2]
        print(f"\nUp to {count:,} arrivals, {runs:,} runs, {time.process_time():.0f} s of processor\n")
        print(table_of(totals), flush=True)
        for (rule, side), (share, name) in worst.items():
            print(f"worst cell of {rule}, load {side} 1: {share:.1%} wrong, {name}", flush=True)


def add(totals: dict[tuple[str, str, str], list[int]], key: tuple[str, str, str], letters: str, wrong: str, right: str) -> None:
    """Add to the wrong answers, the right ones and the runs of a group."""
    numbers = letters.count(wrong), letters.count(right), len(letters)
    totals[key] = [a + b for a, b in zip(totals.get(key, [0, 0, 0]), numbers, strict=True)]


def table_of(totals: dict[tuple[str, str, str], list[int]]) -> str:
    """A line for each group: of each rule the shares of false alarms and of the runs that are decided."""
    head = " | ".join(f"{rule}: false unstable | false stable | decided" for rule in RULES)
    lines = [f"| | {head} |", f"|---|{'--:|' * 3 * len(RULES)}"]
    for group in dict.fromkeys(group for group, _, _ in totals):
        cells = []
        for rule in RULES:
            below, above = (totals[group, rule, side] for side in ("below", "above"))
            shares = below[0] / max(below[2], 1), above[0] / max(above[2], 1)
            decided = sum(below[:2] + above[:2]) / (below[2] + above[2])
            cells += [f"{shares[0]:.2%}", f"{shares[1]:.2%}", f"{decided:.0%}"]
        lines.append(f"| {group} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
