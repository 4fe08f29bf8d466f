"""Workloads: laws, arrival processes, servers, named workloads and traces.

This folder has all randomness of packenv. Public names are imported on first use, so importing packenv stays cheap. The
function `packenv.workload` finds a workload by name. The module `workload` in this package defines the class `Workload`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.lazy_names import homes_of, lazy_names

if TYPE_CHECKING:
    from packenv.workloads.laws import Beta as Beta
    from packenv.workloads.laws import Conditional as Conditional
    from packenv.workloads.laws import Constant as Constant
    from packenv.workloads.laws import Discrete as Discrete
    from packenv.workloads.laws import Empirical as Empirical
    from packenv.workloads.laws import Exponential as Exponential
    from packenv.workloads.laws import Fixed as Fixed
    from packenv.workloads.laws import Geometric as Geometric
    from packenv.workloads.laws import Histogram as Histogram
    from packenv.workloads.laws import HyperExponential as HyperExponential
    from packenv.workloads.laws import Joint as Joint
    from packenv.workloads.laws import Law as Law
    from packenv.workloads.laws import LogNormal as LogNormal
    from packenv.workloads.laws import Mixture as Mixture
    from packenv.workloads.laws import Pareto as Pareto
    from packenv.workloads.laws import Uniform as Uniform
    from packenv.workloads.laws import parse_law as parse_law
    from packenv.workloads.laws.arrivals import Arrivals as Arrivals
    from packenv.workloads.laws.arrivals import Batch as Batch
    from packenv.workloads.laws.arrivals import Bernoulli as Bernoulli
    from packenv.workloads.laws.arrivals import Modulated as Modulated
    from packenv.workloads.laws.arrivals import Periodic as Periodic
    from packenv.workloads.laws.arrivals import Poisson as Poisson
    from packenv.workloads.named.registry import names as names
    from packenv.workloads.servers import Servers as Servers
    from packenv.workloads.servers import as_servers as as_servers
    from packenv.workloads.servers import parse_servers as parse_servers
    from packenv.workloads.workload import Workload as Workload
    from packenv.workloads.workload import load_workload as load_workload

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_names(__name__, homes_of(__file__))
