"""Workloads by name, of which `packenv.workload("paper/fig4b")` is one.

A new named workload is a function that returns a `Workload`, in a file of this folder, and its line in `WORKLOADS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from packenv.workloads.named import blocks, instances, random_requirements
from packenv.workloads.named.analytics import analytics
from packenv.workloads.named.dag import dag
from packenv.workloads.named.eagle import MIXES, eagle
from packenv.workloads.named.lublin import lublin
from packenv.workloads.named.random_requirements import SMALL
from packenv.workloads.workload import Workload

WORKLOADS: dict[str, Callable[[], Workload]] = {
    "paper/fig3a": random_requirements.fig3a,
    "paper/fig3b": random_requirements.fig3b,
    "paper/fig4a": random_requirements.fig4a,
    "paper/fig4b": random_requirements.fig4b,
    "google2011-like": random_requirements.google2011_like,
    "analytics": analytics,
    "dag": dag,
    "price/fig1": instances.flow_shop,
    "price/fig2": instances.price_fig2,
    "price/fig3": instances.price_fig3,
    "price/fig5": instances.price_fig5,
    "price/fig8": instances.price_fig8,
    "price/abundant": instances.price_abundant,
    **{f"eagle/{trace}": partial(eagle, trace) for trace in MIXES},
    "delay/facebook": blocks.readers,
    "delay/racks": partial(blocks.readers, rack=20),
    "delay/changing": partial(blocks.readers, factor=blocks.SWINGS),
    "delay/hot": blocks.hot,
    "delay/hot-changing": partial(blocks.hot, factor=blocks.SWINGS),
    "hpc/lublin": lublin,
    **{f"hpc/lublin-{percent}": partial(lublin, intensity=percent / 100) for percent in (70, 90)},
    **SMALL,
}
"""The maker of each workload, by name."""


def names() -> list[str]:
    """The names of all workloads that come with packenv."""
    return list(WORKLOADS)


def named_workload(name: str) -> Workload:
    """The workload of one of the `names`."""
    return WORKLOADS[name]().with_(name=name)
