"""Figure 3: the queue over time (a) where VQS is unstable and (b) where best fit is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from experiments.finding import Claim, Finding, Row, Settings
from experiments.random_requirements.queue_curves import NAMES, row_of
from experiments.random_requirements.verdicts import joint_verdict, queue_growth, verdict_counts, verdicts_in_words, why_together
from packenv.content.charts import colours_for
from packenv.content.text import counted, number
from packenv.report.plot_style import light_grid, plain_numbers
from packenv.results.result import Result
from packenv.results.stability import STABLE, UNSTABLE
from packenv.runs.run import Run
from packenv.runs.runner import run_all
from packenv.runs.statistics import interval
from packenv.workloads.find import workload
from packenv.workloads.workload import Workload

SERVES = 0.03  # jobs per slot that the configuration (2, 1) serves: three of 100 slots each
LOCKED = 50  # waiting jobs: a queue that never comes back to as few is locked
EARLY = 1_000_000  # slots
LOCKED_START = "started locked"
Curves = dict[str, list[Result]]
STYLES = {"stable": "-", "unstable": "--", "undecided": "-."}
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
    by_curve = {curve: results[n * seeds : (n + 1) * seeds] for n, curve in enumerate(curves)}
    names = {curve: label(curve) for curve in curves}
    paths = {curve: path_of(group) for curve, group in by_curve.items()}
    length = f"{slots:,} slots, {counted(seeds, 'seed')}{settings.remark}"
    title = f"{figure[:4].replace('fig', 'Figure ')}({figure[4]}): {WHAT[figure]}; {length}"
    verdicts = {curve: joint_verdict(group) for curve, group in by_curve.items()}
    means = {curve: interval(result.mean_queue for result in group).mean for curve, group in by_curve.items()}

    def draw() -> Figure:
        return draw_queues(paths, names, verdicts, means, title)

    tables = {"": _path_rows(paths, verdicts), "_runs": [_summary(group, curve) for curve, group in by_curve.items()]}
    return Finding(figure, title, claims(by_curve, setting.rate), tables, draw)


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


def claims_a(curves: Curves, rate: float) -> list[Claim]:
    limit = "its limit is 0.0133 jobs per slot"
    return [
        _stability("fig3a", f"VQS is unstable at {rate:g} jobs per slot ({limit})", curves["vqs"], UNSTABLE),
        _stability("fig3a", "BF-J/S is stable", curves["bf-js"], STABLE),
        _stability("fig3a", "VQS-BF is stable", curves["vqs-bf"], STABLE),
    ]


def claims_b(curves: Curves, rate: float) -> list[Claim]:
    served = interval(result.started / result.slots for result in curves["bf-js"])
    assert served.mean is not None
    hybrid = curves["vqs-bf"]
    ends = [locked_from(result) for result in hybrid]
    length = hybrid[0].slots
    seeds = len(hybrid)
    early = sum(end is not None and end <= EARLY for end in ends)
    locked = [result for result, end in zip(hybrid, ends, strict=True) if end is not None]
    return [
        _stability("fig3b", "VQS is stable", curves["vqs"], STABLE),
        _stability("fig3b", f"BF-J/S is unstable at {rate:g} jobs per slot", curves["bf-js"], UNSTABLE),
        Claim(
            "fig3b",
            "BF-J/S locks into (2,1) and serves 0.03 jobs per slot, 0.9 of the most possible",
            all(locked_from(result) is not None for result in curves["bf-js"]) and abs(served.mean / SERVES - 1) < 0.01,
            f"locked with {sum(locked_from(r) is not None for r in curves['bf-js'])} of {seeds} seeds, "
            f"serves {number(served.mean, 4)} of {rate:g} arriving",
        ),
        Claim(
            "fig3b",
            "VQS-BF locks with positive probability",
            any(result.verdict.kind != STABLE for result in locked),
            f"locked with {f'{early} of {seeds} seeds by slot {EARLY:,}, ' if length > EARLY else ''}"
            f"{len(locked)} of {seeds} by slot {length:,}; all together {verdicts_in_words(verdict_counts(hybrid))}, "
            f"mean queue {interval(r.mean_queue for r in hybrid)}",
        ),
        _stability("fig3b", "VQS-BF that starts with a locked server stays unstable", curves[LOCKED_START], UNSTABLE),
    ]


def locked_from(result: Result) -> int | None:
    """The slot from which the queue never came back to LOCKED jobs; None unless that is a quarter of the run ago."""
    path, width = result.trajectory.queue, result.trajectory.bin_slots
    low = np.flatnonzero(path <= LOCKED)
    since = int(low[-1] + 1) * width if len(low) else 0
    return since if since <= 0.75 * result.slots else None


def _stability(figure: str, claim: str, results: Sequence[Result], kind: str) -> Claim:
    grows = interval(queue_growth(result) for result in results)
    queue = interval(result.mean_queue for result in results)
    per = "–" if grows.mean is None else f"{1e4 * grows.mean:.3g}"
    verdicts = f"{verdicts_in_words(verdict_counts(results))}{why_together(results)}"
    figures = f"{verdicts}; mean queue {queue}, grows by {per} per 10,000 slots"
    return Claim(figure, claim, joint_verdict(results) == kind, figures)


def draw_queues(
    paths: dict[str, list[Row]],
    names: dict[str, str],
    verdicts: dict[str, str],
    means: dict[str, float | None],
    title: str,
) -> Figure:
    """Unstable curves are dashed. `paths`: by curve, rows with slot, mean_queue and its ends; `means`: after the warm-up."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.add_subplot()
    colours = dict(zip(paths, colours_for(list(paths)), strict=True))
    for curve, rows in paths.items():
        when = [row["slot"] for row in rows]
        style = STYLES[verdicts[curve]]
        label = f"{names[curve]}: {verdicts[curve]}{_on_average(means[curve])}"
        axes.plot(when, [row["mean_queue"] for row in rows], style, color=colours[curve], linewidth=1.8, label=label)
        if rows and rows[0]["mean_queue_low"] is not None:
            low, high = ([row[f"mean_queue_{end}"] for row in rows] for end in ("low", "high"))
            axes.fill_between(when, low, high, color=colours[curve], alpha=0.25, linewidth=0)
    axes.set_xlabel("slot")
    axes.set_ylabel("waiting jobs")
    top = axes.get_ylim()[1]
    axes.set_ylim(-0.012 * top, top)  # curves near 0 stay off the axis
    axes.margins(x=0)
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    light_grid(axes)
    below = {"loc": "outside lower center", "ncols": 2, "fontsize": 9, "frameon": False}
    figure.legend(title="band: 95 % interval of the mean; on average: after the warm-up", title_fontsize=8, **below)
    axes.set_title(title.replace("; ", "\n"), fontsize=10, loc="left")
    return figure


def _on_average(mean: float | None) -> str:
    """`, 13.4 on average`: what a curve near 0 does not let one read."""
    return f", {mean:,.3g} waiting on average" if mean is not None and mean < 100 else ""
