"""Workloads by name: `packenv.workload("paper/fig4b")`.

A new named workload is a function that returns a `Workload`, in a file of this folder, and its line in `WORKLOADS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from packenv.errors import InputError, nearest
from packenv.workloads.files import load_workload
from packenv.workloads.named import blocks, instances, random_requirements
from packenv.workloads.named.analytics import analytics
from packenv.workloads.named.dag import dag
from packenv.workloads.named.eagle import MIXES, eagle
from packenv.workloads.named.small import SMALL
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
    **SMALL,
}
"""By name, what makes the workload."""


def names() -> list[str]:
    """The names of all workloads that come with packenv."""
    return list(WORKLOADS)


def workload(name: str | Path, **changes: Any) -> Workload:
    """The workload with this name, or of this JSON file, with some arguments changed (`Workload.with_`).

    Raises InputError for an unknown name, and suggests the nearest ones.
    """
    text = str(name)
    if text in WORKLOADS:
        found = WORKLOADS[text]().with_(name=text)
    elif text.endswith(".json"):
        found = load_workload(text)
    else:
        raise InputError(f"unknown workload {text!r}{nearest(text, names())}, or a file *.json")
    return found.with_(**changes) if changes else found
