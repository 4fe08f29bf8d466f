"""The search for a proof of what machines must cost at least, for a table of jobs and one goal on the wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from packenv.jobs import Ints, Jobs
from packenv.planning.lower_bounds.combination import Combined, combine
from packenv.planning.lower_bounds.cost_proof import LARGEST, CostProof, PricedWindow, Rule, TableTasks, WaitLimit, most_of
from packenv.planning.lower_bounds.price_rules import areas, rules_for
from packenv.planning.lower_bounds.windows import inside, sure_overlap, windows
from packenv.theory.capacity.linear_program import Floats

MOST_WINDOWS = 12  # of each rule, to be combined
MOST_ENTRIES = 2 * 10**7  # windows × tasks that are combined
FINER = 4  # windows that are looked into at a time
WORTH_IT = 0.9  # of the last of these: parts that prove less are not looked into
ROUNDS = 1  # of new rules
CHOSEN = 1  # window for which rules are made, of each round
SMALL = 1 / 16  # of the largest machine: tasks that need less on average fill machines nearly as a liquid does
RULE_SECONDS = 2.0  # at most, for a rule


class TableCost:
    """Collects priced windows, and keeps the best proof.

    capacity  (G, D) units of each kind of machine
    cost      (G,) of a machine of each kind, > 0
    """

    def __init__(self, jobs: Jobs, capacity: Ints, cost: Sequence[Fraction], limit: WaitLimit) -> None:
        self.tasks, self.capacity, self.cost, self.limit = TableTasks(jobs), capacity, cost, limit
        self.price = np.array([float(one) for one in cost])
        self.best: CostProof | None = None
        self.value = Fraction(0)
        self.rows: list[PricedWindow] = []

    def run(self, gap: float, seconds: float) -> None:
        """Price windows by area, and the best ones by what packings allow; combine them."""
        jobs = self.tasks.jobs
        most = max(1, min(MOST_WINDOWS, MOST_ENTRIES // len(jobs)))
        chosen: dict[tuple[int, int], None] = {}
        for rule in areas(self.tasks.vectors, self.capacity):
            best = self._best(rule, most)
            self.rows += best
            chosen |= {(one.start, one.end): None for one in best}
        combined = self._combine()
        if len(jobs) > MOST_ENTRIES // 2 or self._small():
            return
        for _ in range(ROUNDS):
            new = [
                *rules_for(self.tasks, self.limit, self.capacity, combined, self.rows, CHOSEN, gap, min(seconds, RULE_SECONDS))
            ]
            for rule in new:
                self.rows += [one for value, one in self._single(rule, [*chosen]) if value > 0]
            if not new:
                return
            combined = self._combine()

    def _small(self) -> bool:
        """Whether tasks are so small that area says nearly all: rules of packings are not worth their time."""
        largest = np.maximum(self.capacity.max(axis=0), 1)
        share = (self.tasks.vectors / largest).max(axis=1)[self.tasks.place]
        return float(share @ self.tasks.jobs.service / self.tasks.jobs.service.sum()) < SMALL

    def _best(self, rule: Rule, most: int) -> list[PricedWindow]:
        """The windows that prove most alone, the best one first: of all, and of shorter and shorter ones inside the best."""
        found = {(one.start, one.end): value for value, one in self._single(rule, windows(self.tasks.jobs, {0, self.limit.each}))}

        def ranked(of: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
            return sorted((one for one in of if found[one] > 0), key=lambda one: (-found[one], one))

        last = ranked(found)[:FINER]
        while last:
            new = dict.fromkeys(part for one in last for part in inside(*one) if part not in found)
            found |= {(one.start, one.end): value for value, one in self._single(rule, new)}
            last = [one for one in ranked(new)[:FINER] if found[one] > found[last[-1]] * WORTH_IT]
        return [PricedWindow(rule, *one, 1) for one in ranked(found)[:most]]

    def necessary(self) -> tuple[Floats, Floats]:
        """Rows (rows, G) and needs (rows,): what every mix that meets the limit must hold.

        Each window stands for itself, and all those of the best proof together.
        """
        held, need = [], []
        if self.best is not None and len(self.best.windows) > 1:
            together, least = self.best.row(self.tasks, self.capacity)
            held.append(np.array([one / max(together) for one in together]))
            need.append(least / max(together))
        for row in self.rows:
            price = self.tasks.prices(row.rule)
            overlap = sure_overlap(self.tasks.jobs, self.limit.each, row.start, row.end)
            most = np.array(most_of(row.rule, self.capacity), np.float64)
            held.append(most / most.max())
            need.append(self.limit.least_cost(price, overlap) / ((row.end - row.start) * most.max()))
        return np.array(held).reshape(-1, len(self.cost)), np.array(need)

    def _single(self, rule: Rule, every: Iterable[tuple[int, int]]) -> Iterator[tuple[Fraction, PricedWindow]]:
        """Each window with what it proves alone."""
        price, held = self.tasks.prices(rule), most_of(rule, self.capacity)
        share = min((one / most for one, most in zip(self.cost, held, strict=True) if most > 0), default=Fraction(0))
        for start, end in every:
            overlap = sure_overlap(self.tasks.jobs, self.limit.each, start, end)
            value = share * Fraction(self.limit.least_cost(price, overlap), end - start)
            if value > self.value:
                self._offer(CostProof(self.limit, (PricedWindow(rule, start, end, 1),)))
            yield value, PricedWindow(rule, start, end, 1)

    def _offer(self, proof: CostProof) -> None:
        value = proof.value(self.tasks, self.capacity, self.cost)
        if value > self.value:
            self.best, self.value = proof, value

    def _combine(self) -> Combined | None:
        """The best weights of all windows so far."""
        if not self.rows:
            return None
        costs, held = self._matrix()
        found = combine(costs, held, self.price, self.limit.spared or 0)
        if (found.weights > 0).any():
            self._offer(CostProof(self.limit, self._whole(found.weights)))
        return found

    def _matrix(self) -> tuple[Floats, Floats]:
        """(rows, n) what tasks cost in each window, per slot; for a mean (rows, 1), the sum. (rows, G) what machines hold."""
        costs, held = [], []
        for row in self.rows:
            price = self.tasks.prices(row.rule)
            overlap = sure_overlap(self.tasks.jobs, self.limit.each, row.start, row.end)
            length, most = row.end - row.start, most_of(row.rule, self.capacity)
            whole = self.limit.spared is None
            of_row = np.array([self.limit.least_cost(price, overlap)] if whole else price * overlap, np.float64)
            scale = float(max(most))
            costs.append(of_row / (length * scale))
            held.append(np.array(most) / scale)
        return np.array(costs), np.array(held)

    def _whole(self, weights: Floats) -> tuple[PricedWindow, ...]:
        """The windows with weights that are whole numbers, as fine as 62 bits allow."""
        found, largest = [], 0.0
        for row, weight in zip(self.rows, weights.tolist(), strict=True):
            if weight > 1e-9 * float(weights.max()):
                length, most = row.end - row.start, float(max(most_of(row.rule, self.capacity)))
                times = weight / (length * most)
                found.append((row, times))
                largest += times * length * float(self.tasks.prices(row.rule).max())
        fine = LARGEST / 2 / largest
        return tuple(PricedWindow(row.rule, row.start, row.end, max(1, int(times * fine))) for row, times in found)
