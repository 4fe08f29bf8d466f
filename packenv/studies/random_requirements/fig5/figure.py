"""Figure 5: queues and delays against traffic scaling β, on a trace, on a bootstrap of it, or on the workload fitted to one."""

from __future__ import annotations

from pathlib import Path

from packenv.results.result import Result
from packenv.runs.run import Run
from packenv.runs.runner import RunOptions, run_all
from packenv.studies.finding import Claim, Finding, Row, Settings
from packenv.studies.random_requirements.fig5.claims import POLICIES, claims_of
from packenv.studies.random_requirements.fig5.data import SLOT_SECONDS, SPEEDUPS, Data, Sped, data_of
from packenv.studies.random_requirements.rows import NAMES, row_of


def reproduce(settings: Settings) -> Finding:
    groups = data_of(settings)
    rows: list[Row] = []
    claims: list[Claim] = []
    panels: list[tuple[str, list[Row]]] = []
    for data in groups:
        found = rows_of(data, settings.runs)
        claims += claims_of(data.key, {key: [r.mean_queue for r in results] for key, results in found.items()})
        part = [
            row_of(results, data=data.key, speedup=float(beta), servers=data.servers, intensity=data.intensity(beta))
            for (beta, _), results in found.items()
        ]
        rows += part
        panels.append((f"{data.about}; {data.servers} servers", part))
    title = f"Figure 5: traffic scaling{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.random_requirements.fig5.plot import draw_scaling

        draw_scaling(panels, [NAMES[policy] for policy in POLICIES], float(SLOT_SECONDS), title, path)

    notes = [f"fig5: {data.about}; {data.servers} servers, offered {data.load:.1f} at β = 1" for data in groups]
    return Finding("fig5", title, claims, {"": rows}, draw, notes)


def rows_of(data: Data, options: RunOptions) -> dict[tuple[str, str], list[Result]]:
    """The results of each β and policy, over the seeds."""
    workloads = {(seed, beta): Sped(data, seed, beta) for seed in range(data.seeds) for beta in SPEEDUPS}
    keys = [(seed, beta, policy) for seed, beta in workloads for policy in POLICIES]
    results = run_all([Run(workloads[seed, beta], policy, seed) for seed, beta, policy in keys], options, f"fig5, {data.key}")
    found: dict[tuple[str, str], list[Result]] = {(beta, policy): [] for policy in POLICIES for beta in SPEEDUPS}
    for (_, beta, policy), result in zip(keys, results, strict=True):
        found[beta, policy].append(result)
    return found
