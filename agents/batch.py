"""Evolve `agent:batch`: which job of one machine is next, trained on random streams of Lublin and Feitelson's model.

    python agents/batch.py --out batch            # 20 generations: two minutes of one core
    python agents/batch.py --out batch --quick    # a first look

The agent chooses as EASY does, one job at a time (NextJob with `backfill`). In each generation every candidate schedules the
same streams: 1,024 jobs of the model, from a random hour on, on machines of 16 to 1,024 processors, at loads from 0.3 to 1.3,
with other shares of serial jobs, of powers of two and of large jobs, and with shorter or longer runs. Those win whose mean
bounded slowdown is the least, as a multiple of the best of RIVALS on the same stream; multiples above 1 count double. No log is
among the streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from agents.training_run import evolve_on_cases, options_of
from packenv.learning.evolution import Case
from packenv.learning.objective import SLOWDOWN, Objective, measure
from packenv.learning.settings import Settings
from packenv.workloads.named.lublin import TYPELESS, TYPES, Lublin, Type
from packenv.workloads.workload import Workload

AGAINST = "easy:order=saf"
RIVALS = AGAINST, "easy:order=sjf", "easy"
JOBS, CASES = 1_024, 24  # of a stream, and streams of a generation
PROCESSORS = 16, 32, 64, 128, 256, 512, 1_024


@dataclass(frozen=True)
class Varied(Lublin):
    """The model with other shares of serial jobs, of powers of two and of small parallel jobs, and other lengths of runs."""

    serial: float = 0.2
    power: float = 0.6
    small: float = 0.8
    length: float = 1.0  # a factor on the scale of both gammas of log seconds

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(
            kind._replace(
                serial=self.serial,
                power=self.power,
                first=self.small,
                short=kind.short._replace(b=kind.short.b * self.length),
                long=kind.long._replace(b=kind.long.b * self.length),
            )
            for kind in (TYPES if self.typed else TYPELESS)
        )


def stream(seed: int) -> Workload:
    """JOBS jobs of the model, with parameters drawn from the seed, on a machine of its own."""
    draw = np.random.default_rng(seed)
    processors = int(draw.choice(PROCESSORS))
    serial = draw.uniform(0, 0.6)
    power, small, length = draw.uniform(0, 1 - serial), draw.uniform(0.2, 0.95), draw.uniform(0.7, 1.05)
    model = Varied(2 * JOBS, processors, draw.uniform(0.3, 1.3), bool(draw.integers(2)), serial, power, small, length)
    machine = Workload(jobs=model, servers=1, slot_seconds=1.0, processors=processors, name="random streams")
    return machine.windows(JOBS).at(seed)


SETTINGS = Settings(
    stream(0).with_(name="random streams of hpc/lublin"),
    environment="NextJob",
    network="varying",  # two weights a feature: one counts times the logarithm of the waiting jobs
    reward="slowdown",
    guard=None,
    window=128,
    types=16,
    options={"backfill": True},
    learning_rate=0.03,  # the first step size
    samples=20 * 16 * CASES * JOBS,  # jobs that candidates start, in all: 20 generations
    population=16,
)
FIRST_WEIGHTS = {
    "waits": (0.108, 0.104),
    "log_estimate": (-1.1, -2.44),
    "log_size": (-0.772, 1.14),
    "log_wait": (0.264, -0.763),
    "log_expansion": (0.322, 0.0366),
    "size": (0.0155, 0.0918),
    "size_fitting": (-0.161, -0.0935),
    "of_free": (-0.234, -0.153),
    "log_delay": (1.39, 0.873),
    "left": (0.00193, -0.153),
    "long_and_small": (0.0472, 0.26),
    "long": (0.232, -0.522),
    "small": (-0.764, -0.154),
    "large": (0.00958, 0.0478),
}
"""What a first evolution found, of 195 generations from the weights of `saf`, on 1,800 streams drawn alike."""
QUICK: dict[str, Any] = {"population": 4, "samples": 1}


def cases_of(seed: int, count: int = CASES) -> list[Case]:
    """Streams of a generation, and the least mean bounded slowdown of RIVALS on them."""
    cases = []
    for n in range(count):
        workload = stream(seed + n)
        reference = min(measure(workload, policy, None, 0, Objective(SLOWDOWN))[0] for policy in RIVALS)
        cases.append(Case(workload.name, workload, SETTINGS.horizon, reference))
    return cases


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, and keep an agent every so many generations and the last."""
    given = options_of(__doc__, arguments, processes=2)  # candidates that run at a time
    settings = replace(SETTINGS, seed=given.seed, **(QUICK if given.quick else {}))
    evolve_on_cases(settings, given.out, given.processes, cases_of, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
