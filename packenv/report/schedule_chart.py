"""A schedule as a picture: who ran on which server and when, and how many waited."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.report.pictures import Picture
from packenv.report.plot_style import GREY, Clock, clock_for, light_grid, plain_numbers
from packenv.report.workload_charts import resource_names
from packenv.results.job_times import cut, eligible_slots
from packenv.results.occupancy import InService, in_service
from packenv.results.result import Result
from packenv.results.schedule import Schedule
from packenv.runs.text import counted
from packenv.workloads.workload import Workload

MOST_TASKS, MOST_SERVERS = 2000, 60
"""A picture with more shows a part."""
NAMED, EACH_NUMBERED = 120, 20  # tasks and servers in a picture, up to which each has its number written on it
LETTER, LETTER_HEIGHT = 0.008, 0.2  # of such a number: shares of the picture's width, and of a server
BAND = 0.86  # share of a server's row that its capacity takes
COLOUR_BY = ("job", "size")

Ints = NDArray[np.int64]


class RunView(NamedTuple):
    """A run as it is drawn: its tasks, when each was ready, and the demands in service."""

    policy: str
    jobs: Jobs
    schedule: Schedule
    eligible: Ints  # (n,) slot from which the task waits; -1 if never
    served: InService


def schedule_chart(
    runs: Sequence[Result], workload: Workload, first: int | None = None, last: int | None = None, colour: str | None = None
) -> Picture:
    """For each run, from slot `first` up to `last`: waiting tasks, and below them a row for each server with its tasks.

    A task is as high as its demand of the resource that the first run uses most, a row as high as the largest server; what
    finds no room in one piece is drawn in several. By default the whole run is shown, or as much of it, from the end of the
    warm-up on, as has MOST_TASKS tasks; and MOST_SERVERS servers.
    colour  "job": tasks of a job have the same colour, the default for tables that say which tasks make a job; "size"

    Raises InputError for runs without a schedule, an empty span, or another `colour`.
    """
    views = [_view_of(run, workload) for run in runs]
    by_job = views[0].jobs.job is not None
    colour = colour or ("job" if by_job else "size")
    if colour not in COLOUR_BY:
        raise InputError(f"colour is one of {', '.join(COLOUR_BY)}, not {colour!r}")
    start, end = _span(runs, views, first, last)
    clock = clock_for(end - start, workload.shown_slot)
    capacity = workload.servers.units[:MOST_SERVERS]
    resource = _most_used(views[0], workload.servers.units)
    rows = len(capacity)
    height = min(max(0.32 * rows, 1.6), 9.0)
    figure = Picture(figsize=(11, 0.9 + len(views) * (height + 1.7)), layout="constrained")
    panels: Any = figure.subplots(2 * len(views), 1, sharex=True, squeeze=False, height_ratios=[1.0, height] * len(views))[:, 0]
    sizes = Normalize(0, max(float((view.jobs.demand[:, resource] / capacity[:, resource].max()).max()) for view in views))
    for n, view in enumerate(views):
        _draw_queue(panels[2 * n], view, start, end, clock)
        _draw_servers(panels[2 * n + 1], view, capacity, resource, start, end, clock, colour, sizes)
    panels[0].set_xlim(start / clock.slots, end / clock.slots)
    panels[-1].set_xlabel("slot" if clock.unit == "slots" else clock.unit)
    plain_numbers(panels[-1].xaxis)
    figure.suptitle(_title(runs, workload, start, end, clock, resource), fontsize=11)
    if colour == "size":
        from matplotlib.cm import ScalarMappable

        bar = figure.colorbar(ScalarMappable(sizes, colormaps["viridis_r"]), ax=[*panels], pad=0.01, aspect=40, shrink=0.6)
        bar.set_label("size, as a share of the largest server")
    return figure


def _view_of(run: Result, workload: Workload) -> RunView:
    if run.schedule is None:
        raise InputError(f"the run of {run.policy} has no schedule: simulate with schedule=True")
    jobs = workload.played_jobs(run.seed, len(run.schedule.start))
    schedule = cut(run.schedule, run.slots)
    return RunView(run.policy, jobs, schedule, eligible_slots(jobs, schedule), in_service(jobs, schedule, workload.network))


def _span(runs: Sequence[Result], views: Sequence[RunView], first: int | None, last: int | None) -> tuple[int, int]:
    """The slots that are drawn: those asked for, or as many as have MOST_TASKS tasks in each run."""
    longest = max(run.slots for run in runs)
    few = all(len(view.served.start) <= MOST_TASKS for view in views)
    start = first if first is not None else 0 if few else max(run.warmup for run in runs)
    end = longest if last is None else min(last, longest)
    if not 0 <= start < end:
        raise InputError(f"first and last must be slots of the run, one before the other: not {first} and {last}")
    if last is None:
        for view in views:
            later = np.sort(view.served.start[view.served.end > start])
            if len(later) > MOST_TASKS:
                end = min(end, max(int(later[MOST_TASKS]), start + 1))
    return start, end


def _most_used(view: RunView, capacity: Ints) -> int:
    """The resource of which the run uses the largest share."""
    area = (view.served.end - view.served.start) @ view.served.demand
    return int(np.argmax(area / np.maximum(capacity.sum(axis=0), 1)))


def _title(runs: Sequence[Result], workload: Workload, start: int, end: int, clock: Clock, resource: int) -> str:
    what = f", heights: {resource_names(workload)[resource]}" if workload.D > 1 else ""
    servers = len(workload.servers)
    some = f"servers 0 to {MOST_SERVERS - 1} of {servers:,}" if servers > MOST_SERVERS else counted(servers, "server")
    ends = " to ".join(f"{slot / clock.slots:,.4g}" for slot in (start, end))
    part = "" if (start, end) == (0, max(run.slots for run in runs)) else f", {clock.unit} {ends}"
    return f"{workload.name}: {some}{what}{part}"


def _draw_queue(axes: Any, view: RunView, start: int, end: int, clock: Clock) -> None:
    """Tasks that are ready and have not started."""
    ready = view.eligible[view.eligible >= 0]
    began = view.schedule.start[(view.eligible >= 0) & (view.schedule.start >= 0)]
    slot, place = np.unique(np.concatenate([ready, began]), return_inverse=True)
    change = np.zeros(len(slot), np.int64)
    np.add.at(change, place, np.repeat([1, -1], [len(ready), len(began)]))
    queue = np.cumsum(change)
    inside = (slot > start) & (slot < end)
    before = queue[slot <= start][-1] if (slot <= start).any() else 0
    when = np.concatenate([[start], slot[inside], [end]]) / clock.slots
    waiting = np.concatenate([[before], queue[inside], queue[inside][-1:] if inside.any() else [before]])
    axes.fill_between(when, waiting, step="post", color=GREY, alpha=0.35, linewidth=0)
    axes.step(when, waiting, where="post", color=GREY, linewidth=1)
    axes.set_ylim(0, max(1.15 * float(waiting.max()), 1))
    axes.yaxis.get_major_locator().set_params(integer=True, nbins=4)
    axes.set_ylabel("waiting")
    axes.set_title(view.policy, fontsize=10, loc="left")
    light_grid(axes)


def _draw_servers(
    axes: Any, view: RunView, capacity: Ints, resource: int, start: int, end: int, clock: Clock, colour: str, sizes: Normalize
) -> None:
    """A row for each server, its tasks one above the other."""
    rows = np.flatnonzero(view.schedule.start >= 0)
    largest = int(capacity[:, resource].max())
    outlines, faces, named = [], [], []
    served = view.served
    lasts = (served.start < end) & (served.end > np.maximum(served.start, start))
    drawn = np.flatnonzero(lasts & (served.server < len(capacity)) & (served.demand[:, resource] > 0))
    job = view.jobs.job if view.jobs.job is not None else np.arange(len(view.jobs))
    for server in range(len(capacity)):
        here = drawn[served.server[drawn] == server]
        places = stacked(served.start[here], served.end[here], served.demand[here, resource], int(capacity[server, resource]))
        for k, pieces in zip(here, places, strict=True):
            row = int(rows[k]) if k < len(rows) else -1  # the others are reads of tasks elsewhere
            left, right = max(int(served.start[k]), start) / clock.slots, min(int(served.end[k]), end) / clock.slots
            face = _face(row, int(job[row]), int(served.demand[k, resource]) / largest, colour, sizes)
            for low, high in pieces:
                bottom, top = (server + BAND / 2 - BAND * level / largest for level in (low, high))
                outlines.append([(left, bottom), (right, bottom), (right, top), (left, top)])
                faces.append(face)
            low, high = max(pieces, key=lambda piece: piece[1] - piece[0])
            text = str(int(job[row]))
            roomy = right - left > LETTER * len(text) * (end - start) / clock.slots and high - low > LETTER_HEIGHT * largest
            if row >= 0 and roomy:
                named.append(((left + right) / 2, server + BAND / 2 - BAND * (low + high) / 2 / largest, text, face))
    width = (end - start) / clock.slots
    beds = [
        [(x, server + BAND / 2), (x + width, server + BAND / 2), (x + width, top), (x, top)]
        for server, x in enumerate([start / clock.slots] * len(capacity))
        for top in [server + BAND / 2 - BAND * int(capacity[server, resource]) / largest]
    ]
    axes.add_collection(PolyCollection(beds, facecolors="#ececee", linewidths=0))
    few = len(outlines) <= 10 * NAMED
    axes.add_collection(PolyCollection(outlines, facecolors=faces, edgecolors="white", linewidths=0.6 if few else 0.15))
    if len(drawn) <= NAMED:
        for x, y, text, face in named:
            ink = "white" if np.dot(face[:3], (0.3, 0.59, 0.11)) < 0.55 else "black"
            axes.text(x, y, text, color=ink, fontsize=7, ha="center", va="center", clip_on=True)
    axes.set_ylim(len(capacity) - 0.4, -0.6)
    axes.set_ylabel("server")
    if len(capacity) <= EACH_NUMBERED:
        axes.set_yticks(range(len(capacity)))
    else:
        axes.yaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)


def _face(row: int, job: int, size: float, colour: str, sizes: Normalize) -> Any:
    """The colour of a task; grey of what a server takes for reads of a task."""
    if row < 0:
        return (0.6, 0.6, 0.6, 1.0)
    return colormaps["tab20"](job % 20) if colour == "job" else colormaps["viridis_r"](sizes(size))


def stacked(start: Ints, end: Ints, demand: Ints, capacity: int) -> list[list[tuple[int, int]]]:
    """Where each of k tasks of one server lies in it: pieces (low, high) in units, which no two tasks share at a time.

    The lowest gap that is high enough, or else the lowest gaps that together are; above the capacity what a server has in
    service beyond it.
    """
    places: list[list[tuple[int, int]]] = [[] for _ in start]
    free = [(0, capacity), (capacity, capacity + int(demand.sum()) + 1)]
    events = sorted([(int(end[k]), 0, k) for k in range(len(start))] + [(int(start[k]), 1, k) for k in range(len(start))])
    for _, starts, k in events:
        if not starts:
            for piece in places[k]:
                insort(free, piece)
            free = _merged(free, capacity)
            continue
        missing = int(demand[k])
        whole = next((gap for gap in free if gap[1] <= capacity and gap[1] - gap[0] >= missing), None)
        for low, high in [whole] if whole is not None else [*free]:
            height = min(missing, high - low)
            places[k].append((low, low + height))
            free.remove((low, high))
            if height < high - low:
                insort(free, (low + height, high))
            missing -= height
            if missing == 0:
                break
    return places


def _merged(gaps: list[tuple[int, int]], capacity: int) -> list[tuple[int, int]]:
    """The same gaps, with neighbours merged, except above the capacity."""
    joined = gaps[:1]
    for low, high in gaps[1:]:
        if low == joined[-1][1] != capacity:
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return joined
