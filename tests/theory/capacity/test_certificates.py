"""A certificate proves what it says, and nothing else: whatever is changed in it, it is refused, or proves less."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import packenv
from packenv import Bracket, InputError, Workload
from packenv.theory.capacity.one_resource.certificate import Refuted
from packenv.theory.certificate_files import load_certificate, plain_of, save_certificate
from packenv.workloads.laws import Discrete, Mixture, Uniform
from tests.theory.capacity.brute_force import setting

Plain = dict[str, Any]
Tampering = Callable[[Plain], object]

ATOMS = setting(Discrete([0.25, 0.4, 0.55], [0.5, 0.25, 0.25]), "2x1,1x0.5")
SPREAD = setting(Mixture([Uniform(0.35, 0.5), Uniform(0.6, 0.7)], [0.6, 0.4]), "2x1,1x0.8")


@pytest.fixture(scope="module", params=[ATOMS, SPREAD], ids=["atoms", "spread"])
def proved(request: pytest.FixtureRequest) -> tuple[Workload, Bracket]:
    bracket = packenv.max_workload(request.param, 0.02)
    assert bracket.reached
    return request.param, bracket


def overfill(plain: Plain) -> None:
    """One more of the largest size in the fullest configuration."""
    largest = len(plain["attained"]["edges"]) - 1
    plain["attained"]["configurations"][0]["held"].append([largest, 4])


def in_use(plain: Plain) -> Plain:
    return max(plain["attained"]["configurations"], key=lambda one: one["servers"])


def more_servers(plain: Plain) -> None:
    in_use(plain)["servers"] += plain["attained"]["parts"]


def fewer_servers(plain: Plain) -> None:
    in_use(plain)["servers"] //= 2


def other_kind(plain: Plain) -> None:
    for one in plain["attained"]["configurations"]:
        one["kind"] = 1


def smaller_edges(plain: Plain) -> None:
    plain["attained"]["edges"] = [edge * 9 // 10 for edge in plain["attained"]["edges"]]


def swapped(key: str, part: str) -> Tampering:
    def swap(plain: Plain) -> None:
        values = plain[key][part]
        values[0], values[-1] = values[-1], values[0]

    return swap


def cheaper_bundles(plain: Plain) -> None:
    """Half of all prices but the highest: what the jobs are worth goes down, what a server can hold does not."""
    prices = plain["bounded"]["prices"]
    plain["bounded"]["prices"] = [price if price == max(prices) else price // 2 for price in prices]


def dearest_small(plain: Plain) -> None:
    plain["bounded"]["prices"][0] = max(plain["bounded"]["prices"])


def without_the_last(plain: Plain) -> None:
    for values in plain["bounded"].values():
        values.pop()


TAMPERED: dict[str, Tampering] = {
    "lower": lambda plain: plain.update(lower=math.nextafter(plain["upper"], 1e9)),
    "upper": lambda plain: plain.update(upper=0.999 * plain["lower"]),
    "area bound": lambda plain: plain.update(area_bound=1.01 * plain["area_bound"]),
    "overfill": overfill,
    "more servers": more_servers,
    "fewer servers": fewer_servers,
    "no such kind": lambda plain: in_use(plain).update(kind=2),
    "negative kind": lambda plain: in_use(plain).update(kind=-1),
    "smaller kind": other_kind,
    "negative servers": lambda plain: in_use(plain).update(servers=-1),
    "no such cell": lambda plain: in_use(plain)["held"].append([10_000, 1]),
    "negative cell": lambda plain: in_use(plain)["held"].append([-1, 1]),
    "negative count": lambda plain: in_use(plain)["held"].append([0, -1]),
    "smaller edges": smaller_edges,
    "the largest edge is missing": lambda plain: plain["attained"]["edges"].pop(),
    "disordered edges": swapped("attained", "edges"),
    "no edges": lambda plain: plain["attained"].update(edges=[]),
    "huge edges": lambda plain: plain["attained"]["edges"].append(2**70),
    "more parts": lambda plain: plain["attained"].update(parts=2 * plain["attained"]["parts"]),
    "no parts": lambda plain: plain["attained"].update(parts=0),
    "negative parts": lambda plain: plain["attained"].update(parts=-1, configurations=[]),
    "no configurations": lambda plain: plain["attained"].update(configurations=[]),
    "lower prices": cheaper_bundles,
    "a price raised": dearest_small,
    "a price beyond the largest": lambda plain: plain["bounded"]["prices"].__setitem__(-1, 2**63),
    "a negative price": lambda plain: plain["bounded"]["prices"].__setitem__(0, -1),
    "prices all 0": lambda plain: plain["bounded"].update(prices=[0] * len(plain["bounded"]["prices"])),
    "without the largest size": without_the_last,
    "no points": lambda plain: plain["bounded"].update(points=[], prices=[], split=[]),
    "a price too few": lambda plain: plain["bounded"]["prices"].pop(),
    "disordered points": swapped("bounded", "points"),
    "huge points": lambda plain: plain["bounded"]["points"].__setitem__(-1, 2**70),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_refused(proved: tuple[Workload, Bracket], name: str, tmp_path: Path) -> None:
    workload, bracket = proved
    plain = json.loads(json.dumps(plain_of(bracket)))
    TAMPERED[name](plain)
    (tmp_path / "proof.json").write_text(json.dumps(plain))
    with pytest.raises(Refuted, match=r"^certificate: "):
        load_certificate(tmp_path / "proof.json").verify(workload)


def test_split_may_not_be_cleared_where_sizes_are() -> None:
    bracket = packenv.max_workload(SPREAD, 0.02)
    assert any(bracket.bounded.split)
    for i in [i for i, split in enumerate(bracket.bounded.split) if split][::7]:
        cleared = tuple(split and j != i for j, split in enumerate(bracket.bounded.split))
        with pytest.raises(Refuted, match="marked as empty"):
            replace(bracket, bounded=replace(bracket.bounded, split=cleared)).verify(SPREAD)
    everywhere = replace(bracket.bounded, split=(True,) * len(bracket.bounded.split))  # proves no more, but is no lie
    assert everywhere.points == bracket.bounded.points


def test_accepted_also_from_a_file(proved: tuple[Workload, Bracket], tmp_path: Path) -> None:
    workload, bracket = proved
    bracket.verify(workload)
    save_certificate(bracket, tmp_path / "proof.json")
    loaded = load_certificate(tmp_path / "proof.json")
    assert loaded == bracket
    with pytest.raises(InputError, match="the bounds have no workload"):
        loaded.to_dict()
    assert str(loaded.of(workload).table()) == str(bracket.table())
    loaded.verify(workload)
    wider = replace(bracket, lower=0.99 * bracket.lower, upper=1.01 * bracket.upper)
    replace(wider, reached=False).verify(workload)  # promises less
    with pytest.raises(Refuted, match="the gap is marked as reached"):
        wider.verify(workload)


def test_values_are_numbers(tmp_path: Path) -> None:
    text = json.dumps(plain_of(packenv.max_workload(ATOMS, 0.02)))
    changes: list[Tampering] = [
        lambda plain: plain.update(upper="nan"),
        lambda plain: plain["history"].__setitem__(0, ["inf", 2.0]),
        lambda plain: plain["attained"].update(parts="2"),
        lambda plain: plain["bounded"]["prices"].__setitem__(0, True),
        lambda plain: in_use(plain).update(servers=2.5),
    ]
    for change in changes:
        plain = json.loads(text)
        change(plain)
        (tmp_path / "proof.json").write_text(json.dumps(plain))
        with pytest.raises(InputError, match=r"proof\.json: not a certificate: [^\n]* is not a (whole )?number$"):
            load_certificate(tmp_path / "proof.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"servers": "1x1,1x0.5"},
        {"servers": "4x1,1x0.5"},
        {"sizes": Discrete([0.25, 0.4, 0.55], [0.4, 0.3, 0.3])},
        {"sizes": Discrete([0.25, 0.4, 0.55], [0.6, 0.2, 0.2])},
        {"sizes": Discrete([0.25, 0.4, 0.56], [0.5, 0.25, 0.25])},
        {"sizes": Discrete([0.2, 0.4, 0.55], [0.5, 0.25, 0.25])},
    ],
)
def test_another_workload_is_refused(changes: Plain) -> None:
    """Fewer servers or larger jobs disprove the lower end; more servers or smaller jobs the upper end."""
    bracket = packenv.max_workload(ATOMS)
    with pytest.raises(Refuted):
        bracket.verify(ATOMS.with_(**changes))


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"attained": {}, "bounded": {}}', '{"attained": 3, "bounded": 4}', '{"lower": 1}']
)
def test_no_certificate(text: str, tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(text)
    with pytest.raises(InputError, match=r"proof\.json: not a certificate"):
        load_certificate(tmp_path / "proof.json")
    with pytest.raises(InputError, match="not a certificate"):
        load_certificate(tmp_path / "absent.json")


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"x"', "null"])
def test_no_numbers(value: str, tmp_path: Path) -> None:
    plain = json.dumps(plain_of(packenv.max_workload(ATOMS)))
    parts = plain.split('"lower": ')
    (tmp_path / "proof.json").write_text(parts[0] + f'"lower": {value}' + parts[1][parts[1].index(",") :])
    with pytest.raises(InputError):
        load_certificate(tmp_path / "proof.json").verify(ATOMS)
