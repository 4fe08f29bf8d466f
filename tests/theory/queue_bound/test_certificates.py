"""A proof of a bound on the queue proves what it says, and nothing else: whatever is changed in it, it is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import packenv
from packenv import InputError, QueueBound
from packenv.theory.capacity.one_resource.certificate import Refuted
from packenv.theory.certificate_files import load_queue_bound, save_queue_bound
from packenv.theory.queue_bound.bound import Counted

Plain = dict[str, Any]

WORKLOAD = packenv.workload("paper/fig4b", intensity=0.95)


@pytest.fixture(scope="module")
def bound() -> QueueBound:
    return packenv.queue_bound(WORKLOAD)


def on(name: str, change: Callable[[Plain], object]) -> Callable[[Plain], object]:
    """A change of the counted proof, which has values of φ, or of the pooled one."""
    return lambda plain: change(next(one for one in plain["proved"] if ("values" in one["proof"]) == (name == "counted")))


def counted(key: str, value: Any) -> Callable[[Plain], object]:
    return on("counted", lambda one: one["proof"].update({key: value(one["proof"][key])}))


def priced(key: str, value: Any, name: str = "counted") -> Callable[[Plain], object]:
    return on(name, lambda one: one["proof"]["prices"].update({key: value(one["proof"]["prices"][key])}))


def changed(place: int, by: int) -> Callable[[list[int]], list[int]]:
    return lambda values: [value + by * (n == place % len(values)) for n, value in enumerate(values)]


TAMPERED: dict[str, Callable[[Plain], object]] = {
    "value of counted": on("counted", lambda one: one.update(value=math.nextafter(one["value"], math.inf) + 1e-9)),
    "value of pooled": on("pooled", lambda one: one.update(value=math.nextafter(one["value"], math.inf))),
    "nothing": on("counted", lambda one: one.update(value=0.0)),
    "infinite": on("counted", lambda one: one.update(value=1e308)),
    "order": lambda plain: plain["proved"].reverse(),
    "a value of φ lower": counted("values", changed(20, -(1 << 40))),
    "a value of φ higher": counted("values", changed(20, 1 << 40)),
    "the first value": counted("values", changed(0, -1)),
    "the last value": counted("values", changed(-1, 1 << 41)),
    "values that decrease": counted("values", lambda values: values[::-1]),
    "a value too few": counted("values", lambda values: values[:-1]),
    "hardly any value": counted("values", lambda values: values[:3]),
    "no values": counted("values", lambda values: []),
    "huge values": counted("values", lambda values: [*values[:-1], 2**220]),
    "slope": counted("slope", lambda slope: slope - slope // 100),
    "steeper": counted("slope", lambda slope: slope + slope // 100),
    "negative slope": counted("slope", lambda slope: -slope),
    "bend": counted("bend", lambda bend: bend + bend // 100),
    "less bend": counted("bend", lambda bend: bend - bend // 100),
    "negative bend": counted("bend", lambda bend: -bend),
    "parts": counted("parts", lambda parts: parts // 2),
    "more parts": counted("parts", lambda parts: parts * 2),
    "no parts": counted("parts", lambda parts: 0),
    "two prices": priced("prices", lambda prices: [1, 2]),
    "price 0": priced("prices", lambda prices: [0]),
    "lower threshold": priced("thresholds", lambda thresholds: [thresholds[0] - 1]),
    "higher threshold": priced("thresholds", lambda thresholds: [thresholds[0] + 40_000]),
    "no threshold": priced("thresholds", lambda thresholds: []),
    "threshold 0": priced("thresholds", lambda thresholds: [0]),
    "huge threshold": priced("thresholds", lambda thresholds: [2**60]),
    "weights": priced("weights", lambda weights: [1]),
    "thresholds of pooled": priced("thresholds", lambda thresholds: [t + 40_000 for t in thresholds], "pooled"),
    "prices of pooled": priced("prices", lambda prices: [2**13 + n for n in range(len(prices))], "pooled"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_refused(bound: QueueBound, name: str, tmp_path: Path) -> None:
    plain = json.loads(json.dumps(asdict(bound)))
    TAMPERED[name](plain)
    (tmp_path / "proof.json").write_text(json.dumps(plain))
    with pytest.raises(InputError, match=r"^certificate: [^\n]*$"):
        load_queue_bound(tmp_path / "proof.json").verify(WORKLOAD)


def test_accepted_from_a_file(bound: QueueBound, tmp_path: Path) -> None:
    save_queue_bound(bound, tmp_path / "proof.json")
    loaded = load_queue_bound(tmp_path / "proof.json")
    assert loaded == bound
    loaded.verify(WORKLOAD)
    assert [one.relaxation for one in loaded.proved] == ["counted", "pooled"]
    less = tuple(replace(one, value=0.9 * one.value) for one in bound.proved)
    replace(bound, proved=less).verify(WORKLOAD)  # promises less


def test_any_function_is_sound_if_accepted(bound: QueueBound) -> None:
    """A function that is not the best one proves a lower bound, or none: whatever it proves is below the exact queue."""
    best = bound.proved[0]
    assert isinstance(best.proof, Counted)
    values = tuple(value * 9 // 10 for value in best.proof.values)
    flatter = replace(best.proof, values=values, slope=best.proof.slope * 9 // 10 + 2, bend=best.proof.bend * 9 // 10)
    weaker = replace(bound, proved=(replace(best, value=0.8 * best.value, proof=flatter),))
    weaker.verify(WORKLOAD)
    with pytest.raises(Refuted):
        replace(weaker, proved=(replace(best, proof=flatter),)).verify(WORKLOAD)


@pytest.mark.parametrize("value", ["nan", "inf", "1.0", True, None, [1]])
def test_values_are_numbers(bound: QueueBound, value: Any, tmp_path: Path) -> None:
    for change in (lambda plain: plain["proved"][0].update(value=value), lambda plain: plain.update(seconds=value)):
        plain = json.loads(json.dumps(asdict(bound)))
        change(plain)
        (tmp_path / "proof.json").write_text(json.dumps(plain))
        with pytest.raises(InputError, match=r"proof\.json: not a bound on the queue: [^\n]* is not a number$"):
            load_queue_bound(tmp_path / "proof.json")


@pytest.mark.parametrize("changes", [{"intensity": 0.94}, {"servers": 6}, {"rate": 0.08}])
def test_another_workload_is_refused(bound: QueueBound, changes: Plain) -> None:
    with pytest.raises(Refuted):
        bound.verify(WORKLOAD.with_(**changes))


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"proved": 3}', '{"proved": [{"value": 1}]}', '{"proved": []}'])
def test_no_certificate(text: str, tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(text)
    with pytest.raises(InputError, match=r"proof\.json: not a bound on the queue"):
        load_queue_bound(tmp_path / "proof.json")


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"x"', "null", "[1]"])
def test_no_numbers(bound: QueueBound, value: str, tmp_path: Path) -> None:
    plain = json.dumps(asdict(bound))
    for key in ("value", "slope", "parts", "seconds"):
        before, after = plain.split(f'"{key}": ', 1)
        end = min(at for at in (after.find(","), after.find("}")) if at >= 0)
        (tmp_path / "proof.json").write_text(f'{before}"{key}": {value}{after[end:]}')
        with pytest.raises(InputError):
            load_queue_bound(tmp_path / "proof.json").verify(WORKLOAD)
