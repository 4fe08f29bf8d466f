"""Options of the verbs. Importing them needs no compiler."""

from __future__ import annotations

import math
from dataclasses import dataclass

from packenv.extend import ArgumentError, Count, option

DEFAULT_RULES = ("vllm", "vllm:watermark=0.02", "sarathi", "sglang")
SLOS = ((1.0, 0.03), (5.0, 0.06))
"""Default limits for goodput: seconds to the first token, and seconds per further token."""


@dataclass(frozen=True)
class ReplicaOptions:
    """The replica, and where its requests come from."""

    blocks: int = option(7022, "Blocks of memory (0: unlimited).", group="Replica")
    spare: int = option(1, "Blocks that no request can use.")
    block: Count = option(16, "Tokens in a block.", "--block-size")
    budget: int = option(8192, "Largest number of tokens in a step (0: unlimited).")
    sequences: int = option(256, "Largest number of running requests (0: unlimited).")
    time: str = option("vllm-44594", "Step time: unit, vllm-44594, codellama, fixed=0.006,prefill=1e-5, or a table.")
    poisson: bool = option(False, "Draw rows of a file one by one, with Poisson arrivals.")
    prediction_error: float = option(0.0, "Standard deviation of the logarithm of predicted over true outputs.")

    def __post_init__(self) -> None:
        if not 0 <= self.prediction_error <= 5:
            raise ArgumentError(f"`prediction_error` is from 0 to 5, not {self.prediction_error}")


@dataclass(frozen=True)
class EvaluateOptions(ReplicaOptions):
    """How rules are compared."""

    load: float | None = option(None, "Arrivals as a share of the bound  [default: 0.9].", group="Requests", common=True)
    rate: float | None = option(None, "Requests per second.", common=True)
    closed: Count | None = option(None, "Clients with one request at a time, without a verdict.")
    count: Count = option(20_000, "Requests in a run.")
    seed: int = option(0, "First seed.")
    seeds: Count = option(8, "Number of seeds: the same requests for every rule.", common=True)
    slo: tuple[str, ...] = option((), "Limits for goodput, TTFT:TPOT in seconds. Repeat for more  [default: 1:0.03 and 5:0.06].")

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(value is not None for value in (self.load, self.rate, self.closed)) > 1:
            raise ArgumentError("give one of `load`, `rate` and `closed`: clients send their next request when one ends")
        for key in ("load", "rate"):
            value = getattr(self, key)
            if value is not None and not 0 < value < math.inf:
                raise ArgumentError(f"`{key}` is a number above 0, not {value}")
        if self.seed < 0:
            raise ArgumentError(f"`seed` must not be negative, not {self.seed}")
        _ = self.slos

    @property
    def slos(self) -> list[tuple[float, float]]:
        try:
            pairs = [tuple(float(part) for part in text.split(":")) for text in self.slo] or [*SLOS]
            if all(len(pair) == 2 and min(pair) > 0 for pair in pairs):
                return [(pair[0], pair[1]) for pair in pairs]
        except ValueError:
            pass
        raise ArgumentError("`slo` is TTFT:TPOT in seconds, such as 1:0.03")


@dataclass(frozen=True)
class JudgeOptions(ReplicaOptions):
    """How long the largest stable load is looked for."""

    seeds: Count = option(8, "Runs at each load.", group="Run", common=True)
    width: float = option(0.01, "Stop when the interval is at most this wide (0 to 1).")
    count: Count = option(128_000, "Requests in the longest runs. The first last 500 services.")
