"""Workloads of PAPERS §1.6, the Google model, and small workloads.

`packenv optimal-policy` finds the shortest mean queue of the small ones: few sizes, few servers, short services.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from packenv.workloads.laws import Discrete, Fixed, Geometric, Uniform
from packenv.workloads.laws.arrivals import Bernoulli
from packenv.workloads.workload import Workload, load_workload


def small(sizes: list[float], weights: list[float], servers: str, rate: float) -> Workload:
    """Return a workload of Bernoulli arrivals, with services of mean 10 slots."""
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
"""By name. fig3a is from PAPERS §1.6; the last two have the sizes of the worst cases found (`experiments/worst_case.py`)."""


def small_workload(name: str) -> Workload:
    return SMALL[name]()


def fig3a() -> Workload:
    """PAPERS §1.6, figure 3(a): ρ* = 2, λ* = 0.02."""
    return Workload(sizes=Discrete([0.4, 0.6]), service=Geometric(100), servers=1, rate=0.014)


def fig3b() -> Workload:
    """PAPERS §1.6, figure 3(b): λ* = 1/30."""
    return Workload(sizes=Discrete([2.0, 5.0], [2 / 3, 1 / 3]), service=Fixed(100), servers="1x10", rate=0.0306)


def fig4a() -> Workload:
    """PAPERS §1.6, figure 4(a): small jobs on five servers."""
    return Workload(sizes=Uniform(0.01, 0.19), service=Geometric(100), servers=5, intensity=0.9)


def fig4b() -> Workload:
    """PAPERS §1.6, figure 4(b): large jobs on five servers."""
    return Workload(sizes=Uniform(0.1, 0.9), service=Geometric(100), servers=5, intensity=0.9)


def google2011_like() -> Workload:
    """Return random tasks like a window of Google's trace of 2011."""
    return load_workload(Path(__file__).with_name("google2011_like.json"))
