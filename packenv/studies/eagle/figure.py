"""Eagle over Hawk by the size of the cluster, and what each of Eagle's mechanisms adds (seed 003, figure 3.2)."""

from __future__ import annotations

from pathlib import Path

from packenv.runs.text import counted
from packenv.studies.eagle.claims import claims_on
from packenv.studies.eagle.rows import panel_rows, shares_of, times_of
from packenv.studies.eagle.runs import QUICK_SEEDS, SEEDS, TRACES, measures_by_cluster
from packenv.studies.finding import Finding, Settings
from packenv.workloads.named.eagle import MIXES


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    found = {trace: measures_by_cluster(trace, seeds, settings) for trace in TRACES}
    panels = [row for trace in TRACES for row in panel_rows(trace, found[trace], seeds)]
    smallest = MIXES["google"].clusters[0]
    full = {policy: runs for (servers, policy), runs in found["google"].items() if servers == smallest}
    compared, parts = [row for policy in full for row in times_of(policy, full)], shares_of(full)
    told = f"{counted(seeds, 'seed')} of workloads in the traces' proportions, the smallest clusters 0.9 utilised"
    title = f"Eagle over Hawk, {told}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.eagle.plot import draw_eagle

        draw_eagle(panels, compared, parts, title, path)

    tables = {"": panels, "_policies": compared, "_mechanisms": parts}
    return Finding("eagle", title, claims_on(panels, compared, parts), tables, draw)
