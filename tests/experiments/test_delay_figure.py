"""`packenv reproduce delay`, small: its closed form, its tables, and its claims."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from experiments.comparators import BESIDE, BOUND
from experiments.delay import runs as delay
from packenv.cli.main import main


def test_the_closed_form() -> None:
    assert [delay.skips_for(servers) for servers in (100, 1000)] == [24, 232]  # ⌈0.231 M⌉
    assert delay.closed_form(100, 23) == pytest.approx(0.9535, abs=1e-4)  # 24 offers in all
    assert delay.closed_form(1000, 231) == pytest.approx(0.9504, abs=1e-4)
    assert delay.closed_form(100, 0) == pytest.approx(1 - sum(0.97**k for k in range(1, 21)) / 20)


@pytest.mark.slow
@pytest.mark.minutes
def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(delay, "CLUSTERS", (60,))
    monkeypatch.setattr(delay, "STICKY_JOBS", (1, 50))
    monkeypatch.setattr(delay, "STICKY_TASKS", 1000)
    monkeypatch.setattr(delay, "NETWORKS", {"hot blocks": "delay/hot", "changing": "delay/changing"})
    main(["reproduce", "delay", "--seeds", "2", "--out", str(tmp_path), "--processes", "1"])
    assert "slots stick to jobs under fair sharing" in capsys.readouterr().out
    tables = {name: [*csv.DictReader((tmp_path / f"delay{name}.csv").open())] for name in ("", "_network", "_sticky", "_claims")}
    for row in tables[""]:
        if row["variant"] == "paper":
            assert abs(float(row["locality"]) - float(row["closed_form"])) < 0.05
    assert {row["policy"] for row in tables["_network"]} == {*delay.COMPARED, BOUND}
    sticky = {(row["policy"], row["jobs"]): float(row["locality"]) for row in tables["_sticky"]}
    assert sticky["delay", "50"] > 2 * sticky["fair", "50"]
    assert len(tables["_claims"]) == 2 + 2 * 4 + 1 + 1
    bounds = {row["network"]: float(row["completion"]) for row in tables["_network"] if row["policy"] == BOUND}
    for row in (row for row in tables["_network"] if row["policy"] != BOUND):
        assert float(row["completion"]) >= bounds[row["network"]]
        parts = float(row["scheduling_delay"]) + float(row["overhead"])
        assert parts < float(row["task_completion"]) and (row["policy"] != "fair" or float(row["scheduling_delay"]) == 0)
        assert (row["in_paper"] == "no") == (row["policy"] in BESIDE)
    assert (tmp_path / "delay.png").stat().st_size > 10_000
