"""The workloads of the figures of PAPERS §1.6, and the random model of the Google trace."""

from __future__ import annotations

from pathlib import Path

from packenv.workloads.files import load_workload
from packenv.workloads.laws import Discrete, Fixed, Geometric, Uniform
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
    """Random tasks with sizes, services and arrivals fitted to a window of the Google trace of 2011."""
    return load_workload(Path(__file__).with_name("google2011_like.json"))
