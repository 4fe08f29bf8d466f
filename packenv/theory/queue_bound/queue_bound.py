"""`packenv.queue_bound`: the best of several lower bounds on the mean queue of every policy that does not know durations."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from packenv.errors import InputError
from packenv.theory.capacity.best_proofs import rounded_down
from packenv.theory.capacity.bracket import law_and_kinds
from packenv.theory.capacity.load import resolved
from packenv.theory.capacity.max_workload import max_workload
from packenv.theory.capacity.one_resource.certificate import Refuted
from packenv.theory.queue_bound.arrivals import Setting, setting_of
from packenv.theory.queue_bound.bound import Proved, QueueBound, QueueProof
from packenv.theory.queue_bound.candidates import dual_prices, step_prices, thresholds, weightings
from packenv.theory.queue_bound.counted import Counted
from packenv.theory.queue_bound.many_servers import MOST_PIECES, counted_proof
from packenv.theory.queue_bound.overload import check_load
from packenv.theory.queue_bound.pooled import Pooled
from packenv.theory.queue_bound.prices import Prices
from packenv.theory.queue_bound.probabilities import MOST_ARRIVALS
from packenv.workloads.workload import Workload

GAP, SECONDS = 0.005, 1.0  # of the search for prices that bound ρ*
VISIBLE = 0.01
SHOWN_AS = "lower bound (durations unknown)"
SPARE = 5.0
"""Where the room is so many standard deviations above what is needed, next to nothing waits for it: no proof is sought."""


def queue_bound(workload: Workload, progress: Callable[[float], None] | None = None) -> QueueBound:
    """A lower bound, with proof, on the mean queue of every policy that does not know durations.

    The mean queue is the number of waiting tasks, mean over all slots.
    Proved for random tasks with geometric service whose arrivals are independent from slot to slot (Poisson, Bernoulli, and
    batches of them). `progress` is called with the best bound so far whenever a relaxation improves.
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
        known = best.get(type(proof))
        if value > (0.0 if known is None else known.value):
            best[type(proof)] = Proved(value, proof)
            if progress is not None:
                progress(max(one.value for one in best.values()))
    return QueueBound(tuple(sorted(best.values(), key=lambda one: -one.value)), time.monotonic() - began)


def proofs_for(workload: Workload, setting: Setting, law: Any, kinds: Any) -> Iterator[QueueProof]:
    """The proofs to try."""
    bounded = max_workload(workload, GAP, SECONDS).bounded
    for weights in weightings(kinds, bounded):
        sizes, servers = Prices((1,), (1,), weights).in_one_resource(law, kinds)
        capacities = servers.capacity.tolist()
        counts = [Prices((t,), (1,), weights) for t in thresholds(sizes, capacities)]
        for prices in [*counts, *step_prices(sizes, capacities, weights), *dual_prices(bounded, sizes, weights)]:
            yield Pooled(prices)
            yield from counted_proofs(prices, setting, law, kinds)


def counted_proofs(prices: Prices, setting: Setting, law: Any, kinds: Any) -> Iterator[Counted]:
    """The counted bound for these prices, where tasks arrive one by one and need a fair share of their servers."""
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
def known_bound(workload: Workload) -> float:
    """The bound as a line beside policies: 0 where none is claimed, no policy keeps up, or it is too small to be seen."""
    try:
        value = queue_bound(workload).value
    except InputError:
        return 0.0
    return value if value >= VISIBLE else 0.0
