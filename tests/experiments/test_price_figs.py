"""`packenv reproduce price-figs`: the files, and the claims on real runs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import packenv
from experiments.price import curves as price_curves
from experiments.price import runs as price_runs
from packenv import Jobs, Workload
from packenv.cli.main import main


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
    others = {"FIFO, not blocking": 10, "BF-J/S": 10, "Tetris": 8, "Tetris, packing only": 10, "DRF": 10}
    assert ends == {"FIFO, reversed": 8, "FIFO, blocking": 10, "price, welfare 0.1": 8} | others


def test_a_setting_that_cannot_bind_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(tmp_path, "price-fig2", "--seeds", 2)
    assert "not shown  the makespan of SAT is 20% shorter than FIFO's: impossible: with all 2 seeds" in capsys.readouterr().out


def test_what_is_not_installed_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("price.makespans", "price.solving_times"):
        monkeypatch.setattr(f"experiments.{module}.has_sat", lambda: False)
    reproduce(tmp_path, "price-fig3", "price-fig4", "--seeds", 2)
    out = capsys.readouterr().out
    assert out.count("not shown  the makespan of SAT") == 1 and out.count("not shown  solving time") == 2
    assert out.count(price_runs.LEFT_OUT) == 3
    each = rows(tmp_path / "price-fig3_seeds.csv")
    assert all(float(row["lower_bound"]) <= float(row[policy]) for row in each for policy in row if policy != "seed")
    assert {row["seconds"] for row in rows(tmp_path / "price-fig4.csv")} == {""}


def test_curves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(tmp_path, "price-fig8", "--seeds", 10)
    out = capsys.readouterr().out
    assert "shown      price, welfare 0.1: the shortest makespan: " in out
    assert "not shown  price, welfare 0.1: the shortest makespan, also against those that the paper leaves out: " in out
    gain = {(row["difference"], row["made"]): float(row["slots"]) for row in rows(tmp_path / "price-fig8_gain.csv")}
    for first, second in (("not blocking", "the order by price"), ("the order by price", "not blocking")):
        assert gain[first, "first"] + gain[second, "second"] == pytest.approx(gain["both", "together"])
    assert (tmp_path / "price-fig8.png").read_bytes().startswith(b"\x89PNG")
    paths = rows(tmp_path / "price-fig8.csv")
    for policy in ("price", "fifo"):
        own = [row for row in paths if row["policy"] == policy]
        efficiency = [float(row["efficiency"]) for row in own]
        assert efficiency == sorted(efficiency) and (efficiency[0], efficiency[-1]) == (0, 1)
        assert max(float(row["utilisation"]) for row in own) <= 1
        assert float(own[0]["unfairness"]) == float(own[-1]["unfairness"]) == 0
    measures = {(row["policy"], row["measure"]): float(row["mean"]) for row in rows(tmp_path / "price-fig8_measures.csv")}
    bound = measures["lower bound", "completion"]
    assert all(
        bound < mean for (policy, measure), mean in measures.items() if measure == "completion" and policy != "lower bound"
    )
    assert "price-fig8: packing alone (tetris:m=0,f=0) has the shortest makespan, " in out
    means = [measures[policy, "makespan"] for policy in ("tetris:m=0,f=0", "price", "fifo:blocking=false", "fifo")]
    assert means == sorted(means)
    assert gain["both", "together"] == pytest.approx(means[3] - means[1])


def test_price_beats_tetris_where_a_resource_is_abundant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(tmp_path, "price-abundant", "--seeds", 20)
    out = capsys.readouterr().out
    for other in price_runs.NOT_COMPARED:
        assert f"shown      where one resource is abundant, price has a shorter makespan than {price_runs.NAMES[other]}: " in out


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
