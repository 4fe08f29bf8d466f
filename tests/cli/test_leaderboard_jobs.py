"""`packenv leaderboard` on tables of whole jobs: measures by hand and against single runs, the bound below, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.cli.main import main
from packenv.results.fairness import unfairness
from packenv.runs.statistics import ratio_of_means
from packenv.theory.completion.bound import completion_bound

TWO_JOBS = "arrival,size,service,job\n0,1,4,0\n0,1,2,1\n"
"""On one server, one after the other."""
DRAWN = ("-w", "price/fig8", "-p", "bf-js", "-p", "fifo-ff", "--seeds", 3)


def compete(folder: Path, *words: object) -> list[dict[str, Any]]:
    out = folder / "standings.json"
    main(["leaderboard", "--processes", "1", "--json", str(out), *map(str, words)])
    return json.loads(out.read_text())


def two_jobs(folder: Path) -> str:
    (folder / "two.csv").write_text(TWO_JOBS)
    return f"{folder / 'two.csv'}@servers=1"


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shorter job first: ends 2 and 6; in order of arrival: 4 and 6. The one that waits has nothing of its half."""
    fifo, srpt = compete(tmp_path, "-w", two_jobs(tmp_path), "-p", "fifo-ff", "-p", "srpt")
    assert [one["mean_completion"]["mean"] for one in (fifo, srpt)] == [5, 4]
    assert [one["makespan"]["by_seed"] for one in (fifo, srpt)] == [[6], [6]]
    assert [one["unfairness"]["mean"] for one in (fifo, srpt)] == [1, 1]
    assert (fifo["mean_completion"]["ratio"], srpt["mean_completion"]["ratio"]) == (1.25, None)
    assert fifo["mean_completion"]["reference"] == "srpt" and fifo["makespan"]["reference"] == "fifo-ff"
    assert fifo["completion_bound"] == srpt["completion_bound"] == 4
    assert not {"mean_queue", "supported", "verdict"} & set(fifo)  # nor was anything judged
    out = capsys.readouterr().out
    assert "two.csv, 1 server, 2 jobs" in out and "mean completion (slots)" in out and "±" not in out
    assert "the ratio to the best of the column" in out and "supported" not in out


def test_drawn_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each seed's table under both policies, as single runs have it; the best of a measure is its reference."""
    found = compete(tmp_path, *DRAWN)
    workload, values = packenv.workload("price/fig8"), {}
    for policy in ("bf-js", "fifo-ff"):
        runs = [packenv.simulate(workload, policy, seed=seed, drain=True, schedule=True) for seed in range(3)]
        tables = [workload.at(seed).jobs for seed in range(3)]
        values[policy] = {
            "mean_completion": [run.jobs.mean for run in runs],
            "makespan": [run.jobs.makespan for run in runs],
            "unfairness": [unfairness(t, run.schedule, workload.servers.units) for t, run in zip(tables, runs, strict=True)],
        }
    for n, (one, other) in enumerate((found, found[::-1])):
        for measure, by_seed in values[one["policy"]].items():
            cell, against = one[measure], values[other["policy"]][measure]
            assert cell["by_seed"] == by_seed and cell["mean"] == pytest.approx(np.mean(by_seed))
            best = (np.mean(by_seed), n) < (np.mean(against), 1 - n)
            assert cell["reference"] == (one if best else other)["policy"]
            expected = None if best else ratio_of_means(by_seed, against)
            assert cell["ratio"] == (expected and expected.mean)
            assert cell["ratio_interval"] == (expected and [expected.low, expected.high])
    bounds = [completion_bound(workload.at(seed)).mean for seed in range(3)]
    assert found[0]["completion_bound"] == pytest.approx(np.mean(bounds))
    assert all(low <= v for own in values.values() for low, v in zip(bounds, own["mean_completion"], strict=True))
    out = capsys.readouterr().out
    assert "price/fig8, 3 tables of 100 jobs" in out and "lower bound (all known)" in out


def test_a_named_reference_and_all_outputs(tmp_path: Path) -> None:
    """It runs beside those named, and is the reference of every measure; the log makes nothing again."""
    page, log = tmp_path / "page.md", tmp_path / "log.jsonl"
    page.write_text("<!-- leaderboard -->\n<!-- /leaderboard -->\n")
    words = (*DRAWN[:4], "--seeds", 2, "--reference", "fifo-ff", "--log", log, "--markdown", page)
    first, second = compete(tmp_path, *words, "--plot", tmp_path / "ratios.png")
    assert (first["policy"], second["policy"]) == ("fifo-ff", "bf-js")
    assert all(second[key]["reference"] == "fifo-ff" for key in ("mean_completion", "makespan", "unfairness"))
    assert first["makespan"]["ratio"] is None and second["makespan"]["ratio"] < 1
    kept = log.read_text()
    assert compete(tmp_path, *words) == [first, second] and log.read_text() == kept
    head, _, *rows = [line for line in page.read_text().splitlines() if line.startswith("|")]
    assert head == "| `price/fig8`, 2 tables of 100 jobs | mean completion (slots) | makespan (slots) | unfairness |"
    assert [row.split("|")[1].strip() for row in rows] == ["`fifo-ff`", "`bf-js`", "lower bound (all known)"]
    assert rows[-1].endswith("| – | – |") and "<br>0." in rows[-1]
    assert (tmp_path / "ratios.png").read_bytes().startswith(b"\x89PNG")


def test_a_report(tmp_path: Path) -> None:
    compete(tmp_path, *DRAWN, "--report", tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text()
    assert "The least on price/fig8: mean completion (slots) bf-js, " in page
    assert "the lower bound (all known) on the mean completion (slots) is " in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-w", "price/fig8", "--warmup", 5), "price/fig8: --warmup does not go with a table of jobs"),
        (("-w", "price/fig8@slots=50"), "price/fig8@slots=50: slots do not go with a table of whole jobs"),
        (("-w", "price/fig8", "-w", "paper/fig4b", "--reference", "best"), "--reference best goes with tables of jobs"),
    ],
)
def test_bad_input(words: tuple[object, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        compete(tmp_path, "-p", "bf-js", *words)
    assert left.value.code == 2
    error = capsys.readouterr().err.strip()
    assert message in error and "\n" not in error
