"""`packenv reproduce eagle`: a small run, and its arithmetic on numbers made by hand."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import packenv
from experiments.eagle import runs, tables
from experiments.eagle.claims import claims_on, claims_on_hawk, claims_on_mechanisms, claims_on_panels
from experiments.eagle.runs import EAGLE, EAGLES, HAWK, MEASURES, MECHANISMS, OTHERS, WARMUP, Case, Measures
from experiments.finding import Row
from packenv import Jobs, Workload
from packenv.cli.main import main
from packenv.workloads.named.eagle import MIXES, UTILISATION


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for trace in runs.TRACES:
        monkeypatch.setitem(MIXES, trace, MIXES[trace]._replace(clusters=(80, 120), jobs=900))
    main(["reproduce", "eagle", "--quick", "--out", str(tmp_path), "--processes", "1"])
    out = capsys.readouterr().out
    panels, policies, parts, sweep = (rows(tmp_path / f"eagle{part}.csv") for part in ("", "_policies", "_mechanisms", "_sweep"))
    assert len(panels) == len(runs.TRACES) * 2 * len(MEASURES)
    for row in panels:
        assert 0 < float(row["eagle_over_hawk_low"]) <= float(row["eagle_over_hawk"]) <= float(row["eagle_over_hawk_high"])
        assert 0 < float(row["eagle_utilisation"]) < 1
        assert row["servers"] != "80" or float(row["nearer"]) == 0
    for trace in runs.TRACES:
        own = [row for row in policies if row["trace"] == trace]
        assert {row["policy"] for row in own} == {HAWK, *EAGLES.values(), *(OTHERS if trace == "google" else ())}
        assert {float(row["over_hawk"]) for row in own if row["policy"] == HAWK} == {1.0}
        over = {(row["policy"], row["jobs"], row["percentile"]): row["over_hawk"] for row in own}
        here = {(row["jobs"], row["percentile"]): row for row in panels if (row["trace"], row["servers"]) == (trace, "80")}
        for kind, level in ((kind, str(level)) for kind, level in MEASURES):
            assert over[EAGLE, kind, level] == here[kind, level]["eagle_over_hawk"]
            those = [row for row in parts if (row["trace"], row["jobs"], row["percentile"]) == (trace, kind, level)]
            gain = float(over[EAGLES[()], kind, level]) / float(over[EAGLE, kind, level])
            assert math.prod(float(row["factor"]) for row in those) == pytest.approx(gain, rel=1e-6)
    assert len(sweep) == len(runs.SWEEP) * 4
    claims = rows(tmp_path / "eagle_claims.csv")
    assert len(claims) == 3 * 5 + 4 + 3 * 3
    assert f"{sum(claim['verdict'] == 'shown' for claim in claims)} of {len(claims)} claims shown" in out
    assert (tmp_path / "eagle.png").read_bytes().startswith(b"\x89PNG")


def test_cases() -> None:
    """What is compared runs on the same servers; the sweep's loads are those of the clusters."""
    keys = runs.cases()
    assert len(set(keys)) == len(keys)
    assert {case.servers for case in keys if case.trace == "yahoo"} == set(MIXES["yahoo"].clusters)
    assert runs.swept(0.9, 1, "sparrow") == Case("google", 15_000, "sparrow")
    named = runs.cluster("google", 2_000, runs.swept(0.65, 1, HAWK).servers, 1)
    table = named.at(0).jobs
    assert table is not None
    assert table.service.sum() / table.arrival[-1] / len(named.servers) == pytest.approx(0.65, rel=0.01)


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


def outcomes(scale: float, short: float = 1.0, noise: float = 1.0) -> list[Measures]:
    """Two seeds, of which `noise` divides and multiplies the times."""
    return [
        Measures({(kind, p): scale * seed * p * noise**power * (short if kind == "short" else 1) for kind, p in MEASURES}, 0.9)
        for seed, power in ((1, -1), (2, 1))
    ]


def test_panels_and_claims_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MIXES, "google", MIXES["google"]._replace(clusters=(10, 20)))

    def verdicts(smallest: float, largest: float, long: float = 1.0, noise: float = 1.0) -> list[bool]:
        found = {Case("google", servers, HAWK): outcomes(1.0) for servers in (10, 20)}
        found[Case("google", 10, EAGLE)] = outcomes(long, smallest / long)
        found[Case("google", 20, EAGLE)] = outcomes(long, largest / long, noise)
        made = tables.panel_rows("google", found)
        expected = [ratio for at in (smallest, largest) for ratio in (at, at, at, long, long, long)]
        assert [row["eagle_over_hawk"] for row in made] == pytest.approx(expected)
        return [claim.shown for claim in claims_on_panels("google", made)]

    assert verdicts(0.5, 0.8) == [True] * 5
    assert verdicts(0.5, 0.4) == [True] * 4 + [False]
    assert verdicts(0.5, 1.01) == [False] * 3 + [True, True]
    assert verdicts(0.5, 3.0) == [False] * 3 + [True, False]
    assert verdicts(0.5, 0.8, long=1.2) == [True] * 3 + [False, True]
    assert verdicts(0.5, 0.8, long=1 / 1.2) == [True] * 3 + [False, True]
    # The same means, but of two seeds that lie far apart: nothing is certain of the largest cluster.
    assert verdicts(0.5, 0.8, noise=1.3) == [False] * 5


def sweep_of(hawk: dict[int, list[Measures]], others: list[Measures]) -> list[Row]:
    """Rows for Hawk at the high load and elsewhere, over a Sparrow that takes 1 everywhere."""
    found = {}
    for load, burst in runs.SWEEP:
        found[runs.swept(load, burst, HAWK)] = hawk[burst] if load == UTILISATION else others
        found[runs.swept(load, burst, "sparrow")] = outcomes(1.0)
    return tables.sweep_rows(found)


def test_claims_on_hawk_by_hand() -> None:
    def verdicts(hawk: list[Measures]) -> list[str]:
        return [claim.verdict for claim in claims_on_hawk(sweep_of(dict.fromkeys((1, 30, 300), hawk), outcomes(1.0)))]

    # 80 and 90 % are published of short jobs, 35 and 10 % of long ones, which are alike here.
    assert verdicts(outcomes(1.0, 0.2, 1.001)) == ["shown", "direction only", "not shown", "not shown"]
    assert verdicts(outcomes(0.9, 0.1 / 0.9, 1.001)) == ["direction only", "shown", "direction only", "shown"]
    assert verdicts(outcomes(0.65, 0.3, 1.001)) == ["direction only", "direction only", "shown", "direction only"]
    assert verdicts(outcomes(1.2, 1.0, 1.001)) == ["not shown"] * 4
    assert verdicts(outcomes(0.65, 0.2 / 0.65, 3.0)) == ["not shown"] * 4  # contains all that was published, and 1
    elsewhere = sweep_of({1: outcomes(1.0), 30: outcomes(0.1), 300: outcomes(0.1)}, outcomes(0.1))
    assert {claim.verdict for claim in claims_on_hawk(elsewhere)} == {"not shown"}
    assert "; load 0.96 0.1 [0.1, 0.1]; load 0.9, 30 at a time 0.1 [0.1, 0.1]; " in claims_on_hawk(elsewhere)[0].figures


def test_mechanisms_by_hand() -> None:
    """Sharing halves the time, sticky probes take a third off with sharing only, SRPT does nothing on google."""

    def time_with(own: tuple[str, ...], srpt: float) -> float:
        saved = (0.5 if "sharing" in own else 1.0) * (2 / 3 if {"sharing", "sticky"} <= set(own) else 1.0)
        return saved * (srpt if "srpt" in own else 1.0)

    found = {
        Case(trace, MIXES[trace].clusters[0], policy): outcomes(time_with(own, srpt), noise=noise if "srpt" in own else 1.0)
        for trace, srpt, noise in (("google", 1.0, 1.0), ("cloudera", 0.8, 1.01), ("yahoo", 0.8, 1.5))
        for own, policy in EAGLES.items()
    }
    parts = tables.mechanism_rows("google", found)
    factors = {row["mechanism"]: row["factor"] for row in parts if (row["jobs"], row["percentile"]) == ("short", 90)}
    half = math.sqrt(1.5)  # the two halves of what takes both
    assert factors == pytest.approx({"sharing": 2 * half, "sticky": half, "srpt": 1.0})
    shares = [row["share"] for row in parts[: len(MECHANISMS)]]
    assert sum(shares) == pytest.approx(1) and shares[1] == pytest.approx(math.log(half) / math.log(3))
    every = [row for trace in runs.TRACES for row in tables.mechanism_rows(trace, found)]
    shown = [claim.shown for claim in claims_on_mechanisms(every)]
    assert shown == [True, True, False, True, True, True, True, True, False]
    sweep = sweep_of(dict.fromkeys((1, 30, 300), outcomes(1.0)), outcomes(1.0))
    assert [claim.shown for claim in claims_on([], sweep, every)] == [False] * 4 + shown


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (HAWK, "hawk:cutoff=90.5811,reserved=0.02"),
        ("hawk:attempts=0", "hawk:attempts=0,cutoff=90.5811,reserved=0.02"),
        ("eagle", "eagle:cutoff=90.5811,reserved=0.02"),
        ("yaq", "yaq"),
    ],
)
def test_who_is_told_the_cutoff(policy: str, told: str) -> None:
    assert runs.policy_of(Case("yahoo", 4_000, policy)) == told
