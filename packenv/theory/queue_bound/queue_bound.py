"""`packenv.queue_bound`: the best bound on mean queues without known durations."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags, hstack, identity
from scipy.sparse.linalg import spsolve

from packenv.errors import InputError
from packenv.theory.capacity.best_proofs import rounded_down
from packenv.theory.capacity.bracket import law_and_kinds, place_of
from packenv.theory.capacity.linear_program import Floats
from packenv.theory.capacity.max_workload import resolved, stream_bracket
from packenv.theory.capacity.one_resource.certificate import Bounded, Refuted
from packenv.theory.capacity.one_resource.size_law import SizeLaw
from packenv.theory.capacity.several_resources.certificate import LARGEST_WEIGHT, Scalarised
from packenv.theory.queue_bound.bound import Counted, Pooled, Proved, QueueBound, QueueProof, check_load, moments_of_change
from packenv.theory.queue_bound.prices import BITS, MOST_ARRIVALS, ExactArrivals, PricedTasks, Prices, arrivals_below, setting_of
from packenv.workloads.workload import Workload

STEPS = 12
MANY_STEPS = (48, 240, 1000)  # for small sizes, whose prices are then almost in proportion to them
SMALL = 4
FEW = 64  # sizes: each is a threshold
CAPACITIES = 4
FINEST = 240  # the largest price, of those that prove the bound on ρ*


def weightings(kinds: Any, bounded: Any) -> list[tuple[int, ...]]:
    """Return weights: each resource, all alike, ρ*'s bound; () for one resource."""
    if kinds.capacity.ndim == 1:
        return [()]
    largest = kinds.capacity.max(axis=0)
    alike = np.maximum(LARGEST_WEIGHT // 64 * largest.min() // largest, 1)
    alone = [*np.eye(len(largest), dtype=np.int64), alike]
    of_bound = [bounded.weights] if isinstance(bounded, Scalarised) else []
    return list(dict.fromkeys([*(tuple(weights.tolist()) for weights in alone), *of_bound]))


def thresholds(law: SizeLaw, capacities: list[int]) -> list[int]:
    """Least sizes of the tasks to be counted."""
    low, high = int(law.low[0]), int(law.low[-1])
    least = {capacity // n + 1 for capacity in capacities[:CAPACITIES] for n in range(2, STEPS + 2)} | {low}
    if len(law.low) <= FEW:
        least |= set(law.low.tolist())
    return sorted(t for t in least if max(low, 1) <= t <= high)


def step_prices(law: SizeLaw, capacities: list[int], weights: tuple[int, ...]) -> Iterator[Prices]:
    """Yield ⌈(n + 1) x⌉ - 1 for n = 2, 3, … and each capacity.

    With them the cluster is full, or almost. Tasks of sizes x, in shares of a server, that fit it cost at most n together (a dual
    feasible function of bin packing). With one step, at most n sizes above 1 / (n + 1) of a server are held at a time.
    """
    high = int(law.low[-1])
    for capacity in capacities[:CAPACITIES]:
        for n in (*range(2, STEPS + 1), *(MANY_STEPS if SMALL * high <= capacity else ())):
            steps = [t for j in range(1, n + 1) if (t := capacity * j // (n + 1) + 1) <= high]
            if steps and len(set(steps)) == len(steps):
                yield Prices(tuple(steps), tuple(range(1, len(steps) + 1)), weights)


def dual_prices(bounded: Any, law: SizeLaw, weights: tuple[int, ...]) -> Iterator[Prices]:
    """The prices that bound ρ*, as steps."""
    proof = bounded.bounded if isinstance(bounded, Scalarised) and bounded.weights == weights else bounded
    if not isinstance(proof, Bounded):
        return
    scale = max(proof.prices)
    steps: dict[int, int] = {}
    for point, price in zip(proof.points, proof.prices, strict=True):
        rounded = round(price * FINEST / scale)
        if rounded > max(steps.values(), default=0) and point <= law.low[-1]:
            steps[point] = rounded
    if steps:
        yield Prices(tuple(steps), tuple(steps.values()), weights)


PARTS = 1 << 40
BEYOND = 24.0  # N is k and so many standard deviations of the number of tasks that leave, or arrive, at once
MOST_PIECES = 1500
TINY = 1e-25


def counted_proof(prices: Prices, setting: ExactArrivals, tasks: PricedTasks) -> Counted:
    """Return the proof for tasks that arrive one by one.

    Their price is below the completed one. φ is the function of the queue with k servers itself, found in floating point and
    rounded. The equation n + E[φ(n')] - φ(n) = g is solved on 0 .. N with a parabola beyond N, and its bend is the exact one.
    """
    k, leaving = tasks.most, float(setting.leaving)
    last = k + max(32, math.ceil(BEYOND * math.sqrt(k)))
    drift, square = moments_of_change(setting, tasks)
    bend = -1 / float(drift)
    arriving = np.array(arrivals_below(setting, tasks)) / 2.0**BITS
    # E[φ(n')] = Σ after[n, m] φ(m); beyond N, φ = φ(N) + slope x + bend x (x - 1) / 2
    arrive = diags(arriving, np.arange(len(arriving)), shape=(last + 1, last + len(arriving)))
    after = (_after_departures(last, k, leaving) @ arrive).tocsc()
    beyond, over = after[:, last + 1 :], np.arange(1.0, len(arriving))
    constant, sloped = beyond @ (bend * over * (over - 1) / 2), beyond @ over
    within = identity(last + 1, format="csc") - after[:, : last + 1]
    # beyond N: N + slope drift + bend (square - drift) / 2 = g, so slope = (g - fixed) / drift
    fixed = last + bend * float(square - drift) / 2
    # φ(0) = 0: its place is that of g
    first = csc_matrix((1 - sloped / float(drift))[:, None])
    end = within[:, last:] - csc_matrix(beyond.sum(axis=1))
    matrix = hstack([first, within[:, 1:last], end], format="csc")
    solved = spsolve(matrix, np.arange(last + 1) + constant - sloped * fixed / float(drift))
    g, values = float(solved[0]), np.concatenate([[0.0], solved[1:]])
    return _rounded(prices, values, (g - fixed) / float(drift), Fraction(-1) / drift, k)


def _rounded(prices: Prices, values: Floats, slope: float, bend: Fraction, k: int) -> Counted:
    """Round the parabola below the earlier values."""
    integers = [round(value * PARTS) for value in np.maximum(values, 0.0).tolist()]
    bends, last = math.floor(bend * PARTS), len(integers) - 1
    slopes = max(0, round(slope * PARTS))
    for x in range(1, k + 1):
        slopes = max(slopes, -((integers[last - x] - integers[last] - bends * x * (x + 1) // 2) // x))
    return Counted(prices, tuple(integers), slopes, bends, PARTS)


def _after_departures(last: int, k: int, leaving: float) -> Any:
    """(N + 1, N + 1) sparse chances that n tasks become m, min(n, k) in service."""
    out: Floats = np.ones(1)  # chances that 0, 1, … leave
    chances, starts, ends = [], [], []
    for n in range(last + 1):
        chances.append(out)
        starts.append(np.full(len(out), n))
        ends.append(n - np.arange(len(out)))
        if n < k:
            out = np.convolve(out, [1 - leaving, leaving])
            out = out[: np.flatnonzero(out > TINY)[-1] + 1]
    places = np.concatenate(starts), np.concatenate(ends)
    return csr_matrix((np.concatenate(chances), places), shape=(last + 1, last + 1))


GAP, SECONDS = 0.005, 1.0  # of the search for prices that bound ρ*
VISIBLE = 0.01
SHOWN_AS = "lower bound (durations unknown)"
SPARE = 5.0
"""Where the room is this many standard deviations above the need, next to nothing waits: no proof is sought."""


def queue_bound(workload: Any, progress: Callable[[float], None] | None = None) -> QueueBound:
    """Return a proved lower bound on every policy's mean queue.

    `workload` is what `packenv.workload` takes. Policies do not know durations. The mean queue is the number of waiting tasks,
    mean over all slots.
    Proved for random tasks with geometric service and arrivals independent from slot to slot (Poisson, Bernoulli, and batches of
    them). `progress` is called with the best bound so far whenever a relaxation improves.
    Raises InputError for other workloads, and for a load that no policy can keep up with.
    """
    began = time.monotonic()
    workload = resolved(workload)
    setting, (law, kinds) = setting_of(workload), law_and_kinds(workload)
    best: dict[type[QueueProof], Proved] = {}
    for proof in proofs_for(workload, setting, law, kinds):
        try:
            value = rounded_down(proof.value(setting, law, kinds))
        except Refuted:  # prices of nothing, or too many steps for a proof
            continue
        previous = best.get(type(proof))
        if value > (0.0 if previous is None else previous.value):
            best[type(proof)] = Proved(value, proof)
            if progress is not None:
                progress(max(proof_of_value.value for proof_of_value in best.values()))
    proved = tuple(sorted(best.values(), key=lambda proof_of_value: -proof_of_value.value))
    return QueueBound(proved, time.monotonic() - began, place_of(workload, at_intensity=True))


def proofs_for(workload: Workload, setting: ExactArrivals, law: Any, kinds: Any) -> Iterator[QueueProof]:
    """The proofs to try."""
    bounded = stream_bracket(workload, GAP, SECONDS).bounded
    for weights in weightings(kinds, bounded):
        sizes, servers = Prices((1,), (1,), weights).in_one_resource(law, kinds)
        capacities = servers.capacity.tolist()
        counts = [Prices((t,), (1,), weights) for t in thresholds(sizes, capacities)]
        for prices in [*counts, *step_prices(sizes, capacities, weights), *dual_prices(bounded, sizes, weights)]:
            yield Pooled(prices)
            yield from counted_proofs(prices, setting, law, kinds)


def counted_proofs(prices: Prices, setting: ExactArrivals, law: Any, kinds: Any) -> Iterator[Counted]:
    """Yield the counted bound, if tasks arrive singly on busy servers."""
    try:
        tasks = prices.of(law, kinds)
    except Refuted:  # so few tasks that none may have a price
        return
    check_load(setting, tasks)
    one_by_one = setting.tasks == setting.square == 1
    needed, square = (float(setting.rate * tasks.moment(power) / setting.leaving) for power in (1, 2))
    busy = tasks.most - needed < SPARE * math.sqrt(square)
    if one_by_one and busy and tasks.most <= MOST_PIECES and setting.rate <= MOST_ARRIVALS:
        yield counted_proof(prices, setting, tasks)


@functools.lru_cache(maxsize=64)
def bound_or_zero(workload: Workload) -> float:
    """Return the bound to show, or 0 if unclaimed, unstable or tiny."""
    try:
        value = queue_bound(workload).value
    except InputError:
        return 0.0
    return value if value >= VISIBLE else 0.0
