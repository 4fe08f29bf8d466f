"""Workloads by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from packenv.errors import InputError, nearest
from packenv.workloads.files import load_workload
from packenv.workloads.laws import Discrete, Fixed, Geometric, Uniform
from packenv.workloads.named import blocks, instances
from packenv.workloads.named.analytics import analytics
from packenv.workloads.named.eagle import MIXES, eagle
from packenv.workloads.workload import Workload


def fig3a() -> Workload:
    """PAPERS §1.6, figure 3(a): pairs of sizes 0.4 and 0.6 fill the server; ρ* = 2, λ* = 0.02."""
    return Workload(sizes=Discrete([0.4, 0.6]), service=Geometric(100), servers=1, rate=0.014)


def fig3b() -> Workload:
    """PAPERS §1.6, figure 3(b): a server of capacity 10, sizes 2 (twice as often) and 5, fixed service; λ* = 1/30."""
    return Workload(sizes=Discrete([2.0, 5.0], [2 / 3, 1 / 3]), service=Fixed(100), servers="1x10", rate=0.0306)


def fig4a() -> Workload:
    """PAPERS §1.6, figure 4(a): small jobs on five servers."""
    return Workload(sizes=Uniform(0.01, 0.19), service=Geometric(100), servers=5, intensity=0.9)


def fig4b() -> Workload:
    """PAPERS §1.6, figure 4(b): large jobs on five servers."""
    return Workload(sizes=Uniform(0.1, 0.9), service=Geometric(100), servers=5, intensity=0.9)


def google2011_like() -> Workload:
    """Sizes and services fitted to the window of the 2011 Google trace in `traces/`."""
    return load_workload(Path(__file__).with_name("google2011_like.json"))


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "paper/fig3a": fig3a,
    "paper/fig3b": fig3b,
    "paper/fig4a": fig4a,
    "paper/fig4b": fig4b,
    "google2011-like": google2011_like,
    "analytics": analytics,
    "price/fig1": instances.flow_shop,
    "price/fig2": instances.price_fig2,
    "price/fig3": instances.price_fig3,
    "price/fig5": instances.price_fig5,
    "price/fig8": instances.price_fig8,
    "price/abundant": instances.price_abundant,
    **{f"eagle/{trace}": partial(eagle, trace) for trace in MIXES},
    **blocks.NAMED,
}


def names() -> list[str]:
    """Names of all workloads that come with packenv."""
    return list(WORKLOADS)


def workload(name: str | Path, **changes: Any) -> Workload:
    """The workload of this name, or in this JSON file, with some arguments changed (`Workload.with_`).

    Raises InputError for an unknown name, with the nearest ones.
    """
    text = str(name)
    if text in WORKLOADS:
        found = WORKLOADS[text]().with_(name=text)
    elif text.endswith(".json"):
        found = load_workload(text)
    else:
        raise InputError(f"unknown workload {text!r}{nearest(text, names())}, or a file *.json")
    return found.with_(**changes) if changes else found
