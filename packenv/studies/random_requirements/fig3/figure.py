"""Figure 3: the queue over time (a) where VQS is unstable and (b) where best fit is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from packenv.results.result import Result
from packenv.runs.run import Run
from packenv.runs.runner import run_all
from packenv.runs.statistics import interval
from packenv.runs.text import counted
from packenv.runs.verdicts import joint_verdict, queue_growth
from packenv.studies.finding import Claim, Finding, Row, Settings
from packenv.studies.random_requirements.fig3.claims import LOCKED_START, Curves, claims_a, claims_b, locked_from
from packenv.studies.random_requirements.rows import NAMES, row_of
from packenv.workloads.find import workload
from packenv.workloads.workload import Workload

POLICIES = ("bf-js", "vqs", "vqs-bf")
SLOTS, SEEDS, QUICK_SEEDS = 4_000_000, 24, 8
POINTS = 256
STAYS = 5_000  # slots that the locked jobs stay at the start: about 150 wait when they leave
STARTED = ((2.0, 0, STAYS + 33), (2.0, 0, STAYS + 67), (5.0, 0, STAYS + 100))  # size, server, slots that remain
WHAT = {"fig3a": "sizes 0.4 and 0.6, geometric service", "fig3b": "sizes 2 and 5 in 10, fixed service"}
Claims = Callable[[Curves, float], list[Claim]]


def reproduce_a(settings: Settings) -> Finding:
    """0.4 and 0.6 fill the server together, but no configuration of K_RED has both."""
    return _finding("fig3a", settings, workload("paper/fig3a"), POLICIES, claims_a)


def reproduce_b(settings: Settings) -> Finding:
    """With fixed services two jobs of 2 and one of 5 leave one at a time, and are replaced one at a time."""
    return _finding("fig3b", settings, workload("paper/fig3b"), (*POLICIES, LOCKED_START), claims_b)


def _finding(figure: str, settings: Settings, setting: Workload, curves: Sequence[str], claims: Claims) -> Finding:
    slots, seeds = settings.slots_or(SLOTS), settings.seeds_or(SEEDS, QUICK_SEEDS)
    runs = [_run(setting, curve, seed, slots) for curve in curves for seed in range(seeds)]
    results = run_all(runs, settings.runs, figure)
    found = {curve: results[n * seeds : (n + 1) * seeds] for n, curve in enumerate(curves)}
    names = {curve: label(curve) for curve in curves}
    paths = {curve: path_of(group) for curve, group in found.items()}
    length = f"{slots:,} slots, {counted(seeds, 'seed')}{settings.remark}"
    title = f"{figure[:4].replace('fig', 'Figure ')}({figure[4]}): {WHAT[figure]}; {length}"
    verdicts = {curve: joint_verdict(group) for curve, group in found.items()}

    def draw(path: Path) -> None:
        from packenv.studies.random_requirements.fig3.plot import draw_queues

        draw_queues(paths, names, verdicts, title, path)

    tables = {"": _path_rows(paths, verdicts), "_runs": [_summary(group, curve) for curve, group in found.items()]}
    return Finding(figure, title, claims(found, setting.rate), tables, draw)


def _run(setting: Workload, curve: str, seed: int, slots: int) -> Run:
    if curve == LOCKED_START:
        return Run(setting, "vqs-bf", seed, slots, {"initial": STARTED})
    return Run(setting, curve, seed, slots)


def label(curve: str) -> str:
    return f"VQS-BF, {LOCKED_START}" if curve == LOCKED_START else NAMES[curve]


def path_of(results: Sequence[Result]) -> list[Row]:
    """The queue over time: mean over the seeds with its 95 % interval, and the range of the seeds."""
    width = results[0].trajectory.bin_slots
    bins = min(len(result.trajectory.queue) for result in results)
    group = max(1, bins // POINTS)
    whole = bins // group
    queues = np.array([result.trajectory.queue[: whole * group].reshape(whole, group).mean(axis=1) for result in results])
    rows = []
    for n, column in enumerate(queues.T):
        mean, low, high = interval(column.tolist())
        rows.append(
            {
                "slot": round((n + 0.5) * width * group),
                **{"mean_queue": mean, "mean_queue_low": low, "mean_queue_high": high},
                **{"least": float(column.min()), "most": float(column.max())},
            }
        )
    return rows


def _path_rows(paths: dict[str, list[Row]], verdicts: dict[str, str]) -> list[Row]:
    return [{"curve": curve, **row, "verdict": verdicts[curve]} for curve, rows in paths.items() for row in rows]


def _summary(results: Sequence[Result], curve: str) -> Row:
    grows = interval(queue_growth(result) for result in results)
    served = interval(result.started / result.slots for result in results)
    locked = sum(locked_from(result) is not None for result in results)
    return row_of(results, curve=curve) | {
        **{"growth_per_slot": grows.mean, "growth_per_slot_low": grows.low, "growth_per_slot_high": grows.high},
        **{"served_per_slot": served.mean, "never_back_to_50": locked},
    }
