"""Delay scheduling: locality against how long jobs wait for it, fixed and dynamic intervals, sticky slots (PAPERS §5)."""

from __future__ import annotations

from pathlib import Path

from packenv.runs.text import counted
from packenv.studies.beside import completion_bounds, notes_of
from packenv.studies.delay import runs
from packenv.studies.delay.claims import (
    claim_on_sticky_slots,
    claims_on_intervals,
    claims_on_locality,
    claims_on_the_bound,
    times,
)
from packenv.studies.finding import Finding, Settings
from packenv.workloads.find import workload as named
from packenv.workloads.named.blocks import SLOT_SECONDS


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(runs.SEEDS, runs.QUICK_SEEDS)
    small = [row for servers in runs.CLUSTERS for row in runs.locality_rows(servers, seeds, settings)]
    found = {
        which: runs.measures_by_policy(named(workload), runs.COMPARED, seeds, settings)
        for which, workload in runs.NETWORKS.items()
    }
    compared, notes = [], []
    for which, by_policy in found.items():
        bounds = [SLOT_SECONDS * each for each in completion_bounds(named(runs.NETWORKS[which]), seeds)]
        rows = [*(runs.row_of(policy, each) for policy, each in by_policy.items()), runs.bound_row(bounds)]
        compared += [{"network": which} | row for row in rows]
        spans, ends = ({p: times(each, key) for p, each in by_policy.items()} for key in ("makespan", "completion"))
        notes += notes_of(f"delay, {which}", spans, ends, bounds, runs.DYNAMIC, "s")
    sticky = [row for jobs in runs.STICKY_JOBS for row in runs.sticky_rows(jobs, seeds, settings)]
    title = f"Delay scheduling: locality, intervals, sticky slots; {counted(seeds, 'seed')}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.delay.plot import draw_delay

        draw_delay(small, compared, sticky, title, path)

    claims = [
        *claims_on_locality(small),
        *claims_on_intervals(found),
        *claims_on_the_bound(found),
        claim_on_sticky_slots(sticky),
    ]
    return Finding("delay", title, claims, {"": small, "_network": compared, "_sticky": sticky}, draw, notes)
