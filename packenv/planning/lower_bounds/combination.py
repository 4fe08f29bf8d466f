"""The best weights of priced windows: a linear program, solved by cutting planes.

Of windows r with costs p_ri of task i, machines n_g of which each holds F_rg, and k tasks that may be spared,

    min Σ c_g n_g   s.t.   Σ_g n_g F_rg >= Σ_i (1 - z_i) p_ri for every r,   Σ z_i <= k,   0 <= z <= 1,   n >= 0

has the dual: max over λ >= 0, Σ_r λ_r F_rg <= c_g, of the n - k smallest of the tasks' Σ_r λ_r p_ri. For each λ the tasks that
are kept give a cut: the value is at most Σ_r λ_r Σ_{i kept} p_ri. Any λ proves what it gives, rounded or not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from packenv.theory.capacity.linear_program import Floats

ROUNDS = 25
CLOSE = 2e-4  # gap at which the cuts suffice
DAMPING = 0.5  # weight of the best λ so far in the next one: the program's own oscillates


class Combined(NamedTuple):
    """The weights (rows,) of the windows, what they prove, the machines (G,) of the program, and which tasks are kept."""

    weights: Floats
    value: float
    machines: Floats
    kept: Floats  # (n,) share of each task


def combine(costs: Floats, held: Floats, price: Floats, spared: int) -> Combined:
    """costs (rows, n), held (rows, G) > 0 somewhere in each row, price (G,) of the machines."""
    rows, tasks = costs.shape
    cuts: list[Floats] = [costs.sum(axis=1)]
    kepts: list[Floats] = [np.ones(tasks)]
    best, best_value = np.zeros(rows), 0.0
    machines, share = np.zeros(len(price)), np.ones(1)
    for round_ in range(ROUNDS):
        program = linprog(
            np.append(np.zeros(rows), -1.0),
            A_ub=np.block([[-np.array(cuts), np.ones((len(cuts), 1))], [held.T, np.zeros((len(price), 1))]]),
            b_ub=np.concatenate([np.zeros(len(cuts)), price]),
            method="highs",
        )
        own, upper = program.x[:rows], float(program.x[rows])
        share, machines = -program.ineqlin.marginals[: len(cuts)], -program.ineqlin.marginals[len(cuts) :]
        if upper <= best_value * (1 + CLOSE):
            break
        for weights in (own,) if round_ == 0 else (DAMPING * best + (1 - DAMPING) * own, own):
            together = weights @ costs
            kept = np.ones(tasks)
            if spared:
                kept[np.argpartition(together, tasks - spared)[tasks - spared :]] = 0.0
            value = float(together @ kept)
            cuts.append(costs @ kept)
            kepts.append(kept)
            if value > best_value:
                best, best_value = weights, value
    kept = sum((part * one for part, one in zip(share, kepts, strict=False)), np.zeros(tasks))
    return Combined(best, best_value, machines, kept)
