"""Small workloads, of which `packenv optimal-policy` finds the shortest mean queue: few sizes, few servers, short services."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from packenv.workloads.laws import Discrete, Geometric
from packenv.workloads.laws.arrivals import Bernoulli
from packenv.workloads.workload import Workload


def small(sizes: list[float], weights: list[float], servers: str, rate: float) -> Workload:
    """At most one arrival in a slot, and services of 10 slots on average."""
    law = Discrete(sizes, weights)
    return Workload(sizes=law, service=Geometric(10), servers=servers, rate=rate, arrivals=Bernoulli())


SMALL: dict[str, Callable[[], Workload]] = {
    "small/fig3a": partial(small, [0.4, 0.6], [0.5, 0.5], "1x1", 0.14),  # load 0.7
    "small/fig3a-busy": partial(small, [0.4, 0.6], [0.5, 0.5], "1x1", 0.17),  # load 0.85
    "small/two-servers": partial(small, [0.3, 0.6], [0.6, 0.4], "1x1,1x0.7", 2 / 7),  # load 0.8
    "small/three-sizes": partial(small, [0.25, 0.4, 0.6], [1 / 3, 1 / 3, 1 / 3], "1x1", 0.168),  # load 0.7
    "small/worst-vqs-bf": partial(small, [0.327, 0.122], [0.5, 0.5], "1x1", 4.08 / 11),  # load 0.85
    "small/worst-vqs": partial(small, [0.555, 0.101], [1 / 12, 11 / 12], "1x1", 0.57375),  # load 0.85
}
"""By name. fig3a is that of PAPERS §1.6; the last two have the sizes of the worst cases found (`packenv worst-case`)."""
