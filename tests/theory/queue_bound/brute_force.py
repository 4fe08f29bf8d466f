"""The shortest mean queue the slow, obvious way: value iteration over every state and every decision of one small server.

Also the mean queue of k servers that need no packing, from the stationary distribution of its chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import comb, exp, factorial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import lil_matrix

Counts = tuple[int, ...]


def fillings(demands: Sequence[Sequence[float]], room: Sequence[float]) -> Iterator[Counts]:
    """All counts of tasks with these demand vectors that fit."""
    if not demands:
        yield ()
        return
    count = 0
    while all(r - count * d >= -1e-9 for r, d in zip(room, demands[0], strict=True)):
        for rest in fillings(demands[1:], [r - count * d for r, d in zip(room, demands[0], strict=True)]):
            yield (count, *rest)
        count += 1


def shortest_mean_queue(
    demands: Sequence[Sequence[float]], weights: Sequence[float], rate: float, leaving: float, most: int
) -> tuple[float, float]:
    """An interval that holds the least mean queue of one server of capacity 1 in every resource, with Bernoulli arrivals.

    At most `most` tasks of a type wait: those that arrive beyond are lost, which only shortens the queue. In a slot, tasks
    leave, one may arrive, some that wait may start, and those that still wait are counted (PAPERS §1.1).
    """
    held = list(fillings(demands, [1.0] * len(demands[0])))
    queues = list(product(range(most + 1), repeat=len(demands)))
    number = {state: n for n, state in enumerate(product(queues, held))}
    chances = lil_matrix((len(number), len(number)))  # from a state after scheduling to one before it
    for (queue, busy), n in number.items():
        for left in product(*(range(b + 1) for b in busy)):
            chance = 1.0
            for b, out in zip(busy, left, strict=True):
                chance *= comb(b, out) * leaving**out * (1 - leaving) ** (b - out)
            stay = tuple(b - out for b, out in zip(busy, left, strict=True))
            chances[n, number[queue, stay]] += chance * (1 - rate)
            for j, weight in enumerate(weights):
                longer = tuple(min(q + (i == j), most) for i, q in enumerate(queue))
                chances[n, number[longer, stay]] += chance * rate * weight
    choices = []
    for queue, busy in number:
        reachable = []
        for start in product(*(range(q + 1) for q in queue)):
            busier = tuple(b + s for b, s in zip(busy, start, strict=True))
            left_over = tuple(q - s for q, s in zip(queue, start, strict=True))
            if (left_over, busier) in number:
                reachable.append(number[left_over, busier])
        choices.append(reachable)
    after = chances.tocsr()
    cost = np.array([sum(queue) for queue, _ in number], float)
    value = np.zeros(len(number))
    while True:
        scheduled = cost + after @ value
        new = np.array([scheduled[reachable].min() for reachable in choices])
        change = new - value
        if change.max() - change.min() < 1e-6:
            return float(change.min()), float(change.max())
        value = new - new[0]


def mean_queue_of_servers(k: int, rate: float, leaving: float, bernoulli: bool, most: int) -> float:
    """Mean number that waits for k servers, one task each; at most `most` tasks in the system, the others are lost."""
    arrive = [1 - rate, rate] if bernoulli else [exp(-rate) * rate**i / factorial(i) for i in range(25)]
    return float(stationary(k, arrive, leaving, most) @ np.maximum(np.arange(most + 1) - k, 0))


def mean_pieces(k: int, rates: Sequence[float], leaving: float, most: int) -> float:
    """Mean number of pieces in the system, of which k are in service; a Poisson number of tasks of i pieces arrives, rates[i]."""
    arrive = np.ones(1)
    for i, rate in enumerate(rates):
        tasks = np.zeros(30 * i + 1)
        tasks[:: max(i, 1)] = [exp(-rate) * rate**n / factorial(n) for n in range(31 if i else 1)]
        arrive = np.convolve(arrive, tasks)
    return float(stationary(k, arrive.tolist(), leaving, most) @ np.arange(most + 1))


def stationary(k: int, arrive: Sequence[float], leaving: float, most: int) -> NDArray[np.float64]:
    """(most + 1,) distribution of the number in the system at the end of a slot; what arrives above `most` is lost."""
    chain = np.zeros((most + 1, most + 1))
    for n in range(most + 1):
        busy = min(n, k)
        for out in range(busy + 1):
            chance = comb(busy, out) * leaving**out * (1 - leaving) ** (busy - out)
            for i, p in enumerate(arrive):
                chain[n, min(n - out + i, most)] += chance * p
    balance = np.vstack([chain.T - np.eye(most + 1), np.ones(most + 1)])
    return np.linalg.lstsq(balance, np.array([0.0] * (most + 1) + [1.0]), rcond=None)[0]
