"""`packenv reproduce price-figs`: the files, the claims on real runs, and claims on numbers made by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import packenv
from packenv import Jobs, Workload
from packenv.cli.main import main
from packenv.studies.finding import Claim
from packenv.studies.price import curves as price_curves
from packenv.studies.price import runs as price_runs
from packenv.studies.price import times as price_times


def reproduce(folder: Path, *arguments: object) -> None:
    main(["reproduce", *map(str, arguments), "--out", str(folder), "--processes", "1"])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_flow_shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(tmp_path, "price-fig1")
    assert "3 of 3 claims shown" in capsys.readouterr().out
    ends = {row["order"]: 0 for row in rows(tmp_path / "price-fig1.csv")}
    for row in rows(tmp_path / "price-fig1.csv"):
        ends[row["order"]] = max(ends[row["order"]], int(row["end"]))
    assert ends == {"FIFO": 10, "FIFO, reversed": 8, "price": 8}


def test_a_setting_that_cannot_bind_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(tmp_path, "price-fig2", "--seeds", 2)
    assert "not shown  SAT's makespan is 20% shorter than FIFO's: cannot be: with all 2 seeds" in capsys.readouterr().out


def test_what_is_not_installed_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("price.makespans", "price.times"):
        monkeypatch.setattr(f"packenv.studies.{module}.has_sat", lambda: False)
    reproduce(tmp_path, "price-fig3", "price-fig4", "--seeds", 2)
    out = capsys.readouterr().out
    assert out.count("not shown") == 2 and out.count(price_runs.LEFT_OUT) == 2
    each = rows(tmp_path / "price-fig3_seeds.csv")
    assert all(float(row["lower_bound"]) <= float(row[policy]) for row in each for policy in row if policy != "seed")
    assert {row["seconds"] for row in rows(tmp_path / "price-fig4.csv")} == {""}


def test_curves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(tmp_path, "price-fig8", "--seeds", 10)
    out = capsys.readouterr().out
    assert "shown      price, welfare 0.1: the shortest makespan" in out
    assert (tmp_path / "price-fig8.png").read_bytes().startswith(b"\x89PNG")
    paths = rows(tmp_path / "price-fig8.csv")
    for policy in ("price", "fifo"):
        own = [row for row in paths if row["policy"] == policy]
        efficiency = [float(row["efficiency"]) for row in own]
        assert efficiency == sorted(efficiency) and (efficiency[0], efficiency[-1]) == (0, 1)
        assert max(float(row["utilisation"]) for row in own) <= 1
        assert float(own[0]["unfairness"]) == float(own[-1]["unfairness"]) == 0
    measures = {(row["policy"], row["measure"]): float(row["mean"]) for row in rows(tmp_path / "price-fig8_measures.csv")}
    assert measures["price", "makespan"] < measures["fifo", "makespan"]


def test_price_beats_tetris_where_a_resource_is_abundant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(tmp_path, "price-abundant", "--seeds", 3)
    assert "2 of 2 claims shown" in capsys.readouterr().out


def test_curves_by_hand() -> None:
    """Two jobs on one machine, one after the other: values 1 and 3, 2 and 3 slots, half of the machine."""
    jobs = Jobs.of([0, 0], [0.5, 0.6], [2, 3], job=np.array([0, 1]), value=np.array([1.0, 3.0]))
    setting = Workload(jobs=jobs, servers=1)
    result = packenv.simulate(setting, "fifo", schedule=True)
    found = price_curves.curves_of(setting, result, 6)
    assert found.efficiency.tolist() == [0, 0, 0.25, 0.25, 0.25, 1, 1]
    assert found.utilisation == pytest.approx([0.5, 0.5, 0.6, 0.6, 0.6, 0, 0], abs=1e-6)
    assert found.unfairness == pytest.approx([0, 1 / 16, 1 / 4, 1 / 9, 1 / 36, 0, 0])
    values = price_curves.values_of([result], [found], [6])
    assert values["makespan"] == [5]
    assert values["efficiency"] == pytest.approx([1.75 / 6])
    assert values["completion"] == [3.5]


def test_lower_bounds() -> None:
    jobs = Jobs.of([0] * 3, [[1, 0.2], [0.5, 0.1], [1, 1]], [3, 2, 2], job=np.array([0, 0, 1]), phase=np.array([0, 1, 0]))
    two = Workload(jobs=jobs, servers="2x1:1")
    assert (price_runs.longest_job(two, 0), price_runs.least_makespan(two, 0)) == (5, 5)
    assert price_runs.least_makespan(two.with_(servers="1x1:1"), 0) == 6


Values = dict[str, dict[str, list[float | None]]]


def values(price: float, other: float) -> Values:
    """Two seeds: `price` at both rates, `other` for all others, in every measure."""
    names = (*price_runs.PRICES, *price_runs.OTHERS)
    measures = (*price_curves.BEST, "completion")
    scale = {name: price if name in price_runs.PRICES else other for name in names}
    return {name: {measure: [scale[name], 1.01 * scale[name]] for measure in measures} for name in names}


def shown(claims: list[Claim]) -> list[bool]:
    return [claim.shown for claim in claims]


def test_claims_by_hand() -> None:
    less = price_curves.best_claims("x", values(1.0, 2.0))
    assert shown(less) == [measure in price_curves.LESS for measure in price_curves.BEST] * 2
    more = price_curves.best_claims("x", values(2.0, 1.0))
    assert shown(more) == [measure not in price_curves.LESS for measure in price_curves.BEST] * 2
    mixed = values(2.0, 1.0)
    mixed["capacity"]["efficiency"] = [2.0, 2.02]  # no better than one of them
    assert not price_curves.best_claims("x", mixed)[list(price_curves.BEST).index("efficiency")].shown
    assert price_curves.over_capacity("x", values(1.13, 1.0)).shown
    assert not price_curves.over_capacity("x", values(1.11, 1.0)).shown


def test_exponential_times_by_hand() -> None:
    def times(seconds: list[float]) -> list[dict[str, float]]:
        return [{"jobs": jobs, "seed": 0, "seconds": s} for jobs, s in zip((2, 4, 8, 16), seconds, strict=True)]

    assert price_times.claim_of(times([4, 16, 256, 65536])).shown
    assert not price_times.claim_of(times([4, 16, 64, 256])).shown
