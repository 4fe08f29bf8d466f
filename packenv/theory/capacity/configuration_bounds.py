"""Lower bounds on ρ* from a fixed set of configurations.

They solve the linear program of PAPERS §1.2 over these alone. Sizes are rounded up to the upper end of their type. With the
reduced configurations K_RED of VQS, the bound also holds for the workload that VQS supports (PAPERS §1.7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.theory.capacity.linear_program import ConfigurationColumns, ConfigurationProgram, ServerKinds
from packenv.theory.capacity.one_resource.size_law import SizeLaw, kinds_of, size_law
from packenv.theory.configurations import halving_bounds, halving_configurations, reduced_bounds, reduced_configurations
from packenv.workloads.find import workload as find_workload

Ints = NDArray[np.int64]


def vqs_bound(workload: Any, levels: int | None = None) -> float:
    """Return a workload (tasks in service) that VQS supports. `workload` is what `packenv.workload` takes.

    It is the program of §1.2 over K_RED, with sizes rounded up, for geometric service. `levels` is J (by default that of the
    policy). Exactly 4/3 on figure 3(a). Raises InputError for servers of different capacity.
    """
    return _bound(workload, levels, reduced_bounds, reduced_configurations)


def halving_bound(workload: Any, levels: int | None = None) -> float:
    """Return a workload (tasks in service) supported by sizes 2^−m. `workload` is what `packenv.workload` takes.

    Sizes are rounded up to 2^−m: at least ½ of ρ* if no size is below the last cut. `levels` is J (by default VQS's).
    Raises InputError for servers of different capacity.
    """
    return _bound(workload, levels, halving_bounds, halving_configurations)


def _bound(
    workload: Any, levels: int | None, bounds: Callable[[int, int], Ints], configurations: Callable[[int], Ints]
) -> float:
    workload = find_workload(workload)
    law, kinds = size_law(workload), kinds_of(workload)
    if len(kinds.number) > 1:
        raise InputError("this bound is for servers of equal capacity")
    J = workload.default_levels() if levels is None else levels
    upper = bounds(J, int(kinds.capacity[0]))
    return served_by(configurations(J), type_shares(law, upper), int(kinds.number[0]))


def type_shares(law: SizeLaw, upper: Ints) -> NDArray[np.float64]:
    """(n,) probabilities of types with decreasing ends (n,) in units."""
    types = len(upper) - 1 - np.searchsorted(upper[::-1], law.high)
    return np.bincount(types, law.mass, len(upper)) / law.mass.sum()


def served_by(configurations: Ints, shares: NDArray[np.float64], servers: int) -> float:
    """Return ρ for `servers` configurations (m, n), shares (n,)."""
    program = ConfigurationProgram(shares, ServerKinds(np.ones(1, np.int64), np.array([servers])))
    program.add(ConfigurationColumns(configurations.astype(np.float64), np.zeros(len(configurations), np.int64)))
    return program.solve()[0]
