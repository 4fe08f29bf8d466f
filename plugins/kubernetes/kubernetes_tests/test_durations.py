"""Past durations by owner: who the owner of a pod is, whose durations a run has, and how far they are trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubernetes_tests.sample import container, listed, node, pod
from packenv.errors import InputError
from packenv_kubernetes import read_cluster
from packenv_kubernetes.durations import Durations, is_durations, read_durations
from packenv_kubernetes.owners import OwnerTimes, central, left_over


def past(rows: list[tuple[str, float]]) -> Durations:
    names = {name: n for n, name in enumerate(dict.fromkeys(name for name, _ in rows))}
    owner, seconds = np.array([names[name] for name, _ in rows]), np.array([each for _, each in rows])
    return Durations("past.csv", tuple(names), owner, seconds)


def owned(name: str, owner: str | None, **more: Any) -> dict[str, Any]:
    found = pod(name, container(cpu="1"), **more)
    if owner is not None:
        found["metadata"]["ownerReferences"] = [{"kind": "Job", "name": owner, "controller": True}, {"name": "other"}]
    return found


def test_who_the_owner_is(tmp_path: Path) -> None:
    pods = [owned("x-1", "train-77"), owned("web-5d-2", None), owned("trainer-1", None), owned("y", "backup")]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), *pods]))
    by_name = {each.name.partition("/")[2]: each for each in cluster.waiting}
    assert [each.owner for each in by_name.values()] == ["", "", "team/train-77", "team/backup"]
    found = past([("train", 1.0), ("team", 2.0), ("web-5d", 3.0), ("team/web", 4.0), ("train-7", 5.0)])
    own = {name: None if (n := found.owner_of(each)) is None else found.owners[n] for name, each in by_name.items()}
    assert own == {"x-1": "train", "web-5d-2": "team/web", "trainer-1": "team", "y": "team"}
    assert past([("other", 1.0)]).owner_of(by_name["y"]) is None


def test_pods_of_one_owner_last_alike(tmp_path: Path) -> None:
    """Known durations: 100 s, or 5,000 s. Two pods of an unknown owner have the same; of the age of 1,000 s, the long ones."""
    old = {"on": "n", "started": "2024-05-01T11:43:20Z"}
    pods = [owned("a", "new"), owned("b", "new"), owned("c", "short"), owned("d", "aged", **old), owned("e", "aged")]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), *pods]))
    rows = [("short", 100.0)] * 200 + [("long", 5000.0)] * 200
    draw: Any = cluster.workload(past(rows)).draw
    tables = np.array([[*draw(seed).service, draw.in_service(seed).remaining[0]] for seed in range(400)])
    names = [*draw.names, "d"]
    a, b, c, d, e = (tables[:, names.index(name)] for name in ("team/a", "team/b", "team/c", "d", "team/e"))
    assert np.mean(a == b) > 0.98 and 0.4 < np.mean(a == 100) < 0.6
    assert np.mean(c == 100) > 0.98 and (d == 4000).all() and np.mean(e == 5000) > 0.98
    half: Any = cluster.workload(past(rows), slot_seconds=2.0).draw
    assert (half.in_service(0).remaining[0], half(0).service.max()) == (2000, 2500)


def test_running_pods_count_with_those_that_ended() -> None:
    """Of 20 pods that began together two have ended, after 10 slots; the 18 others are still there."""
    past, ever = np.array([10.0, 10.0]), np.full(50, 100.0)
    group = np.zeros(18, np.int64)
    times = OwnerTimes(
        (past, ever), waiting=np.zeros(1000, np.int64), running=group, age=np.full(18, 30.0), owner=(0,), keys=(7,)
    )
    owners = times.owners(3)
    assert owners == [0]
    left = times.remaining(owners, np.linspace(0, 0.99, 18))
    assert left.tolist() == [70] * 18  # as of all durations: none of the owner's is so long
    slots = times.slots(owners, (np.arange(1000) + 0.5) / 1000, left)
    assert np.mean(slots == 10) == pytest.approx((2 + 0.5 * 2 / 52) / 20.5, abs=2e-3)
    assert set(slots.tolist()) == {10, 100}


def test_what_remains_has_the_law_given_the_age() -> None:
    """Against the shares of a mixture: 3 durations of the owner, and all with a weight of a half together."""
    values, every = np.array([10.0, 20.0, 40.0]), np.array([10.0, 15.0, 20.0, 40.0, 90.0])
    n, no_pod = 60_000, np.zeros(0, np.int64)
    uniform = (np.arange(n) + 0.5) / n
    for age in (0.0, 12.0, 20.0, 50.0):
        left = left_over(values, every, np.full(n, age), uniform) + age
        weight = {x: (x in values) + 0.5 / 5 for x in every if x > age}
        for x, own in weight.items():
            assert np.mean(left == x) == pytest.approx(own / sum(weight.values()), abs=1e-3)
        both = OwnerTimes((values, np.array([15.0, 90.0])), no_pod, no_pod, np.zeros(0), owner=(), keys=())
        assert both.tails(age)[0] == pytest.approx(sum(weight.values()) / 3.5)
    assert left_over(values, every, np.array([100.0]), np.array([0.3])).tolist() == [0.0]


def test_the_middle_of_a_law() -> None:
    ten = np.arange(1.0, 11.0)
    assert central(np.zeros(0), ten) == (1, 9)
    assert central(np.full(30, 7.0), ten) == (7, 7)


def test_trust_says_how_many_held_back_durations_fell_in() -> None:
    """Durations without a pattern fall in as often as promised. Those that grow and grow do not, and that is said."""
    random = np.random.default_rng(0)
    fine = past([(f"owner-{n % 3}", float(each)) for n, each in enumerate(random.exponential(100, 2000))])
    assert 0.74 <= float(fine.trust().split()[4].rstrip("%")) / 100 <= 0.88
    assert fine.trust().startswith("of 200 held-back durations ")
    growing = past([("one", 1.1**n) for n in range(100)])
    assert growing.trust() == "of 50 held-back durations 0% fell in the 80% interval that earlier ones give"
    assert "too few durations for a check" in past([("one", 1.0)] * 39).trust()


def test_files(tmp_path: Path) -> None:
    table, listing = tmp_path / "past.csv", tmp_path / "past.json"
    table.write_text("owner,node,seconds\nteam/train,a,60\nweb,b,2.5\nteam/train,a,70\n")
    listing.write_text(json.dumps([{"owner": "team/train", "seconds": 60}, {"owner": "web", "seconds": 2.5}]))
    assert is_durations(str(table)) and is_durations(str(listing)) and not is_durations("gone.csv")
    found = read_durations(str(table))
    assert found.owners == ("team/train", "web") and found.owner.tolist() == [0, 1, 0] and found.seconds.tolist() == [60, 2.5, 70]
    assert read_durations(str(listing)).seconds.tolist() == [60, 2.5]
    for text, problem in (
        ("owner,seconds\n", "no durations in it"),
        ("owner,seconds\na,x\n", "row 2: seconds: 'x' is not a number"),
        ("owner,seconds\na,0\n", "row 2: seconds must be above 0"),
        ("owner,seconds\n,5\n", "row 2: owner is empty"),
        ("owner,seconds\na\n", "row 2: seconds: '' is not a number"),
    ):
        table.write_text(text)
        with pytest.raises(InputError, match=problem):
            read_durations(str(table))
    for plain, problem in ((7, "a list of objects such as"), ([{"owner": 1}], "item 1: .* has no owner, a text")):
        listing.write_text(json.dumps(plain))
        with pytest.raises(InputError, match=problem):
            read_durations(str(listing))


def test_it_says_whose_durations_pods_have(tmp_path: Path) -> None:
    pods = [owned("a", "known"), owned("b", None), owned("web", "known", job=False)]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), *pods]))
    notes = cluster.notes(past([("known", 5.0)] * 3))
    assert "past.csv: 3 durations of 1 owner; 1 pod has those of its owner, 1 those of an owner that is drawn" in notes
    times = past([("known", 5.0)]).times(cluster.waiting, (), np.zeros(0), 1.0)
    assert isinstance(times, OwnerTimes) and times.owner == (0, None)


@pytest.mark.parametrize("header", ["own,sec", "owner,sec", "seconds"])
def test_columns_of_other_names(tmp_path: Path, header: str) -> None:
    file = tmp_path / "past.csv"
    file.write_text(f"{header}\nteam/j,3\n")
    assert is_durations(str(file))
    with pytest.raises(
        InputError, match=f"past.csv: columns {header.replace(',', ', ')}; durations need the columns owner, seconds"
    ):
        read_durations(str(file))
    file.write_text("arrival,size,service\n0,0.5,3\n")
    assert not is_durations(str(file))
