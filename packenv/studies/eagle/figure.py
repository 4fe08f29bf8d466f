"""Eagle over Hawk by the size of the cluster, and what each of Eagle's mechanisms adds (Delgado et al., figure 3.2); Hawk over
Sparrow by load and burst."""

from __future__ import annotations

from pathlib import Path

from packenv.runs.text import counted
from packenv.studies.eagle.claims import claims_on
from packenv.studies.eagle.rows import mechanism_rows, panel_rows, policy_rows, sweep_rows
from packenv.studies.eagle.runs import QUICK_SEEDS, SEEDS, TRACES, measure
from packenv.studies.finding import Finding, Settings


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    found = measure(seeds, settings)
    panels, compared, parts = (
        [row for trace in TRACES for row in rows_of(trace, found)] for rows_of in (panel_rows, policy_rows, mechanism_rows)
    )
    sweep = sweep_rows(found)
    told = f"{counted(seeds, 'seed')} of workloads in the traces' proportions, the smallest clusters 0.9 utilised"
    title = f"Eagle over Hawk, {told}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.eagle.plot import draw_eagle

        draw_eagle(panels, compared, parts, sweep, title, path)

    tables = {"": panels, "_policies": compared, "_mechanisms": parts, "_sweep": sweep}
    return Finding("eagle", title, claims_on(panels, sweep, parts), tables, draw)
