"""`packenv optimal-policy`, and its policy run by `packenv evaluate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packenv.cli.main import main

WORKLOAD = ["--sizes", "discrete:0.4@0.5,0.6@0.5", "--service", "geometric:3", "--servers", "1", "--rate", "0.3"]


def test_policy_is_found_saved_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Largest first is optimal for two sizes of which two large jobs do not fit together, so best fit has the same queue."""
    policy, found, evaluated = tmp_path / "best", tmp_path / "found.json", tmp_path / "evaluated.json"
    runs = ["--slots", "20000", "--seeds", "2", "--processes", "1"]
    main(["optimal-policy", *WORKLOAD, "--most", "4", *runs, "-p", "bf-js", "--out", str(policy), "--json", str(found)])
    said = capsys.readouterr().out
    assert "any policy, at least" in said and "more than 4 waiting jobs of a size are taken for 4" in said
    assert "too few: doubling them changes the shortest mean queue by" in said
    record = json.loads(found.read_text())
    assert (record["states"], record["most"], record["rate"]) == (5 * 9**2, 4, 0.3)
    assert 0 < record["smaller"] < record["lower"]
    assert [each["policy"] for each in record["policies"]] == ["optimal", "bf-js"]
    assert record["policies"][1]["ratio"][0] == pytest.approx(1, abs=0.01)

    main(["evaluate", *WORKLOAD, "-p", f"optimal:{policy}", *runs, "--json", str(evaluated)])
    means = [each["mean_queue"] for each in json.loads(evaluated.read_text()) if each["seed"] is not None]
    assert sum(means) / 2 == pytest.approx(record["policies"][0]["mean_queue"][0])


def test_enough_counts_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    main(["optimal-policy", *WORKLOAD, "--slots", "1000", "--seeds", "1", "--processes", "1"])
    said = capsys.readouterr().out
    assert "more than 16 waiting jobs of a size are taken for 16" in said and "too few" not in said


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["paper/fig4b"], "discrete sizes, not Uniform"),
        ([*WORKLOAD, "--arrivals", "batch:geometric:2"], "Bernoulli or Poisson arrivals, not Batch"),
        ([*WORKLOAD, "--most", "1000"], "20,020,005 states"),
        (
            [*WORKLOAD, "--seconds", "0.001", "--most", "300"],
            "with 453,005 states the shortest mean queue is known to lie between ",
        ),
        ([*WORKLOAD, "--within", "2"], "within must lie between 0 and 1, not 2"),
    ],
)
def test_bad_input(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["optimal-policy", *words])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1
