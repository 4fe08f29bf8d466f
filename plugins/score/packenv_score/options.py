"""The options of `packenv_score.score` and of `packenv score`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from packenv.extend import Count, InFile, PolicyName, Range, option


@dataclass(frozen=True)
class ScoreOptions:
    """Suite and effort of a score."""

    suite: InFile = option(
        "one-resource", "Suite of workloads: a name, or a .json file.", metavar="NAME", group="Run", common=True
    )
    against: PolicyName | None = option(None, "Policy with score 0  [default: the suite's].")
    test: bool = option(False, "Use the suite's test workloads; a search should see them once.")
    time: float = option(60.0, "Start no runs after N seconds.")
    width: float = option(2.0, "Stop when the score is known to ± this.")
    stages: Annotated[int, Range(1, 3)] = option(3, "Stop after: 1, legal on toy clusters; 2, a few runs; 3, the interval.")
    seed: Annotated[int, Range(0)] | None = option(None, "Seed of the jobs, to repeat a score  [default: random].")
    processes: Count | None = option(None, "Runs at the same time  [default: one per core].")
