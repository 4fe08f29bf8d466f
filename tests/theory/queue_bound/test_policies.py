"""No policy on a named workload comes below the bound, and what is shown beside policies is the bound."""

from __future__ import annotations

import pytest

import packenv
from packenv import InputError
from packenv.runs.statistics import interval
from packenv.theory.queue_bound.queue_bound import bound_or_zero
from packenv.workloads.laws import Geometric

CASES = [
    (packenv.workload("paper/fig3a", intensity=0.7), 1.6),
    (packenv.workload("paper/fig3a", intensity=0.9), 8.0),
    (packenv.workload("paper/fig3b", service=Geometric(100), rate=0.02), 0.08),
    (packenv.workload("paper/fig4a", intensity=0.97), 3.4),
    (packenv.workload("paper/fig4b", intensity=0.9), 6.8),
    (packenv.workload("paper/fig4b", intensity=0.95), 16.5),
]
"""The named workloads with independent arrivals and geometric service, and what is proved at least."""

POLICIES = ["bf-j", "bf-s", "bf-js", "vqs", "vqs-bf", "fifo-ff", "maxweight", "agent:fig4b"]
"""Those that do not know durations: `price` and `tetris` do, and may come below."""


SLOW = ("paper/fig3a at 0.9", "paper/fig4a at 0.97", "paper/fig4b at 0.95")
NAMED = {f"{workload.name} at {workload.intensity:.3g}": (workload, least) for workload, least in CASES}


@pytest.mark.parametrize(
    ("workload", "least"),
    [pytest.param(*case, id=name, marks=[pytest.mark.slow] * (name in SLOW)) for name, case in NAMED.items()],
)
def test_no_policy_is_below(workload: packenv.Workload, least: float) -> None:
    bound = packenv.queue_bound(workload)
    bound.verify(workload)
    assert bound.value > least
    assert bound_or_zero(workload) == bound.value
    ran = 0
    for policy in POLICIES:
        try:
            queues = [packenv.simulate(workload, policy, 200_000, seed).mean_queue for seed in range(4)]
        except InputError:  # an agent at home on one workload only, and a policy for whole types
            continue
        found = interval([queue or 0.0 for queue in queues])
        assert bound.value <= found.high, policy
        ran += 1
    assert ran >= 6


@pytest.mark.slow  # all of them
def test_named_workloads_have_a_bound_or_none_is_claimed() -> None:
    for name in packenv.names():
        workload = packenv.workload(name)
        try:
            value = packenv.queue_bound(workload).value
        except InputError as refused:
            assert "\n" not in str(refused) and f"workload {name}: no bound on the queue is claimed for" in str(refused)
            value = 0.0
        assert bound_or_zero(workload) == (value if value >= 0.01 else 0.0)


def test_nothing_is_shown_where_nothing_is_known() -> None:
    assert bound_or_zero(packenv.workload("paper/fig4b", intensity=0.1)) == 0.0
    assert bound_or_zero(packenv.workload("paper/fig4b", intensity=1.2)) == 0.0


@pytest.mark.parametrize("name", ["small/fig3a", "small/two-servers", "small/worst-vqs"])
def test_below_the_optimal_policy(name: str) -> None:
    """The shortest mean queue of the decision process is itself no more than the workload's."""
    workload = packenv.workload(name)
    bound = packenv.queue_bound(workload).value
    assert 0 < bound < packenv.stationary_optimum(workload, most=8, within=1e-3).lower
