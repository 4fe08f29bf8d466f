"""RLScheduler's table: the small engine by hand, where packenv's orders go another way, what decides, the cells."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import packenv
from experiments.finding import Settings
from experiments.rlscheduler import figure
from experiments.rlscheduler.decided import half_width, independent, overlapping
from experiments.rlscheduler.engine import ORDERS, Log, outcome_of, run
from experiments.rlscheduler.runs import folder_of, of_engine, read_study, table_name, ten_windows
from packenv.errors import InputError
from packenv.jobs import Jobs

FOLDER = Path(os.environ.get("PACKENV_ORACLES", "")) / "rlscheduler"
real = pytest.mark.skipif(
    "PACKENV_ORACLES" not in os.environ, reason="PACKENV_ORACLES is not set: the results of others are not here"
)


def three(submitted: list[int], lasts: list[int], needs: list[int]) -> Log:
    columns = [np.array(column, np.float64) for column in (submitted, lasts, needs, lasts)]
    return Log(4, *columns)


def in_packenv(log: Log, policy: str) -> list[float]:
    jobs = Jobs.of(log.submitted, log.needs / log.processors, log.run, estimate=log.request)
    workload = packenv.Workload(jobs=jobs, servers=1, processors=log.processors)
    schedule = packenv.simulate(workload, policy, drain=True, schedule=True).schedule
    assert schedule is not None
    return [float(slot) for slot in schedule.start]


@pytest.mark.parametrize(
    ("log", "order", "published", "easy"),
    [
        (three([0, 1, 2], [10, 5, 20], [2, 3, 1]), "fcfs", [0, 10, 10], [0, 10, 2]),  # ends late, but fits beside the kept job
        (three([0, 1, 2], [10, 5, 8], [2, 3, 2]), "fcfs", [0, 10, 15], [0, 10, 2]),  # ends when the kept job starts, not before
        (three([0, 1, 2], [10, 9, 3], [4, 4, 4]), "sjf", [0, 10, 19], [0, 13, 10]),  # a shorter job comes: who is kept stays
    ],
    ids=["beside", "in time", "kept"],
)
def test_three_jobs_on_which_easy_is_another_policy(log: Log, order: str, published: list[float], easy: list[float]) -> None:
    assert run(log, ORDERS[order], backfilling=True).tolist() == published
    assert in_packenv(log, f"easy:order={order}") == easy


def test_kept_until_it_fits_is_packenvs_own() -> None:
    """A submission that falls on a completion is known to who decides then, in both."""
    rng = np.random.default_rng(0)
    for order in ORDERS:
        submitted = np.sort(rng.choice(4_000, 60, replace=False))
        log = Log(12, submitted.astype(float), *(rng.integers(1, high, 60).astype(float) for high in (300, 13, 300)))
        assert in_packenv(log, f"fifo-ff:order={order}") == run(log, ORDERS[order], backfilling=False).tolist()


def test_a_wait_of_minus_one_minus_s_turns_the_order_round() -> None:
    """Behind A and K, which are kept when they are alone: C asks for four times B's time, and came later."""
    log = Log(4, *(np.array(column, np.float64) for column in ([0, 1, 2, 4], [10, 1, 5, 20], [4, 4, 4, 4], [10, 1, 5, 20])))
    right, turned = (run(log, ORDERS["wfp3"], False, as_coded).tolist() for as_coded in (False, True))
    assert right == [0, 10, 11, 16] and turned == [0, 10, 31, 11]
    assert outcome_of(log, np.array(right)).slowdown == pytest.approx((1 + 1 + 1.4 + 1.6) / 4)


def test_what_decides() -> None:
    first, second = np.array([5.0, 1, 9, 3]), np.array([2.0, 2, 4, 3])
    plain = independent(first, second)
    gap = np.array([3.0, -1, 5, 0])
    assert plain.mean == 1.75 and plain.half == pytest.approx(3.1824 * gap.std(ddof=1) / 2, rel=1e-4) and not plain.decided
    halves = [half_width(plain.deviation, windows) for windows in (int(plain.windows) - 1, int(plain.windows))]
    assert halves[0] >= 1.75 > halves[1]
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(4_000)
    moving = np.convolve(noise, np.ones(8) / 8, "valid")  # as windows of eight strides do
    wide, narrow = overlapping(moving, 0 * moving, 8), independent(moving, 0 * moving)
    assert wide.half / narrow.half == pytest.approx(np.sqrt(0.5 * 8 + 0.75), rel=0.35)  # Bartlett's weights lose a third
    assert overlapping(noise, 0 * noise, 1).half == pytest.approx(independent(noise, 0 * noise).half, rel=0.01)


def test_without_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACKENV_ORACLES", raising=False)
    with pytest.raises(InputError, match=r"rlscheduler: name the folder of the logs \(\*\.swf\): --trace FOLDER"):
        folder_of(None)
    with pytest.raises(InputError, match="is not a folder of logs"):
        folder_of(str(tmp_path / "absent"))
    with pytest.raises(InputError, match="has no logs"):
        read_study(tmp_path)
    assert table_name(Path("SDSC-SP2-1998-4.2-cln.swf.gz")) == "SDSC-SP2" and table_name(Path("mine.swf")) == "mine.swf"


@real
def test_cells() -> None:
    """One of each kind by the whole way; `packenv reproduce rlscheduler` has all."""
    study = read_study(FOLDER)
    for log, order, backfilling, as_coded, slowdown, utilisation in (
        ("Lublin-1", "unicef", False, True, 22274.74, 0.691),
        ("Lublin-1", "unicef", False, False, 381.71, 0.663),
        ("Lublin-2", "f1", True, False, 148.25, 0.552),
    ):
        found = of_engine(figure.log_of(study.logs[log]), ten_windows(study, log), order, backfilling, as_coded)
        assert found.slowdown == pytest.approx(slowdown, abs=0.0101)
        assert found.utilisation == pytest.approx(utilisation, abs=0.00051)


@real
@pytest.mark.slow
def test_the_study(tmp_path: Path) -> None:
    finding = figure.reproduce(Settings(quick=True, folder=str(FOLDER)))
    shown = {claim.claim: claim.shown for claim in finding.claims}
    few = {
        "all windows decide more of them",
        "a search that knows all jobs in advance is below the best order, without backfilling and with EASY",
        "Lublin-2: agent:batch, trained on no log, has at most the mean slowdown of the best order with EASY",
    }
    assert not any(shown.pop(claim) for claim in few)  # a quick look has too few windows for these
    assert all(shown.values()) and len(shown) == 8, shown
    assert all(row["search"] < row["best"] for row in finding.tables["_search"])
    rows = {(row["log"], row["backfilling"], row["measure"], row["order"]): row for row in finding.tables[""]}
    assert rows["Lublin-1", "yes", "bounded_slowdown", "saf"]["as_defined"] == 54.0
    finding.save_picture(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
