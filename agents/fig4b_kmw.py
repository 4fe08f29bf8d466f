"""Make `agent:fig4b-kmw` again: `agent:fig4b` with finer types and a guard that supports nearly all of ρ* (figure 4(b)).

    python agents/fig4b_kmw.py --out fig4b-kmw    # no training: the weights are those of agent:fig4b

The network scores a task by features that do not say how many types there are, so its weights hold for any number. With
128 types of equal width the agent shares its types with K-discretised MaxWeight, which schedules while more than 2,000
tasks wait, and is proved to support 0.99 of ρ* with them (docs/explanation/guard.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import command, compare, options_of
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.agents.saved import load_agent, save_agent
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("paper/fig4b"),
    network="linear",
    types=128,  # ρ_K is 0.990 of ρ* with as many, 0.970 with the forty of agent:fig4b
    arrivals={"intensity": (0.9, 0.99)},
    start="fig4b",
    guard="kmw:grid=128,backfill,few=10",
    guard_limit=2000,  # tasks waiting
)
AGAINST = "agent:fig4b"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Save the agent, and compare it with the one that its weights come from."""
    given = options_of(main.__doc__, arguments)
    with_finer_types(SETTINGS, given.out)
    evaluation = {"slots": 50_000, "seeds": 2} if given.quick else {}
    compare(SETTINGS, given.out, AGAINST, **evaluation)


def with_finer_types(settings: Settings, out: str) -> None:
    """Save the weights of `settings.start` with the types and the guard of `settings`."""
    assert settings.start is not None
    trained = load_agent(settings.start)
    about = agent_metadata(settings, command(), int(trained.about["samples"]), str(trained.about["kept"]), {})
    save_agent(out, about, trained.weights)


if __name__ == "__main__":
    main()
