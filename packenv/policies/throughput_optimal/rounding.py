"""Types, ρ_K and conditions of the proofs, for MSR and `kmw`.

For boxes, and for sizes with too many sums, the heaviest configuration ⟨k, Q⟩ is one of a list. The list has the configurations
that attain ρ_K, so its largest weight is at least theirs, as the proof needs. Among equal weights the first counts, in descending
lexicographic order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import Cluster, queue_length
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.policies.throughput_optimal.entitled import Entitled, Ints
from packenv.policy import Setting, name_of
from packenv.theory.capacity.max_workload import supportable
from packenv.theory.capacity.one_resource.knapsack import MOST_STEPS
from packenv.theory.rounded_boxes import RoundedProgram
from packenv.theory.rounded_program import MOST_NAMED, rounded_program
from packenv.workloads.laws.arrivals import Batch, Bernoulli, Poisson
from packenv.workloads.laws.services import Geometric
from packenv.workloads.workload import Workload

TRIED = 32, 64, 128, 256, 512, 1024


def checked_program(policy: Any, setting: Setting, most_steps: int = MOST_STEPS) -> RoundedProgram:
    """Return the program of `policy.types`.

    If that is 0, it has enough types for ρ_K >= (1 - policy.eps) ρ*, and more if the load needs more. Raises InputError for
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
    """Return ρ_K / ρ*, or 0 without independent arrivals and geometric service."""
    workload = setting.workload
    if workload.jobs is not None or not isinstance(workload.service, Geometric):
        return 0.0
    if not isinstance(workload.arrivals, (Poisson, Bernoulli, Batch)):
        return 0.0
    program = program_of(policy, workload, most_steps)
    return min(1.0, program.rho / supportable(workload).upper)


class Listed(NamedTuple):
    """Configurations (m) by kind of server, as W pairs (type, number), larger first."""

    type: NDArray[np.int32]  # (m, W)
    number: NDArray[np.int32]  # (m, W)
    types: NDArray[np.int32]  # (m,) how many pairs a row has
    first: Ints  # (kinds + 1,) those of kind k are rows first[k] .. first[k + 1] - 1; (0,) if there is no list
    heaviest: Ints  # (kinds,) scratch: row of the largest weight


def listed(program: RoundedProgram, kinds: Ints, width: int) -> Listed:
    """Return a program's list, for kinds of server (G,) or (G, D)."""
    if program.listed is None:
        nothing = np.zeros((0, width), np.int32)
        return Listed(nothing, nothing, np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
    capacity = program.capacity.reshape(len(program.capacity), -1)
    kind_of = [int(np.flatnonzero((capacity == units).all(axis=1))[0]) for units in kinds]
    chosen = [program.listed.counts[program.listed.kind == kind].astype(np.int64) for kind in kind_of]
    counts = [rows if len(rows) else np.zeros((1, len(program.sizes)), np.int64) for rows in chosen]
    return Listed(*pairs(np.concatenate(counts), width), np.cumsum([0, *map(len, counts)]), np.zeros(len(counts), np.int64))


def pairs(counts: Ints, width: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return types and numbers (m, width), and pairs (m,), of counts (m, T)."""
    of_type, number = np.zeros((len(counts), width), np.int32), np.zeros((len(counts), width), np.int32)
    for n, row in enumerate(counts):
        present = np.flatnonzero(row)
        of_type[n, : len(present)], number[n, : len(present)] = present, row[present]
    return of_type, number, np.count_nonzero(counts, axis=1).astype(np.int32)


@compiled
def is_listed(choices: Listed) -> bool:
    """Whether there is a list."""
    return choices.first.shape[0] > 0


@compiled
def largest_listed_weight(cluster: Cluster, choices: Listed, kind: int) -> int:
    """The largest weight of a configuration in the list."""
    most = -1
    for row in range(choices.first[kind], choices.first[kind + 1]):
        weight = 0
        for n in range(choices.types[row]):
            weight += choices.number[row, n] * queue_length(cluster, kind, choices.type[row, n])
        if weight > most:
            most, choices.heaviest[kind] = weight, row
    return most


@compiled
def activate_heaviest(choices: Listed, entitled: Entitled, kind: int, server: int) -> None:
    """Make the last configuration of this kind the server's active one."""
    row = choices.heaviest[kind]
    entitled.types[server] = choices.types[row]
    for n in range(choices.types[row]):
        entitled.type[server, n], entitled.number[server, n] = choices.type[row, n], choices.number[row, n]
