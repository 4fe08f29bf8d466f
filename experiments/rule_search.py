"""Search for a rule `priority(task, server, cluster)` that a person can read, by evolution, without a language model.

    python experiments/rule_search.py --out found --minutes 7 --processes 16

A rule is a sum of a few terms: a weight, and one or two named quantities of the task, the server and the cluster, each as it
is, as a root, or as a logarithm of a number of tasks. It may have guards: best fit schedules while few tasks wait, or while they
are small. Children change a weight, a quantity, a term or a guard of a parent, or take terms of two. What counts is the mean
logarithm of the mean queue over BF-J/S's on the same jobs, on `paper/fig4b` at 0.95 and on random workloads
(agents.random_workloads, those for training and choice), where queues longer than BF-J/S's count many times, and 0.01 for each
quantity. All rules of a round play the same jobs; each round has others, and keeps the best of the last. Children that begin
badly are given up early.

At the end the best play longer runs on all workloads; OUT/rules.json has what each reached, OUT/N.py its text.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

import packenv
from agents.random_workloads import random_workload
from packenv.errors import InputError
from packenv.policies import BestFit, PriorityRule
from packenv.workloads.workload import Workload

LINES = {
    "left": "server.room - task.size",
    "rest": "server.capacity - task.size",
    "filled": "cluster.room_after(left, 3)",
    "next": "cluster.room_after(left, 1)",
    "partners": "cluster.waiting_between(rest - 1 / 32, rest)",
    "companions": "cluster.waiting_between(0, rest)",
    "fitting": "cluster.waiting_between(0, left)",
    "alike": "cluster.waiting_between(task.size - width, task.size + width)",
    "root": "math.sqrt(5 / cluster.servers)",
    "used": "server.capacity - server.room",
    "mean": "cluster.waiting_size / cluster.waiting",
}
"""Quantities that take a line of their own, in the order in which they can be defined."""
SHARES = ("task.size", "left", "filled", "next", "used", "rest", "mean", "server.room", "cluster.free")
COUNTS = ("alike", "partners", "companions", "fitting", "cluster.waiting", "server.jobs")
GUARDS = {
    **{"cluster.waiting * root < {}": 10.0, "cluster.waiting < {}": 10.0, "mean < {}": 0.2},
    **{"cluster.in_service > {} * cluster.servers": 4.0, "cluster.waiting_size < {} * cluster.servers": 1.0},
}
"""While this holds best fit schedules, with a first number."""
MOST_TERMS, MOST_GUARDS = 6, 2


def shapes(quantity: str) -> list[str]:
    """How a quantity may enter a term."""
    if quantity in SHARES:
        return [quantity, f"math.sqrt({quantity})", f"{quantity} ** 2"]
    plain = [f"math.log1p({quantity} * root)", f"math.log1p({quantity})", f"{quantity} / cluster.waiting"]
    if quantity in ("cluster.waiting", "server.jobs"):
        return [plain[0], f"min({quantity}, 1)"]
    return [*plain, f"({quantity} == 0)"]


FACTORS = [shape for quantity in (*SHARES, *COUNTS) for shape in shapes(quantity)]


@dataclass(frozen=True)
class Genome:
    """A rule: terms of a weight and factors, and a guard."""

    terms: tuple[tuple[float, tuple[str, ...]], ...]
    guards: tuple[tuple[str, float], ...] = ()  # up to MOST_GUARDS, any of which is enough
    width: float = 1 / 64
    fitness: float = field(default=math.inf, compare=False)

    def source(self) -> tuple[str, tuple[float, ...]]:
        """The text, in which the numbers are parameters, and their values."""
        names = [f"w{k}" for k in range(len(self.terms))]
        total = " + ".join(" * ".join((name, *factors)) for name, (_, factors) in zip(names, self.terms, strict=True))
        values = [weight for weight, _ in self.terms]
        limits = [f"limit{k}" for k in range(len(self.guards))]
        guard = self._guard(limits)
        names, values = [*names, *limits], [*values, *(value for _, value in self.guards)]
        return self._text(total, guard, [*names, "width"]), (*values, self.width)

    def readable(self) -> str:
        """The text with its numbers."""
        signs = ("-" if weight < 0 else "+" for weight, _ in self.terms)
        products = (" * ".join((f"{abs(weight):.3g}", *factors)) for weight, factors in self.terms)
        parts = [f"{sign} {product}" for sign, product in zip(signs, products, strict=True)]
        guard = self._guard([f"{value:.3g}" for _, value in self.guards])
        text = self._text("(\n        " + "\n        ".join(parts) + "\n    )", guard, [])
        return "import math\n\n\n" + text.replace("width", f"{self.width:.3g}")

    def _guard(self, limits: Sequence[str]) -> list[str]:
        if not limits:
            return []
        conditions = " or ".join(text.format(limit) for (text, _), limit in zip(self.guards, limits, strict=True))
        return [f"    if {conditions}:", "        return task.size - server.room"]

    def _text(self, total: str, guard: Sequence[str], parameters: Sequence[str]) -> str:
        needed, text = set(), f"{total} {' '.join(guard)}"
        for name in reversed(LINES):
            if name in text.replace("task.size", "").replace("waiting_between", ""):
                needed.add(name)
                text += LINES[name]
        lines = [f"    {name} = {LINES[name]}" for name in LINES if name in needed]
        arguments = ", ".join(["task", "server", "cluster", *(f"{name}=0.0" for name in parameters)])
        first = [line for line in lines if line.split()[0] in " ".join(guard)]
        body = [*first, *guard, *(line for line in lines if line not in first), f"    return {total}"]
        return "\n".join([f"def priority({arguments}):", *body, ""])

    @property
    def length(self) -> int:
        return sum(len(factors) for _, factors in self.terms) + len(self.guards)


FIRST = Genome(((-1.0, ("math.sqrt(left)",)),))
"""Best fit: the less room is left, the better."""


def random_factor(draw: Generator) -> str:
    return FACTORS[draw.integers(len(FACTORS))]


def random_term(draw: Generator) -> tuple[float, tuple[str, ...]]:
    factors = tuple(random_factor(draw) for _ in range(1 if draw.random() < 0.75 else 2))
    return float(draw.normal() * 0.5), factors


def child_of(parent: Genome, other: Genome, draw: Generator) -> Genome:
    """A parent with one or two changes."""
    terms, guards, width = list(parent.terms), list(parent.guards), parent.width
    for _ in range(1 + (draw.random() < 0.4)):
        kind = draw.random()
        k = int(draw.integers(len(terms)))
        if kind < 0.45:  # all numbers a little, or one of them more
            spread = 0.1 if draw.random() < 0.5 else 0.0
            terms = [(weight * math.exp(spread * draw.normal()), factors) for weight, factors in terms]
            terms[k] = (terms[k][0] * math.exp(0.5 * draw.normal()) * (-1 if draw.random() < 0.05 else 1), terms[k][1])
            width = float(np.clip(width * math.exp(0.2 * draw.normal()), 1e-3, 0.2))
            guards = [(text, float(value * math.exp(0.2 * draw.normal()))) for text, value in guards]
        elif kind < 0.58 and len(terms) < MOST_TERMS:
            terms.append(random_term(draw))
        elif kind < 0.70 and len(terms) > 1:
            del terms[k]
        elif kind < 0.80:  # another quantity, or one more or less
            weight, factors = terms[k]
            more = draw.random()
            if more < 0.5:
                factors = (*factors[:-1], random_factor(draw))
            else:
                factors = (*factors, random_factor(draw)) if len(factors) == 1 else factors[:1]
            terms[k] = (weight, factors)
        elif kind < 0.90:
            text = [*GUARDS][draw.integers(len(GUARDS))]
            if guards and (len(guards) == MOST_GUARDS or draw.random() < 0.5):
                del guards[draw.integers(len(guards))]
            if draw.random() < 0.7:
                guards.append((text, float(GUARDS[text] * math.exp(0.5 * draw.normal()))))
        else:
            taken = other.terms[draw.integers(len(other.terms))]
            terms = [*terms[:k], taken, *terms[k + 1 :]] if len(terms) >= MOST_TERMS else [*terms, taken]
    return Genome(tuple(terms), tuple(guards), width)


# What a rule is worth

HOME = packenv.workload("paper/fig4b", intensity=0.95)
FLOOR, LIMIT = 0.1, 20_000
LAWS: dict[str, Workload] = {}
REFERENCE: dict[tuple[str, int, int], float] = {}


@dataclass(frozen=True)
class Round:
    """The runs that all rules make: (workload, slots, seed), the home ones first."""

    home: tuple[tuple[str, int, int], ...]
    laws: tuple[tuple[str, int, int], ...]


def slots_of(workload: Workload, tasks: int) -> int:
    return round(max(tasks / workload.rate, 10 * workload.mean_service))


def round_of(number: int, home: int, home_slots: int, laws: int | None, tasks: int) -> Round:
    draw = np.random.default_rng(number)
    names = sorted(LAWS) if laws is None else [str(name) for name in draw.choice(sorted(LAWS), laws, replace=False)]
    return Round(
        tuple(("home", home_slots, 100_000 + 100 * number + k) for k in range(home)),
        tuple((name, slots_of(LAWS[name], tasks), 100_000 + 100 * number + k) for k, name in enumerate(names)),
    )


def queue(run: tuple[str, int, int], policy: Any) -> float:
    name, slots, seed = run
    result = packenv.simulate(HOME if name == "home" else LAWS[name], policy, slots=slots, seed=seed, waiting_limit=LIMIT)
    return LIMIT if result.stopped else (result.mean_queue or 0.0) + FLOOR


def reference(run: tuple[str, int, int]) -> float:
    return queue(run, BestFit())


def worth(home: Sequence[float], laws: Sequence[float], length: int) -> float:
    """The less, the better; of logarithms of ratios."""
    over = [max(0.0, ratio - 0.02) for ratio in laws]
    mean = float(np.mean(laws)) if laws else 0.0
    return float(np.mean(home)) + mean + 8 * (float(np.mean(over)) if over else 0.0) + 0.01 * length


def evaluate(genome: Genome, played: Round, references: dict[tuple[str, int, int], float], bar: float) -> dict[str, Any]:
    """Play a round; it ends early where a third of it is worth much less than `bar`."""
    source, values = genome.source()
    rule = PriorityRule(source, "rule.py", "priority", values)
    home: list[float] = []
    laws: list[float] = []
    ratios: dict[str, float] = {}
    try:
        for k, run in enumerate(interleaved(played)):
            ratio = math.log(queue(run, rule) / references[run])
            (home if run[0] == "home" else laws).append(ratio)
            ratios[f"{run[0]} {run[2]}"] = ratio
            if k + 1 in (3, 10, 20) and worth(home, laws, genome.length) > bar + (0.6, 0.35, 0.2)[(3, 10, 20).index(k + 1)]:
                return {"fitness": math.inf, "ratios": {}}
    except InputError:
        return {"fitness": math.inf, "ratios": {}}
    return {"fitness": worth(home, laws, genome.length), "home": float(np.mean(home)), "ratios": ratios}


def interleaved(played: Round) -> Iterator[tuple[str, int, int]]:
    """One at home, then a share of the others, and so on."""
    share = -(-len(played.laws) // max(len(played.home), 1))
    for k, run in enumerate(played.home):
        yield run
        yield from played.laws[k * share : (k + 1) * share]


# The search


def read_laws(file: Path | None, families: dict[str, int]) -> None:
    """The random workloads and their ρ*, which `file` keeps."""
    known = json.loads(file.read_text()) if file is not None and file.exists() else {}
    for family, count in families.items():
        for number in range(count):
            workload = random_workload(family, number)
            if workload.name not in known:
                from packenv.theory.capacity.max_workload import supportable

                bracket = supportable(workload)
                known[workload.name] = [bracket.lower, bracket.upper]
            LAWS[workload.name] = workload.knowing(*known[workload.name])
    if file is not None:
        file.write_text(json.dumps(known))


def search(
    out: Path, minutes: float, processes: int, seed: int, start: Sequence[Genome], seconds: float, population: int
) -> None:
    """Rounds of so many seconds, which keep so many rules; then the best on all workloads, in the last quarter of the time."""
    ends, draw = time.monotonic() + 60 * minutes, np.random.default_rng(seed)
    long = 60 * minutes >= 200  # otherwise a trial of the script
    evaluate(FIRST, Round((("home", 2000, 1),), ()), {("home", 2000, 1): 1.0}, math.inf)  # compiles the loop, before the fork
    reference(("home", 2000, 1))
    last = ends - (0.25 * 60 * minutes)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        best: list[Genome] = list(start)
        number = 1000 * seed
        while time.monotonic() < last:
            number += 1
            played = round_of(number, *((4, 300_000, 28, 12_000) if processes >= 8 else (3, 150_000, 9, 6000)))
            runs = [*played.home, *played.laws]
            references = dict(zip(runs, pool.map(reference, runs), strict=True))
            until = min(last, time.monotonic() + (seconds if long else 8))
            best = one_round(pool, best, played, references, until, processes, draw, population)
            print(f"round {number}, {time.monotonic() - ends + 60 * minutes:.0f} s: ", end="")
            print(", ".join(f"{genome.fitness:.3f}" for genome in best[:8]), best[0].readable(), sep="\n", flush=True)
            (out / "best.json").write_text(json.dumps([described(genome) for genome in best]))
        played = round_of(0, 16 if long else 2, 600_000 if long else 50_000, None if long else 4, 20_000 if long else 4000)
        runs = [*played.home, *played.laws]
        references = dict(zip(runs, pool.map(reference, runs), strict=True))
        finalists, found = best[: max(4, min(12, processes))], []
        futures = {pool.submit(evaluate, genome, played, references, math.inf): genome for genome in finalists}
        while futures:
            done, _ = wait(futures, max(ends + 20 - time.monotonic(), 0.0), FIRST_COMPLETED)
            if not done:
                break
            for future in done:
                outcome, genome = future.result(), futures.pop(future)
                found.append((outcome, genome))
            write(out, found)
        for process in list(pool._processes.values()):
            process.terminate()


def one_round(
    pool: ProcessPoolExecutor,
    best: list[Genome],
    played: Round,
    references: dict[tuple[str, int, int], float],
    until: float,
    processes: int,
    draw: Generator,
    most: int,
) -> list[Genome]:
    """The best of before on this round's jobs, and their children."""
    waiting: list[Genome] = list(best[:most])
    population: list[Genome] = []
    ahead: dict[Future[Any], Genome] = {}
    seen = 0
    while True:
        while len(ahead) < processes + 2 and time.monotonic() < until:
            if waiting:
                genome = waiting.pop(0)
            elif population:
                parents = [min(draw.choice(len(population), min(3, len(population)))) for _ in range(2)]
                genome = child_of(population[parents[0]], population[parents[1]], draw)
            else:
                break
            bar = population[len(population) // 2].fitness if len(population) >= 8 else math.inf
            ahead[pool.submit(evaluate, genome, played, references, bar)] = genome
        if not ahead:
            break
        done, _ = wait(ahead, return_when=FIRST_COMPLETED)
        for future in done:
            genome, outcome = ahead.pop(future), future.result()
            seen += 1
            if math.isfinite(outcome["fitness"]):
                population.append(replace(genome, fitness=outcome["fitness"]))
        population.sort(key=lambda genome: genome.fitness)
        del population[most:]
    print(f"{seen} rules", end="; ")
    return population


def genome_of(kept: dict[str, Any]) -> Genome:
    terms = tuple((weight, tuple(factors)) for weight, factors in kept["terms"])
    return Genome(terms, tuple((text, value) for text, value in kept["guards"]), kept["width"])


def described(genome: Genome) -> dict[str, Any]:
    return {"terms": genome.terms, "guards": genome.guards, "width": genome.width, "fitness": genome.fitness}


def write(out: Path, found: Sequence[tuple[dict[str, Any], Genome]]) -> None:
    ranked = sorted(found, key=lambda each: each[0]["fitness"])
    (out / "rules.json").write_text(json.dumps([outcome | described(genome) for outcome, genome in ranked]))
    for n, (outcome, genome) in enumerate(ranked):
        laws = [math.exp(ratio) for name, ratio in outcome["ratios"].items() if not name.startswith("home")]
        head = f"# at home {math.exp(outcome['home']):.3f}; random workloads: {np.exp(np.mean(np.log(laws))):.3f} in the mean, "
        head += f"{sum(ratio > 1.02 for ratio in laws)} of {len(laws)} above 1.02, the largest {max(laws):.3f}\n"
        (out / f"{n}.py").write_text(head + genome.readable())


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=float, default=75.0, metavar="SECONDS", help="how long all rules play the same jobs")
    parser.add_argument("--population", type=int, default=40, metavar="N", help="rules that a round keeps")
    parser.add_argument("--laws", type=Path, metavar="FILE", help="keeps ρ* of the random workloads, which takes minutes to find")
    parser.add_argument("--start", type=Path, metavar="FILE", help="go on from best.json of another search")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    read_laws(options.laws, {"training": 120, "choice": 50})
    start = [FIRST]
    if options.start is not None:
        start = [genome_of(each) for each in json.loads(options.start.read_text())]
    search(options.out, options.minutes, options.processes, options.seed, start, options.round, options.population)


if __name__ == "__main__":
    main()
