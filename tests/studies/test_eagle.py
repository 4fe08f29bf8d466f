"""`packenv reproduce eagle`: a small run, and its arithmetic on numbers made by hand."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import packenv
from packenv import Jobs, Workload
from packenv.cli.main import main
from packenv.studies.eagle import rows as tables
from packenv.studies.eagle import runs
from packenv.studies.eagle.claims import claims_on, claims_on_hawk, claims_on_mechanisms, claims_on_panels
from packenv.studies.eagle.runs import EAGLE, EAGLES, HAWK, MEASURES, MECHANISMS, OTHERS, WARMUP, Measures
from packenv.workloads.named.eagle import MIXES


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for trace in runs.TRACES:
        monkeypatch.setitem(MIXES, trace, MIXES[trace]._replace(clusters=(80, 120), jobs=900))
    main(["reproduce", "eagle", "--quick", "--out", str(tmp_path), "--processes", "1"])
    out = capsys.readouterr().out
    panels, policies, parts = (rows(tmp_path / f"eagle{part}.csv") for part in ("", "_policies", "_mechanisms"))
    assert len(panels) == len(runs.TRACES) * 2 * len(MEASURES)
    for row in panels:
        assert 0 < float(row["low"]) <= float(row["eagle_over_hawk"]) <= float(row["high"])
        assert 0 < float(row["eagle_utilisation"]) < 1
    assert {row["policy"] for row in policies} == {HAWK, *OTHERS, *EAGLES.values()}
    assert {float(row["over_hawk"]) for row in policies if row["policy"] == HAWK} == {1.0}
    here = {(row["jobs"], row["percentile"]): row for row in panels if (row["trace"], row["servers"]) == ("google", "80")}
    for row in (row for row in policies if row["policy"] == EAGLE):
        same = here[row["jobs"], row["percentile"]]
        assert (row["over_hawk"], row["seconds"]) == (same["eagle_over_hawk"], same["eagle_s"])
    none, full = EAGLES[()], EAGLE
    for kind, level in MEASURES:
        own = [float(row["factor"]) for row in parts if (row["jobs"], row["percentile"]) == (kind, str(level))]
        over = {
            row["policy"]: float(row["over_hawk"]) for row in policies if (row["jobs"], row["percentile"]) == (kind, str(level))
        }
        assert math.prod(own) == pytest.approx(over[none] / over[full], rel=1e-6)
    claims = rows(tmp_path / "eagle_claims.csv")
    assert len(claims) == 3 * 5 + 4 + 3
    assert f"{sum(claim['verdict'] == 'shown' for claim in claims)} of {len(claims)} claims shown" in out
    assert (tmp_path / "eagle.png").read_bytes().startswith(b"\x89PNG")


def test_percentiles_and_utilisation_by_hand() -> None:
    """One server, first come first served; jobs in seconds: 100 at 0 (warm-up), then short ones of 1, 2 and 3, and one of 50."""
    second = 2000  # slots
    arrival, service = np.array([0, 90, 90, 90, 95, 95]), np.array([100, 1, 2, 3, 25, 25])
    job = np.array([0, 1, 2, 3, 4, 4])
    table = Jobs.of(arrival * second, [1.0] * 6, service * second, job=job, estimate=service * float(second))

    def found_on(servers: int) -> Measures:
        workload = Workload(jobs=table, servers=servers)
        return runs.measures_of(workload, packenv.simulate(workload, "fifo-ff", drain=True, schedule=True), cutoff=20.0)

    found = found_on(1)
    short = [101 - 90, 103 - 90, 106 - 90]
    assert [found.seconds["short", level] for level in (50, 90, 99)] == [short[1], short[2], short[2]]
    assert {found.seconds["long", level] for level in (50, 90, 99)} == {156 - 95}
    assert found.utilisation == 1.0
    begin = WARMUP * 95
    busy = (95 - begin) + (91 - 90) + (93 - 91) + (95 - 93)  # the long one all the time, the short ones from 90 on
    assert found_on(2).utilisation == pytest.approx(busy / (95 - begin) / 2)


def outcomes(scale: float, short: float = 1.0) -> list[Measures]:
    """Two seeds."""
    return [
        Measures({(kind, p): scale * seed * p * (short if kind == "short" else 1) for kind, p in MEASURES}, 0.9)
        for seed in (1, 2)
    ]


def test_panels_and_claims_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MIXES, "google", MIXES["google"]._replace(clusters=(10, 20)))

    def verdicts(smallest: float, largest: float, long: float = 1.0) -> list[bool]:
        found = {(10, HAWK): outcomes(1.0), (20, HAWK): outcomes(1.0)}
        found |= {(10, EAGLE): outcomes(long, smallest / long), (20, EAGLE): outcomes(long, largest / long)}
        made = tables.panel_rows("google", found, 2)
        expected = [ratio for at in (smallest, largest) for ratio in (at, at, at, long, long, long)]
        assert [row["eagle_over_hawk"] for row in made] == pytest.approx(expected)
        return [claim.shown for claim in claims_on_panels("google", made)]

    assert verdicts(0.5, 0.8) == [True] * 5
    assert verdicts(0.5, 0.4) == [True] * 4 + [False]
    assert verdicts(0.5, 1.01) == [False] * 3 + [True, True]
    assert verdicts(0.5, 0.8, long=1.2) == [True] * 3 + [False, True]


def test_claims_on_hawk_by_hand() -> None:
    found = {HAWK: outcomes(1.0, 0.2), "sparrow": outcomes(1.0)}
    shown = [claim.shown for claim in claims_on_hawk(tables.times_of(HAWK, found))]
    assert shown == [True, True, False, False]  # long jobs are alike


def test_mechanisms_by_hand() -> None:
    """Sharing halves the time, sticky probes take a third off with sharing only, SRPT does nothing."""

    def time_with(own: tuple[str, ...]) -> float:
        return (0.5 if "sharing" in own else 1.0) * (2 / 3 if {"sharing", "sticky"} <= set(own) else 1.0)

    parts = tables.shares_of({policy: outcomes(time_with(own)) for own, policy in EAGLES.items()})
    factors = {row["mechanism"]: row["factor"] for row in parts if (row["jobs"], row["percentile"]) == ("short", 90)}
    half = math.sqrt(1.5)  # the two halves of what takes both
    assert factors == pytest.approx({"sharing": 2 * half, "sticky": half, "srpt": 1.0})
    shares = [row["share"] for row in parts[: len(MECHANISMS)]]
    assert sum(shares) == pytest.approx(1) and shares[1] == pytest.approx(math.log(half) / math.log(3))
    assert [claim.shown for claim in claims_on_mechanisms(parts)] == [True, True, False]
    compared = tables.times_of(HAWK, dict.fromkeys((HAWK, "sparrow"), outcomes(1.0)))
    assert [claim.shown for claim in claims_on([], compared, parts)] == [False] * 4 + [True, True, False]


@pytest.mark.parametrize(
    ("policy", "told"),
    [(HAWK, "hawk:cutoff=7"), ("hawk:attempts=0", "hawk:attempts=0,cutoff=7"), ("eagle", "eagle:cutoff=7"), ("yaq", "yaq")],
)
def test_who_is_told_the_cutoff(policy: str, told: str) -> None:
    assert runs.with_cutoff(policy, 7) == told
