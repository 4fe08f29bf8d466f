"""Hindsight optima of small instances, and MC-SF (arXiv 2502.07115)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from packenv.extend import InputError, library_needed


class RoundRequest(NamedTuple):
    """A request: size + j in round j, `output` rounds."""

    arrival: int
    size: int
    output: int


def least_total(requests: Sequence[RoundRequest], memory: int, seconds: float = 60.0) -> tuple[int, bool]:
    """Return the least Σ (end - arrival) and whether proved.

    CP-SAT solves it. A request's memory rises by one a round: a stack of intervals with the same end.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise InputError(library_needed("the hindsight program", "sat", error)) from None
    model = cp_model.CpModel()
    horizon = max(r.arrival for r in requests) + sum(r.output for r in requests)
    intervals, demands, starts = [], [], []
    for r in requests:
        start = model.new_int_var(r.arrival, horizon - r.output, "")
        starts.append(start)
        for j in range(r.output):  # from round j on, one unit more. The first layer includes the prompt
            intervals.append(model.new_fixed_size_interval_var(start + j, r.output - j, ""))
            demands.append(r.size + 1 if j == 0 else 1)
    model.add_cumulative(intervals, demands, memory)
    model.minimize(sum(start + r.output - r.arrival for start, r in zip(starts, requests, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 1
    status = solver.solve(model)
    return round(solver.objective_value), status == cp_model.OPTIMAL


def rounds_of(requests: Sequence[RoundRequest], memory: int, by_output: bool = True) -> list[int]:
    """Return starts under MC-SF, or FCFS with the same look-ahead."""
    starts: dict[int, int] = {}
    now = 0
    while len(starts) < len(requests):
        active = [i for i, begin in starts.items() if begin + requests[i].output > now]
        waiting = [i for i, r in enumerate(requests) if i not in starts and r.arrival <= now]
        for i in sorted(waiting, key=lambda i: (requests[i].output if by_output else 0, i)):
            # Start the request only if memory suffices at every end.
            members = [(starts[k], requests[k]) for k in active] + [(now, requests[i])]
            ends = [begin + r.output for begin, r in members]
            if any(sum(r.size + end - begin for begin, r in members if begin + r.output >= end) > memory for end in ends):
                break
            starts[i] = now
            active.append(i)
        now += 1
    return [starts[i] for i in range(len(requests))]
