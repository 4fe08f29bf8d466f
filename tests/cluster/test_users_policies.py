"""Policies in plain Python: the orders that they name, and what fits those that pack sizes."""

from __future__ import annotations

from typing import Any

import pytest

import packenv
from packenv import InputError, Jobs, Workload
from packenv.cluster import BY_LINE, BY_MIX, BY_QUEUE, BY_TYPE, NONE, Cluster, Needs, jobs_of_type, oldest, place
from packenv.errors import MisuseError, line_on
from packenv.workloads.laws import Geometric, Uniform
from tests.cluster.user_policies import FirstThatFits


class Asking:
    """Asks how many jobs of a type a server has; `orders` are those that it names."""

    def __init__(self, orders: int) -> None:
        self.orders = orders

    def needs(self, setting: packenv.Setting) -> Needs:
        return Needs(orders=self.orders, levels=2)

    def schedule(self, cluster: Cluster, state: Any) -> None:
        jobs_of_type(cluster, 0, 0)


def test_orders_that_are_asked_for_must_be_named() -> None:
    workload = Workload(jobs=Jobs.of([0], [0.5], [1]), servers=1)
    assert packenv.simulate(workload, Asking(BY_TYPE | BY_MIX), drain=False).waiting == 1
    missing = (
        "asks for an order of tasks or servers that its `needs` do not name.*: they name BY_TYPE, not BY_SIZE, .* and BY_MIX"
    )
    with pytest.raises(InputError, match=missing):
        packenv.simulate(workload, Asking(BY_TYPE))
    for alone in (BY_MIX, BY_LINE):
        with pytest.raises(InputError, match="needs BY_LINE or BY_MIX needs BY_TYPE as well"):
            packenv.simulate(workload, Asking(alone))


def test_what_fits_a_policy_that_packs_sizes() -> None:
    """Two resources, and a policy without `vectors`: the larger demand of a task counts, for `fits` too."""
    two = (Uniform(0.1, 0.6), Uniform(0.1, 0.6))
    workload = Workload(sizes=two, service=Geometric(50), servers="3x1:1", intensity=0.6)
    result = packenv.simulate(workload, FirstThatFits(), slots=3000, seed=1)
    assert result.started > 50
    assert max(result.utilisation) <= 1


class Mistaken:
    """Makes the mistake that it is told to make, when it schedules or is asked for its needs."""

    def __init__(self, mistake: str) -> None:
        self.mistake = mistake

    def needs(self, setting: packenv.Setting) -> Needs:
        if self.mistake == "needs":
            raise KeyError("J")
        return Needs(orders=BY_QUEUE)

    def schedule(self, cluster: Cluster, state: Any) -> None:
        if self.mistake == "own":
            raise KeyError("J")
        place(cluster, oldest(cluster), NONE)


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        ("needs", r"^policy Mistaken:mistake=\w+: KeyError: 'J' \(.*test_users_policies\.py, line \d+\)$"),
        ("own", r"^policy Mistaken:mistake=\w+: KeyError: 'J' \(.*test_users_policies\.py, line \d+\)$"),
        ("place", r"^policy Mistaken:mistake=\w+: only a waiting task can be placed.*\(.*test_users_policies\.py, line \d+\)$"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(mistake: str, says: str) -> None:
    with pytest.raises(MisuseError, match=says):
        packenv.simulate(Workload(jobs=Jobs.of([0], [0.5], [1]), servers=1), Mistaken(mistake), drain=False)


@pytest.mark.parametrize(("file", "ours"), [("cluster/in_service.py", True), ("cluster/no_such_file.py", False)])
def test_errors_in_machine_code_name_the_checkout_that_compiled_it(file: str, ours: bool) -> None:
    names: dict[str, Any] = {}
    exec(compile("def fail():\n    raise ValueError('no room')", f"/elsewhere/packenv/{file}", "exec"), names)
    with pytest.raises(ValueError) as caught:
        names["fail"]()
    place = f"{__file__}, line " if ours else f"/elsewhere/packenv/{file}, line 2"
    assert line_on(caught.value).startswith(f"{'' if ours else 'ValueError: '}no room ({place}")
