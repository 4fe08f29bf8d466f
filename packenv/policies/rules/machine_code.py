"""Rules as machine code, called through their address.

Each is compiled alone, in some tenths of a second.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import apart, compiled
from packenv.compiled.intrinsics import NotCompilable, address_of, call_address, natural
from packenv.errors import InputError
from packenv.policies.rules.language import ATTRIBUTES, MATHEMATICS, MOST_ROUNDS, OBJECTS, VECTORS, Rule, checked
from packenv.policies.rules.view import OF_JOBS, RANK, WAITING, View, count_up_to, in_units, new_view


class ByAddress(NamedTuple):
    """A compiled rule, and whether it reads ages or waiting sizes."""

    address: int
    reads_age: int
    reads_sizes: int

    def __reduce__(self) -> Any:
        """In another process the machine code lies elsewhere."""
        return by_address, sources[self.address]


class OfJobs(NamedTuple):
    """The same for a rule that reads facts of tables, such as jobs."""

    address: int
    reads_sizes: int

    def __reduce__(self) -> Any:
        return by_address, sources[self.address]


SAMPLES = 200
"""Random states in which a rule is evaluated at two ages."""

sources: dict[int, tuple[str, str, str]] = {}
"""The text, the file and the function of each rule that this process has compiled, by its address."""


@functools.cache
def by_address(source: str, file: str, function: str) -> ByAddress | OfJobs:
    """Compile a rule. InputError names file and line."""
    rule = checked(source, file, function)
    view = new_view(1, np.zeros(0))
    address = rule_address(rule, file, function, (view.task, view.server, view.cluster, view))
    sources[address] = source, file, function
    reads_sizes = not rule.reads.isdisjoint({"cluster.waiting_between", "cluster.room_after"})
    if any(f"task.{name}" in rule.reads for name in OF_JOBS):
        return OfJobs(address, int(reads_sizes))
    return ByAddress(address, int("task.age" in rule.reads), int(reads_sizes))


def rule_address(rule: Rule, file: str, function: str, arguments: tuple[Any, ...]) -> int:
    """Compile a checked rule for such arguments. Return its address (InputError)."""
    names = dict(LANGUAGE)
    exec(compile(rule.tree, file, "exec"), names)  # definitions and constants alone: `checked` has seen to that
    functions = [names[node.name] for node in rule.tree.body if isinstance(node, ast.FunctionDef) and node.name != function]
    try:
        return address_of([*functions, names[function]], arguments)
    except NotCompilable as error:
        raise InputError(f"{file}:{error.line}: this cannot be compiled: {error}") from None


def falls_with_age(rule: Rule, function: str, parameters: Sequence[float]) -> bool:
    """Return whether a longer wait lowers the priority for any of SAMPLES random states."""
    random = np.random.default_rng(0)
    facts = {"_waiting_between": lambda *_: 3.0, "_room_after": lambda *_: 0.1, "_rounds": lambda first, end: min(end, first + 8)}
    names = {**LANGUAGE, **facts, "_of_resource": lambda values, resource: values[int(resource) % len(values)]}
    exec(compile(rule.tree, "", "exec"), names)  # definitions and constants alone, as above
    for _ in range(SAMPLES):
        task, server, cluster = (
            SimpleNamespace(**{name: float(random.random()) for name in ATTRIBUTES[owner]}) for owner in OBJECTS
        )
        cluster.waiting, cluster.servers, cluster.resources = random.integers(1, [1000, 100, 3]).tolist()
        vectors = {f"{owner}_{name}": random.random(2) for owner, every in VECTORS.items() for name in every}
        view = SimpleNamespace(parameters=parameters, **vectors)
        # The same task after two waits.
        values = []
        for task.age in np.sort(10 ** random.uniform(0, 5, 2)).tolist():
            try:
                with np.errstate(all="ignore"):
                    values.append(names[function](task, server, cluster, view))
            except (ArithmeticError, ValueError):
                break
        if len(values) == 2 and values[1] < values[0]:
            return True
    return False


@compiled
def called(v: View, address: int) -> float:
    """Return the priority of the described task on the described server."""
    value = call_address(address, v.task[0], v.server[0], v.cluster[0], v)
    if not abs(value) < np.inf:
        raise ValueError("the priority of a waiting task is not a finite number: a division by 0, or the logarithm of 0")
    return value


# The functions that a rule may call. Sizes in shares of the largest server.


@apart
def _waiting_between(v: View, low: float, high: float) -> float:
    """Count the other waiting tasks with a size from low to high."""
    least, most = in_units(v, low, True), in_units(v, high, False)
    count = count_up_to(v, most) - count_up_to(v, least - 1)
    if count <= 0:
        return 0.0
    size = v.sizes[natural(v.counts[RANK])]
    return float(count - (least <= size <= most))


@apart
def _room_after(v: View, room: float, tasks: float) -> float:
    """Return the rest of `room` after the n largest other fitting tasks."""
    left, below, place = in_units(v, room, False), v.counts[WAITING], v.counts[RANK]
    taken = 0
    for _ in range(int(min(max(tasks, 0.0), float(MOST_ROUNDS)))):
        largest = min(count_up_to(v, left - taken), below) - 1
        if largest == place:
            largest -= 1
        if largest < 0:
            break
        below = largest
        taken += v.sizes[natural(largest)]
    return max(room - taken * v.cluster[0].share, min(room, 0.0))  # not below 0 by an error of floating-point numbers


@compiled
def _of_resource(values: NDArray[np.float64], resource: int) -> float:
    """An amount of one resource."""
    if not 0 <= resource < values.shape[0]:
        raise ValueError("a rule asks for a resource that the cluster does not have: they are numbered from 0")
    return values[int(resource)]


@compiled
def _rounds(first: int, end: int) -> int:
    """The end of a loop, which must not be long."""
    if end - first > MOST_ROUNDS:
        raise ValueError("a rule has a loop of more than 1,000 rounds")
    return end


LANGUAGE: dict[str, Any] = {
    **{f"_{name}": getattr(np, name, None) or pow for name in MATHEMATICS},
    **{"_abs": abs, "_min": min, "_max": max, "_int": int, "_float": float, "_round": round, "_pow": pow, "range": range},
    **{"_waiting_between": _waiting_between, "_room_after": _room_after, "_of_resource": _of_resource, "_rounds": _rounds},
    "__builtins__": {},
}
"""What the names in a checked rule stand for."""
