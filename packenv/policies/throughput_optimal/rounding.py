"""Types, ρ_K and conditions of the proofs, for MSR and `kmw`."""

from __future__ import annotations

from typing import Any

from packenv.errors import InputError
from packenv.policy import Setting, name_of
from packenv.theory.capacity.max_workload import supportable
from packenv.theory.capacity.one_resource.knapsack import MOST_STEPS
from packenv.theory.rounded_configurations import RoundedProgram
from packenv.theory.rounded_program import MOST_NAMED, rounded_program
from packenv.workloads.laws.arrivals import Batch, Bernoulli, Poisson
from packenv.workloads.laws.services import Geometric
from packenv.workloads.workload import Workload

TRIED = 32, 64, 128, 256, 512, 1024


def checked_program(policy: Any, setting: Setting, most_steps: int = MOST_STEPS) -> RoundedProgram:
    """Return the program of `policy.types`.

    If that is 0, it has as many types as make ρ_K >= (1 - policy.eps) ρ*, and more if the load needs more. Raises InputError for
    parameters out of range, and for a load that is at least ρ_K of `policy.types` although ρ* is larger.
    """
    if not 0 <= policy.types <= MOST_NAMED or not 0 < policy.eps < 1 or policy.few < 0:
        raise InputError(f"{name_of(policy)}: types must lie between 1 and {MOST_NAMED:,}, eps between 0 and 1, and few be >= 0")
    if not 0 <= policy.grid <= MOST_NAMED or (policy.types and policy.grid):
        raise InputError(f"{name_of(policy)}: give types or grid, at most {MOST_NAMED:,}, not both")
    if policy.few and not policy.backfill:
        raise InputError(f"{name_of(policy)}: few={policy.few} is for backfill, without which so short queues are never served")
    workload = setting.workload
    program = program_of(policy, workload, most_steps)
    if policy.grid or workload.jobs is not None:
        return program
    load, largest = workload.rate * workload.mean_service, supportable(workload).lower
    if not program.rho <= load < largest:  # above ρ* no number of types would do
        return program
    if policy.types:
        raise InputError(f"{name_of(policy)}: {too_few(policy, workload, program, load)}")
    return rounded_program(workload, 0, (1 - load / largest) / 2, most_steps)


def too_few(policy: Any, workload: Workload, program: RoundedProgram, load: float) -> str:
    """Return a notice that ρ_K is too small, with a sufficient K."""
    enough = (count for count in TRIED if count > policy.types and rounded_program(workload, count, policy.eps).rho > load)
    count = next(enough, None)
    what = f"types={count} would do" if count else f"even types={TRIED[-1]} would not do"
    return f"a load of {load:.4g} tasks in service is above ρ_K = {program.rho:.4g} of {len(program.sizes)} types; {what}"


def too_few_for_eps(policy: Any, setting: Setting, most_steps: int = MOST_STEPS) -> str:
    """Return a line if no tried K reaches (1 - policy.eps) ρ*, or ""."""
    workload = setting.workload
    if policy.types or policy.grid or workload.jobs is not None:
        return ""
    program, largest = program_of(policy, workload, most_steps), supportable(workload)
    if program.rho >= (1 - policy.eps) * largest.lower:
        return ""
    share = program.rho / largest.upper
    return f"{name_of(policy)}: {len(program.sizes)} types, the most, support {share:.3f} of ρ* or more, short of 1 - eps"


def program_of(policy: Any, workload: Workload, most_steps: int) -> RoundedProgram:
    return rounded_program(workload, policy.grid or policy.types, policy.eps, most_steps, grid=policy.grid > 0)


def proven_share(policy: Any, setting: Setting, most_steps: int = MOST_STEPS) -> float:
    """Return ρ_K / ρ*, or 0 outside the model.

    The model has independent arrivals, and geometric service that does not depend on the demand.
    """
    workload = setting.workload
    if workload.jobs is not None or not isinstance(workload.service, Geometric):
        return 0.0
    if not isinstance(workload.arrivals, (Poisson, Bernoulli, Batch)):
        return 0.0
    program = program_of(policy, workload, most_steps)
    return min(1.0, program.rho / supportable(workload).upper)
