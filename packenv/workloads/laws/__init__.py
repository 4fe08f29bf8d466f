"""Laws of sizes and services, and `parse_law`: `uniform:0.1:0.9`.

`parse_arrivals` reads a process of arrivals: `modulated:1,10:500,50`.

A new law is a class derived from `Law`, imported here. A line in `NUMBERS` or `WEIGHTED` makes it known to the command line.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from packenv.content.text import counted
from packenv.errors import ArgumentError, InputError, nearest
from packenv.inputs.numbers import is_number, read_duration, read_number, read_seconds
from packenv.workloads.laws.arrivals import Arrivals, Batch, Bernoulli, Modulated, Periodic, Poisson
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
    "parse_arrivals",
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
"""Laws with a text of their parameters: `name:number:number`."""

WEIGHTED: dict[str, Callable[..., Law]] = {"discrete": Discrete, "hyperexponential": HyperExponential}
"""Laws with a list as text: `name:value@weight,value@weight`, or `name:value,value` with equal weights."""


OF_TIME = ("slots", "low", "high", "value", "scale")
"""Parameters in slots for laws of services; the others are shapes."""


def parse_law(text: str, label: str, slot_seconds: float | None = None) -> Law:
    """Return the law for a text such as `uniform:0.1:0.9` or `geometric:100`.

    label   beginning of the messages of ArgumentErrors: "`sizes`", "--service", …

    `discrete:0.4@0.5,0.6@0.5` has weights. `exponential:mean` is cut off at 1, unless `label` contains "service".
    `exponential:mean:high` is cut off at `high`. Services may have units of time, such as `exponential:1h`, if the length of a
    slot is known.
    """
    name, _, rest = text.strip().partition(":")
    try:
        if name in WEIGHTED:
            return WEIGHTED[name](*_weighted(rest, "service" in label, slot_seconds))
        if name in NUMBERS:
            timed = [*inspect.signature(NUMBERS[name]).parameters] if "service" in label else []
            parts = [*zip_longest(rest.split(":"), timed)] if rest else []
            numbers = [_number(part, of in OF_TIME, slot_seconds) for part, of in parts if part is not None]
            return _from_numbers(name, numbers, "service" in label)
    except InputError as problem:
        joint = "sizes" in label and name in WEIGHTED and ":" in rest
        hint = "; of several resources, packenv.Workload(sizes=Joint([(0.5, 0.4), …], [0.7, …])) in Python" if joint else ""
        raise ArgumentError(f"{label} {text!r}: {problem}{hint}") from None
    length = text.strip() if is_number(text.strip()) else read_duration(text.strip())
    if length is not None and "service" in label:
        lasting = text.strip()
        raise ArgumentError(f"{label} {text!r}: a law is needed: fixed:{lasting}, or exponential:{lasting} on average")
    raise ArgumentError(f"{label} {text!r}: unknown law {name!r}{nearest(name, [*NUMBERS, *WEIGHTED])}")


def _from_numbers(name: str, numbers: list[float], service: bool) -> Law:
    law = NUMBERS[name]
    parameters = list(inspect.signature(law).parameters.values())
    needed = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    if not len(needed) <= len(numbers) <= len(parameters):
        shape = ":".join([name, *needed]) + "".join(f"[:{parameter.name}]" for parameter in parameters[len(needed) :])
        raise InputError(f"{counted(len(numbers), 'number')} given, expected {shape}")
    options: dict[str, Any] = {"high": math.inf} if name == "exponential" and service and len(numbers) == 1 else {}
    return law(*numbers, **options)


def _number(text: str, of_time: bool, slot_seconds: float | None) -> float:
    seconds = read_seconds(text) if of_time and not is_number(text) else None
    if seconds is None:
        return _plain_number(text)
    if slot_seconds is None:
        raise InputError(f"{text.strip()} needs the length of a slot: give `slot_seconds`, such as 1")
    return float(seconds / Fraction(slot_seconds))


def _plain_number(text: str) -> float:
    """Return a number, a fraction such as 1/3, or `inf`."""
    above, line, below = text.partition("/")
    divisor = read_number(below) if line else 1.0
    if divisor <= 0:
        raise InputError(f"{text.strip()}: the number below the line of a fraction must be above 0")
    return read_number(above, infinite=not line) / divisor


def _weighted(text: str, of_time: bool, slot_seconds: float | None) -> tuple[list[float], list[float] | None]:
    pairs = [part.split("@") for part in text.split(",")]
    if any(len(pair) != len(pairs[0]) or len(pair) > 2 for pair in pairs):
        raise InputError("expected value@weight,value@weight,… or value,value,…")
    values = [_number(pair[0], of_time, slot_seconds) for pair in pairs]
    return values, [_plain_number(pair[1]) for pair in pairs] if len(pairs[0]) == 2 else None


ARRIVALS = {
    "poisson": "poisson",
    "bernoulli": "bernoulli",
    "periodic": "periodic:PROFILE:PERIOD, such as periodic:1,3,2:1440",
    "modulated": "modulated:RATES:SOJOURNS[:uniform], such as modulated:1,10:500,50",
    "batch": "batch:LAW, such as batch:geometric:4",
    "gang": "gang:LAW, such as gang:discrete:1@0.8,8@0.2",
}
"""Processes of arrivals by name, and the form of their texts."""


def parse_arrivals(text: str, label: str, slot_seconds: float | None = None) -> Arrivals:
    """Return the process of arrivals that a text such as `modulated:1,10:500,50` stands for.

    text          a key of ARRIVALS and its parameters. `batch` and `gang` take a law of the number of tasks in a job. Periods
                  and sojourns are slots, or times such as 10min
    label         the beginning of messages
    slot_seconds  length of a slot, if it is known

    Raises ArgumentError.
    """
    name, _, rest = text.strip().partition(":")
    if name not in ARRIVALS:
        raise ArgumentError(f"{label} {text!r}: unknown arrivals {name!r}{nearest(name, [*ARRIVALS])}")
    parts = rest.split(":") if rest else []

    def numbers(part: str, of_time: bool = False) -> list[float]:
        return [_number(number, of_time, slot_seconds) for number in part.split(",")]

    try:
        if name in ("batch", "gang") and rest:
            return Batch(parse_law(rest, "tasks in a job (a law, as for service)"), gang=name == "gang")
        if name == "poisson" and not parts:
            return Poisson()
        if name == "bernoulli" and not parts:
            return Bernoulli()
        if name == "periodic" and len(parts) == 2:
            return Periodic(numbers(parts[0]), _number(parts[1], True, slot_seconds))
        if name == "modulated" and len(parts) in (2, 3):
            following: Any = parts[2] if len(parts) == 3 else "cycle"
            return Modulated(numbers(parts[0]), numbers(parts[1], True), following)
    except InputError as problem:
        raise ArgumentError(f"{label} {text!r}: {problem}") from None
    raise ArgumentError(f"{label} {text!r}: expected {ARRIVALS[name]}")
