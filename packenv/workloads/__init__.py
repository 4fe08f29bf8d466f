"""Randomness lives here and nowhere else: laws of sizes and services, arrivals, servers, workloads by name, traces.

Public names are loaded when they are first used, so that importing packenv stays cheap. The function that finds a
workload by its name is `packenv.workload`, from `packenv.workloads.named`: here the name belongs to the module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packenv.workloads.files import load_workload
    from packenv.workloads.laws import (
        Beta,
        Conditional,
        Constant,
        Discrete,
        Empirical,
        Exponential,
        Fixed,
        Geometric,
        Histogram,
        HyperExponential,
        Joint,
        Law,
        LogNormal,
        Mixture,
        Pareto,
        Uniform,
        parse_law,
    )
    from packenv.workloads.laws.arrivals import Arrivals, Batch, Bernoulli, Modulated, Periodic, Poisson
    from packenv.workloads.named import names
    from packenv.workloads.servers import Servers, as_servers, parse_servers
    from packenv.workloads.workload import Workload

PLACES = {
    "laws.arrivals": ["Arrivals", "Batch", "Bernoulli", "Modulated", "Periodic", "Poisson"],
    "files": ["load_workload"],
    "laws": [
        *["Beta", "Conditional", "Constant", "Discrete", "Empirical", "Exponential", "Fixed", "Geometric", "Histogram"],
        *["HyperExponential", "Joint", "Law", "LogNormal", "Mixture", "Pareto", "Uniform", "parse_law"],
    ],
    "named": ["names"],
    "servers": ["Servers", "as_servers", "parse_servers"],
    "workload": ["Workload"],
}
HOME = {name: module for module, its_names in PLACES.items() for name in its_names}

__all__ = [
    "Arrivals",
    "Batch",
    "Bernoulli",
    "Beta",
    "Conditional",
    "Constant",
    "Discrete",
    "Empirical",
    "Exponential",
    "Fixed",
    "Geometric",
    "Histogram",
    "HyperExponential",
    "Joint",
    "Law",
    "LogNormal",
    "Mixture",
    "Modulated",
    "Pareto",
    "Periodic",
    "Poisson",
    "Servers",
    "Uniform",
    "Workload",
    "as_servers",
    "load_workload",
    "names",
    "parse_law",
    "parse_servers",
]


def __getattr__(name: str) -> Any:
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
