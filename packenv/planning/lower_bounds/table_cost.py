"""The search for a proof of the least cost of machines for a table.

It is for one goal on the wait. Windows of time are priced by area first. Rules follow that prove the upper bound on ρ* of the
tasks in the best windows. A linear program weighs all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from packenv.jobs import Ints, Jobs
from packenv.planning.lower_bounds.cost_proof import (
    LARGEST,
    CostProof,
    PricedWindow,
    Rule,
    TableTasks,
    WaitLimit,
    inside,
    most_of,
    sure_overlap,
    windows,
)
from packenv.theory.capacity.linear_program import Floats, ServerKinds
from packenv.theory.capacity.one_resource.certificate import Bounded, Refuted
from packenv.theory.capacity.one_resource.search import OneResourceSearch
from packenv.theory.capacity.one_resource.size_law import atomic
from packenv.theory.capacity.several_resources.certificate import Priced, Scalarised
from packenv.theory.capacity.several_resources.demand_law import Atoms, VectorKinds
from packenv.theory.capacity.several_resources.search import SeveralResourcesSearch

MOST_WINDOWS = 12  # of each rule, to be combined
MOST_ENTRIES = 2 * 10**7  # windows × tasks that are combined
FINER = 4  # windows that are looked into at a time
WORTH_IT = 0.9  # of the last of these: parts that prove less are not looked into

RULE_ROUNDS = 1  # of new rules
CHOSEN = 1  # window for which rules are made, of each round
SMALL = 1 / 16  # of the largest machine: tasks that need less on average fill machines nearly as a liquid does
RULE_SECONDS = 2.0  # at most, for a rule
PARTS = 1000  # of a machine, in which the machines of a program are counted
FINEST = 2**20  # the largest price: products with slots stay within 64 bits

CUT_ROUNDS = 25
CLOSE = 2e-4  # gap at which the cuts suffice
DAMPING = 0.5  # weight of the best λ so far in the next one: the program's own oscillates


class TableCost:
    """Collects priced windows and stores the best proof.

    capacity  (G, D) units of each kind of machine
    cost      (G,) of a machine of each kind, > 0
    """

    def __init__(self, jobs: Jobs, capacity: Ints, cost: Sequence[Fraction], limit: WaitLimit) -> None:
        self.tasks, self.capacity, self.cost, self.limit = TableTasks(jobs), capacity, cost, limit
        self.price = np.array([float(price) for price in cost])
        self.best: CostProof | None = None
        self.value = Fraction(0)
        self.rows: list[PricedWindow] = []

    def run(self, gap: float, seconds: float) -> None:
        """Price windows by area, price the best ones by packings, combine them."""
        jobs = self.tasks.jobs
        most = max(1, min(MOST_WINDOWS, MOST_ENTRIES // len(jobs)))
        chosen: dict[tuple[int, int], None] = {}
        # Windows priced by the area of one resource.
        for rule in areas(self.tasks.vectors, self.capacity):
            best = self._best(rule, most)
            self.rows += best
            chosen |= {(window.start, window.end): None for window in best}
        combined = self._combine()
        if len(jobs) > MOST_ENTRIES // 2 or self._small():
            return
        # Rules from packings of the tasks in the best windows.
        for _ in range(RULE_ROUNDS):
            new = [
                *rules_for(self.tasks, self.limit, self.capacity, combined, self.rows, CHOSEN, gap, min(seconds, RULE_SECONDS))
            ]
            for rule in new:
                self.rows += [window for value, window in self._single(rule, [*chosen]) if value > 0]
            if not new:
                return
            combined = self._combine()

    def _small(self) -> bool:
        """Return whether tasks are too small for packings to matter."""
        largest = np.maximum(self.capacity.max(axis=0), 1)
        share = (self.tasks.vectors / largest).max(axis=1)[self.tasks.place]
        return float(share @ self.tasks.jobs.service / self.tasks.jobs.service.sum()) < SMALL

    def _best(self, rule: Rule, most: int) -> list[PricedWindow]:
        """Return the best windows, also shorter ones inside others."""
        values = {
            (window.start, window.end): value
            for value, window in self._single(rule, windows(self.tasks.jobs, {0, self.limit.task_wait}))
        }

        def ranked(of: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
            return sorted((window for window in of if values[window] > 0), key=lambda window: (-values[window], window))

        # Look into the best windows while their parts prove nearly as much.
        last = ranked(values)[:FINER]
        while last:
            new = dict.fromkeys(part for window in last for part in inside(*window) if part not in values)
            values |= {(window.start, window.end): value for value, window in self._single(rule, new)}
            last = [window for window in ranked(new)[:FINER] if values[window] > values[last[-1]] * WORTH_IT]
        return [PricedWindow(rule, *window, 1) for window in ranked(values)[:most]]

    def necessary(self) -> tuple[Floats, Floats]:
        """Return rows (rows, G) and needs (rows,) of every mix that meets the limit.

        There is a row for each window, and one for all windows of the best proof together.
        """
        supply, need = [], []
        if self.best is not None and len(self.best.windows) > 1:
            together, least = self.best.row(self.tasks, self.capacity)
            supply.append(np.array([most / max(together) for most in together]))
            need.append(least / max(together))
        for row in self.rows:
            price = self.tasks.prices(row.rule)
            overlap = sure_overlap(self.tasks.jobs, self.limit.task_wait, row.start, row.end)
            most = np.array(most_of(row.rule, self.capacity), np.float64)
            supply.append(most / most.max())
            need.append(self.limit.least_cost(price, overlap, self.tasks.waits) / ((row.end - row.start) * most.max()))
        return np.array(supply).reshape(-1, len(self.cost)), np.array(need)

    def _single(self, rule: Rule, every: Iterable[tuple[int, int]]) -> Iterator[tuple[Fraction, PricedWindow]]:
        """Yield each window with the cost that it proves alone."""
        price, supply = self.tasks.prices(rule), most_of(rule, self.capacity)
        share = min((cost / most for cost, most in zip(self.cost, supply, strict=True) if most > 0), default=Fraction(0))
        for start, end in every:
            overlap = sure_overlap(self.tasks.jobs, self.limit.task_wait, start, end)
            value = share * Fraction(self.limit.least_cost(price, overlap, self.tasks.waits), end - start)
            if value > self.value:
                self._offer(CostProof(self.limit, (PricedWindow(rule, start, end, 1),)))
            yield value, PricedWindow(rule, start, end, 1)

    def _offer(self, proof: CostProof) -> None:
        value = proof.value(self.tasks, self.capacity, self.cost)
        if value > self.value:
            self.best, self.value = proof, value

    def _combine(self) -> Combined | None:
        """Return the best weights of all windows so far."""
        if not self.rows:
            return None
        costs, supply = self._matrix()
        combined = combine(costs, supply, self.price, self.limit.spared or 0)
        if (combined.weights > 0).any():
            self._offer(CostProof(self.limit, self._with_integer_weights(combined.weights)))
        return combined

    def _matrix(self) -> tuple[Floats, Floats]:
        """Return the prices in each window per slot, and the supply of machines.

        Prices (rows, n) of tasks or gangs, or their sum (rows, 1) for a mean. Supply (rows, G).
        """
        costs, supply = [], []
        for row in self.rows:
            price = self.tasks.prices(row.rule)
            overlap = sure_overlap(self.tasks.jobs, self.limit.task_wait, row.start, row.end)
            length, most = row.end - row.start, most_of(row.rule, self.capacity)
            summed, waits = self.limit.spared is None, self.tasks.waits
            of_row = np.array([self.limit.least_cost(price, overlap, waits)] if summed else price * overlap, np.float64)
            of_row = of_row if summed or waits is None else np.bincount(waits, of_row).astype(np.float64)
            scale = float(max(most))
            costs.append(of_row / (length * scale))
            supply.append(np.array(most) / scale)
        return np.array(costs), np.array(supply)

    def _with_integer_weights(self, weights: Floats) -> tuple[PricedWindow, ...]:
        """Return the windows with whole weights, as precise as 62 bits allow."""
        weighted, largest = [], 0.0
        for row, weight in zip(self.rows, weights.tolist(), strict=True):
            if weight > 1e-9 * float(weights.max()):
                length, most = row.end - row.start, float(max(most_of(row.rule, self.capacity)))
                times = weight / (length * most)
                weighted.append((row, times))
                largest += times * length * float(self.tasks.prices(row.rule).max())
        fine = LARGEST / 2 / largest
        return tuple(PricedWindow(row.rule, row.start, row.end, max(1, int(times * fine))) for row, times in weighted)


def areas(vectors: Ints, capacity: Ints) -> list[Rule]:
    """Return a rule for each useful resource, its amounts as prices."""
    rules: list[Rule] = []
    for weights in np.eye(capacity.shape[1], dtype=np.int64):
        largest = int((vectors @ weights).max())
        if largest > 0 and (capacity @ weights).max() > 0:
            rules.append(Scalarised(tuple(weights.tolist()), Bounded((largest,), (largest,), (True,))))
    return rules


def rules_for(
    tasks: TableTasks,
    limit: WaitLimit,
    capacity: Ints,
    combined: Combined | None,
    rows: Sequence[PricedWindow],
    most: int,
    gap: float,
    seconds: float,
) -> Iterator[Rule]:
    """Yield new rules for the windows of the largest weight.

    They prove ρ* of the tasks left in these windows, on the program's machines.
    """
    if combined is None or combined.machines.sum() <= 0:
        return
    rules = {row.rule for row in rows}
    number = np.maximum(np.round(combined.machines * PARTS), 1).astype(np.int64)
    order = np.argsort(-combined.weights, kind="stable")[:most]
    # The windows of the largest weight.
    spans = {(rows[n].start, rows[n].end): None for n in order.tolist() if combined.weights[n] > 0}
    for start, end in spans:
        overlap = sure_overlap(tasks.jobs, limit.task_wait, start, end)
        unspared = combined.unspared if tasks.waits is None or limit.spared is None else combined.unspared[tasks.waits]
        # Work of each demand inside the window, without the spared tasks.
        mass = overlap * (unspared if len(unspared) == len(overlap) else 1.0)
        weight = np.bincount(tasks.place, mass, len(tasks.vectors)).astype(np.float64)
        for rule in _proved(tasks.vectors[weight > 0], weight[weight > 0], capacity, number, gap, seconds):
            if rule not in rules:
                rules.add(rule)
                yield rule


def _proved(vectors: Ints, weight: Any, capacity: Ints, number: Ints, gap: float, seconds: float) -> Iterator[Rule]:
    if len(vectors) == 0:
        return
    rule = as_rule(upper_proof(vectors, weight, capacity, number, gap, seconds))
    try:
        most_of(rule, capacity)
    except Refuted:  # too many configurations on a kind of machine
        return
    yield rule


def upper_proof(vectors: Ints, weight: Any, capacity: Ints, number: Ints, gap: float, seconds: float) -> Any:
    """Return the proof of the upper bound on ρ*.

    `vectors` (m, D): demands in service. `number` (G,): machines.
    """

    def quiet(lower: float, upper: float) -> None:
        pass

    distinct, place = np.unique(capacity, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), number).astype(np.int64)
    if vectors.shape[1] == 1:
        single = OneResourceSearch(
            atomic(vectors[:, 0], weight), ServerKinds(distinct[::-1, 0].copy(), counts[::-1].copy()), gap, seconds, quiet
        )
        single.run()
        return single.bounded
    several = SeveralResourcesSearch(Atoms(vectors, weight), VectorKinds(distinct, counts), gap, seconds, quiet)
    several.only_bound()
    return several.bounded


def as_rule(proof: Any) -> Rule:
    """Return a proof of the upper bound on ρ* with prices up to FINEST."""
    if isinstance(proof, Priced):
        scale = max(1, -(-max(proof.prices) // FINEST))
        return Priced(proof.vectors, tuple(price // scale for price in proof.prices))
    weights, bounded = (proof.weights, proof.bounded) if isinstance(proof, Scalarised) else ((1,), proof)
    scale = max(1, -(-max(bounded.prices) // FINEST))
    return Scalarised(weights, Bounded(bounded.points, tuple(price // scale for price in bounded.prices), bounded.split))


class Combined(NamedTuple):
    """Solution of the program that weighs windows."""

    weights: Floats  # (rows,) of the windows
    value: float  # cost that they prove
    machines: Floats  # (G,) of the program
    unspared: Floats  # (n,) share of each task that is not spared


def combine(costs: Floats, supply: Floats, price: Floats, spared: int) -> Combined:
    """Return the best weights of priced windows.

    A linear program, solved by cutting planes. Window r prices task i at p_ri, machine n_g holds F_rg, and k tasks may be
    spared:

        min Σ c_g n_g   s.t.   Σ_g n_g F_rg >= Σ_i (1 - z_i) p_ri for every r,   Σ z_i <= k,   0 <= z <= 1,   n >= 0

    Its dual: max over λ >= 0, Σ_r λ_r F_rg <= c_g, of the sum of the n - k smallest Σ_r λ_r p_ri. For each λ the tasks not
    spared give a cut: the value is at most Σ_r λ_r Σ_{i not spared} p_ri. Every λ is a valid proof, rounded or not.
    costs   (rows, n)
    supply  (rows, G), > 0 somewhere in each row
    price   (G,) of the machines
    """
    rows, tasks = costs.shape
    cuts: list[Floats] = [costs.sum(axis=1)]
    kepts: list[Floats] = [np.ones(tasks)]
    best, best_value = np.zeros(rows), 0.0
    machines, share = np.zeros(len(price)), np.ones(1)
    for round_ in range(CUT_ROUNDS):
        # The weights that are best for the cuts so far; `upper` bounds every value.
        program = linprog(
            np.append(np.zeros(rows), -1.0),
            A_ub=np.block([[-np.array(cuts), np.ones((len(cuts), 1))], [supply.T, np.zeros((len(price), 1))]]),
            b_ub=np.concatenate([np.zeros(len(cuts)), price]),
            method="highs",
        )
        proposed, upper = program.x[:rows], float(program.x[rows])
        share, machines = -program.ineqlin.marginals[: len(cuts)], -program.ineqlin.marginals[len(cuts) :]
        if upper <= best_value * (1 + CLOSE):
            break
        # Evaluate the proposed weights, and a damped step towards them. Each gives a cut.
        for weights in (proposed,) if round_ == 0 else (DAMPING * best + (1 - DAMPING) * proposed, proposed):
            together = weights @ costs
            unspared = np.ones(tasks)
            if spared:
                unspared[np.argpartition(together, tasks - spared)[tasks - spared :]] = 0.0
            value = float(together @ unspared)
            cuts.append(costs @ unspared)
            kepts.append(unspared)
            if value > best_value:
                best, best_value = weights, value
    # The share of each task that is not spared, over the cuts in the last program.
    unspared = sum((part * tasks_kept for part, tasks_kept in zip(share, kepts, strict=False)), np.zeros(tasks))
    return Combined(best, best_value, machines, unspared)
