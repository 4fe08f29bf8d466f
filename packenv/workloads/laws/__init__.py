"""All laws of sizes and services, and `parse_law`, which reads one from a text such as `uniform:0.1:0.9`.

A new law is a class derived from `Law`, imported here; with a line in `NUMBERS` or `WEIGHTED` the command line knows it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from packenv.errors import InputError, nearest
from packenv.inputs.numbers import is_number, read_duration, read_number
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law
from packenv.workloads.laws.services import Fixed, Geometric, HyperExponential, LogNormal
from packenv.workloads.laws.sizes import Beta, Constant, Discrete, Empirical, Exponential, Histogram, Mixture, Pareto, Uniform

__all__ = [
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
    "Pareto",
    "Uniform",
    "parse_law",
]

NUMBERS: dict[str, Callable[..., Law]] = {
    "uniform": Uniform,
    "constant": Constant,
    "beta": Beta,
    "exponential": Exponential,
    "pareto": Pareto,
    "geometric": Geometric,
    "fixed": Fixed,
    "lognormal": LogNormal,
}
"""Laws whose text is their parameters: `name:number:number`."""

WEIGHTED: dict[str, Callable[..., Law]] = {"discrete": Discrete, "hyperexponential": HyperExponential}
"""Laws whose text is a list: `name:value@weight,value@weight`, or `name:value,value` with equal weights."""


def parse_law(text: str, label: str) -> Law:
    """The law that a text such as `uniform:0.1:0.9`, `discrete:0.4@0.5,0.6@0.5` or `geometric:100` stands for.

    `label` ("sizes", "--service", …) is what the messages of InputErrors begin with. `exponential:mean` is cut off at 1, but
    not if `label` contains "service"; `exponential:mean:high` is cut off at `high`.
    """
    name, _, rest = text.strip().partition(":")
    try:
        if name in WEIGHTED:
            return WEIGHTED[name](*_weighted(rest))
        if name in NUMBERS:
            numbers = [read_number(part, infinite=True) for part in rest.split(":")] if rest else []
            return _from_numbers(name, numbers, "service" in label)
    except InputError as problem:
        joint = "sizes" in label and name in WEIGHTED and ":" in rest
        hint = "; of several resources, packenv.Workload(sizes=Joint([(0.5, 0.4), …], [0.7, …])) in Python" if joint else ""
        raise InputError(f"{label} {text!r}: {problem}{hint}") from None
    length = text.strip() if is_number(text.strip()) else read_duration(text.strip())
    if length is not None and "service" in label:
        slots = length if isinstance(length, str) else f"{float(length):.10g}"  # a cluster's slots are seconds
        raise InputError(f"{label} {text!r}: a law is needed, in slots: fixed:{slots}, or exponential:{slots} on average")
    raise InputError(f"{label} {text!r}: unknown law {name!r}{nearest(name, [*NUMBERS, *WEIGHTED])}")


def _from_numbers(name: str, numbers: list[float], service: bool) -> Law:
    law = NUMBERS[name]
    parameters = list(inspect.signature(law).parameters.values())
    needed = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    if not len(needed) <= len(numbers) <= len(parameters):
        shape = ":".join(parameter.name for parameter in parameters)
        raise InputError(f"{len(numbers)} numbers given, expected {name}:{shape}")
    options: dict[str, Any] = {"high": math.inf} if name == "exponential" and service and len(numbers) == 1 else {}
    return law(*numbers, **options)


def _weighted(text: str) -> tuple[list[float], list[float] | None]:
    pairs = [part.split("@") for part in text.split(",")]
    if any(len(pair) != len(pairs[0]) or len(pair) > 2 for pair in pairs):
        raise InputError("expected value@weight,value@weight,… or value,value,…")
    values = [read_number(pair[0], infinite=True) for pair in pairs]
    return values, [read_number(pair[1], infinite=True) for pair in pairs] if len(pairs[0]) == 2 else None
