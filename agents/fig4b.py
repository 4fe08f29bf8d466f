"""Evolve `agent:fig4b` again: five servers, sizes uniform on [0.1, 0.9] (figure 4(b) of arXiv 1901.05998).

    python agents/fig4b.py --out fig4b            # 1.2 billion tasks: a quarter of an hour on two idle cores
    python agents/fig4b.py --out fig4b --quick    # a first look

The agent fills one server at a time: it chooses the virtual queue, one of forty, whose largest task starts next. Its
network has thirty weights, and starts as best fit. CMA-ES draws 28 candidates a generation from a normal distribution,
lets each schedule the same jobs at four loads, and moves the distribution towards the half with the shortest queues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import packenv
from agents.training_run import compare, evolve, options_of
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("paper/fig4b"),
    network="linear",  # a weighted sum of fifteen terms of an action; weights depend on how many tasks wait
    types=40,  # virtual queues of equal width: fine enough to pair sizes that fill a server
    arrivals={"intensity": (0.9, 0.99)},  # share of the area bound; candidates run at four loads in it
    population=28,
    horizon=500_000,  # slots of a candidate's run
    samples=1_200_000_000,  # tasks that candidates start, in all
    guard="bf-js",
    guard_limit=2000,  # tasks waiting
)
QUICK = replace(SETTINGS, population=12, horizon=20_000, samples=5_000_000)
AGAINST = "bf-js"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's mean queue beside BF-J/S's."""
    given = options_of(main.__doc__, arguments, processes=2)  # candidates that run at a time
    settings = replace(QUICK if given.quick else SETTINGS, seed=given.seed)
    evolve(settings, given.out, given.processes)
    evaluation = {"slots": 50_000, "seeds": 2} if given.quick else {}
    compare(settings, given.out, AGAINST, **evaluation)


if __name__ == "__main__":
    main()
