"""Tetris, packing with little work left first, against fair sharing that checks every resource or two of them (seed 001)."""

from __future__ import annotations

from pathlib import Path

from packenv.runs.text import counted
from packenv.studies.finding import Finding, Settings
from packenv.studies.tetris.claims import claim_on_fragments, claims_on_fairness, claims_on_times
from packenv.studies.tetris.runs import (
    COMPARED,
    FRAGMENTED,
    JOBS,
    KNOBS,
    QUICK_JOBS,
    QUICK_SEEDS,
    RESOURCES,
    SEEDS,
    SMALL,
    measures_by_policy,
    row_of,
)
from packenv.workloads.named.analytics import analytics


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    jobs = QUICK_JOBS if settings.quick else JOBS
    workload = analytics(jobs=jobs)
    knobs = [f"tetris:f={f:g}" for f in KNOBS]
    found = measures_by_policy(workload, list(dict.fromkeys([*COMPARED, *knobs])), seeds, settings.processes)
    by_resources = {D: analytics(jobs=SMALL, resources=D, kinds=False) for D in RESOURCES}
    fragments = {D: measures_by_policy(made, ["drf", *FRAGMENTED], seeds, settings.processes) for D, made in by_resources.items()}
    compared = [row_of(policy, found[policy]) for policy in COMPARED]
    curve = [{"f": f} | row_of(policy, found[policy]) for f, policy in zip(KNOBS, knobs, strict=True)]
    pieces = [{"resources": D} | row_of(policy, fragments[D][policy]) for D in RESOURCES for policy in FRAGMENTED]
    title = f"Tetris: {jobs} jobs of many tasks on {len(workload.servers)} servers, {counted(seeds, 'seed')}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.tetris.plot import draw_tetris

        draw_tetris(compared, curve, pieces, title, path)

    claims = [*claims_on_times(found), *claims_on_fairness(found, knobs), claim_on_fragments(fragments)]
    tables = {"": compared, "_fairness": curve, "_fragmentation": pieces}
    return Finding("tetris", title, claims, tables, draw)
