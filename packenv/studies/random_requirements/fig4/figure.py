"""Figure 4: the mean queue against the traffic intensity α, for (a) small and (b) large jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from packenv.results.result import Result
from packenv.runs.run import Run
from packenv.runs.runner import run_all
from packenv.runs.statistics import ratio
from packenv.runs.text import counted
from packenv.studies.finding import Finding, Row, Settings, columns
from packenv.studies.random_requirements.fig4.claims import POLICIES, Queues, claims_a, claims_across, claims_b, intensities
from packenv.studies.random_requirements.rows import NAMES, row_of
from packenv.workloads.find import workload

INTENSITIES = tuple(n / 100 for n in range(85, 100))
SLOTS, SEEDS, QUICK_SEEDS = 1_000_000, 8, 3
SIZES = {"fig4a": "U[0.01, 0.19]", "fig4b": "U[0.1, 0.9]"}


def reproduce(figure: str, settings: Settings) -> Finding:
    slots, seeds = settings.slots_or(SLOTS), settings.seeds_or(SEEDS, QUICK_SEEDS)
    runs = [
        Run(workload(f"paper/{figure}", intensity=alpha), policy, seed, slots)
        for alpha in reversed(INTENSITIES)  # the longest first
        for policy in POLICIES
        for seed in range(seeds)
    ]
    groups: dict[tuple[float, str], list[Result]] = {}
    for run, result in zip(runs, run_all(runs, settings.runs, figure), strict=True):
        groups.setdefault((run.made().intensity, run.policy), []).append(result)
    keys = [(alpha, policy) for policy in POLICIES for alpha in INTENSITIES]
    rows = [row_of(groups[key], intensity=key[0]) for key in keys]
    queues: Queues = {key: [result.mean_queue for result in groups[key]] for key in keys}
    title = f"Figure 4({figure[4]}): sizes {SIZES[figure]}, 5 servers; {slots:,} slots, {counted(seeds, 'seed')}{settings.remark}"
    claims = claims_a(queues) if figure == "fig4a" else claims_b(queues)

    def draw(path: Path) -> None:
        from packenv.studies.random_requirements.fig4.plot import draw_means

        draw_means(rows, "intensity", "traffic intensity α", [NAMES[policy] for policy in POLICIES], title, path)

    compare = beside_small_jobs if figure == "fig4b" else None
    rates = {alpha: workload(f"paper/{figure}", intensity=alpha).rate for alpha in INTENSITIES}
    return Finding(
        figure, title, claims, {"": rows, "_ratios": ratio_rows(queues)}, draw, values=(queues, rates), compare=compare
    )


def beside_small_jobs(finding: Finding, earlier: Mapping[str, Finding]) -> Finding:
    """Figure 4(b) with the claims that compare it with 4(a), where that is at hand."""
    if "fig4a" not in earlier:
        return replace(finding, notes=["fig4b: how it compares with (a) takes both: packenv reproduce fig4a fig4b"])
    return replace(finding, claims=finding.claims + claims_across(earlier["fig4a"].values, finding.values))


def reproduce_a(settings: Settings) -> Finding:
    """Small jobs."""
    return reproduce("fig4a", settings)


def reproduce_b(settings: Settings) -> Finding:
    """Large jobs."""
    return reproduce("fig4b", settings)


def ratio_rows(queues: Queues) -> list[Row]:
    """The policies' mean queues over that of BF-J/S, which saw the same jobs."""
    rows = []
    for policy in POLICIES[1:]:
        for alpha in intensities(queues):
            found = ratio(queues[alpha, policy], queues[alpha, "bf-js"])
            about = {"intensity": alpha, "policy": policy}
            rows.append(about | columns("over_bf_js", found) | {"seeds": len(queues[alpha, policy])})
    return rows
