"""Tetris, packing with little work left first, against fair sharing that checks every resource or two of them (Grandl et al.)."""

from __future__ import annotations

from pathlib import Path

from packenv.runs.text import counted
from packenv.studies.beside import completion_bounds, notes_of
from packenv.studies.finding import Finding, Settings
from packenv.studies.tetris.claims import claim_on_fragments, claims_on_demands, claims_on_fairness, claims_on_times
from packenv.studies.tetris.runs import (
    COMPARED,
    DEMANDS,
    FRAGMENTED,
    JOBS,
    KNOBS,
    OF_DEMANDS,
    QUICK_JOBS,
    QUICK_SEEDS,
    RESOURCES,
    SEEDS,
    SMALL,
    bound_row,
    measures_by_demands,
    measures_by_policy,
    row_of,
)
from packenv.workloads.named.analytics import analytics


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    jobs = QUICK_JOBS if settings.quick else JOBS
    by_demands = measures_by_demands(jobs, seeds, settings.runs)
    found = by_demands["correlated"]
    small = {D: analytics(jobs=SMALL, resources=D, kinds=False) for D in RESOURCES}
    fragments = {D: measures_by_policy(workload, FRAGMENTED, seeds, settings.runs) for D, workload in small.items()}
    bounds = completion_bounds(analytics(jobs=jobs), seeds)
    compared = [*(row_of(policy, found[policy]) for policy in COMPARED), bound_row(bounds)]
    makespans, means = ({p: [getattr(each, what) for each in found[p]] for p in COMPARED} for what in ("makespan", "mean"))
    notes = notes_of("tetris", makespans, means, bounds, "tetris", "slots")
    curve = [{"f": f} | row_of(policy, found[policy]) for f, policy in KNOBS.items()]
    sweep = [{"demands": name} | row_of(policy, by_demands[name][policy]) for name in DEMANDS for policy in OF_DEMANDS]
    pieces = [{"resources": D} | row_of(policy, fragments[D][policy]) for D in RESOURCES for policy in FRAGMENTED]
    servers = len(small[1].servers)
    title = f"Tetris: {jobs} jobs of many tasks on {servers} servers, {counted(seeds, 'seed')}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.tetris.plot import draw_tetris

        draw_tetris(compared, curve, sweep, pieces, title, path)

    claims = [
        *claims_on_times(found),
        *claims_on_demands(by_demands),
        *claims_on_fairness(found),
        claim_on_fragments(fragments),
    ]
    tables = {"": compared, "_fairness": curve, "_demands": sweep, "_fragmentation": pieces}
    return Finding("tetris", title, claims, tables, draw, notes)
