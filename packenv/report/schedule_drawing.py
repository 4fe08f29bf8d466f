"""Drawing of schedules with matplotlib."""

from __future__ import annotations

from bisect import insort
from datetime import UTC, datetime
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num, num2date
from numpy.typing import NDArray

from packenv.content.charts import GREY
from packenv.report.drawing import draw
from packenv.report.plot_style import light_grid, plain_numbers
from packenv.results.schedule_chart import RunView, ScheduleChart

NAMED, EACH_NUMBERED = 120, 20  # largest numbers of tasks and of servers whose numbers are written
LETTER, LETTER_HEIGHT = 0.008, 0.2  # of such a number: shares of the picture's width, and of a server
BAND = 0.86  # share of a server's row that its capacity takes

SECONDS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86_400.0}
"""Of the units of a clock."""

Ints = NDArray[np.int64]


@draw.register
def _draw_schedule(chart: ScheduleChart, figure: Any, narrow: bool) -> None:
    """Draw two panels for each run on a whole figure."""
    capacity, resource, views, clock = chart.capacity, chart.resource, chart.views, chart.clock
    heights = [1.0, chart.servers_height] * len(views)
    panels: Any = figure.subplots(2 * len(views), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    sizes = Normalize(0, max(float((view.jobs.demand[:, resource] / capacity[:, resource].max()).max()) for view in views))
    for n, view in enumerate(views):
        _draw_queue(panels[2 * n], chart, view)
        _draw_servers(panels[2 * n + 1], chart, view, sizes)
    panels[0].set_xlim(chart.start / clock.slots, chart.end / clock.slots)
    if chart.origin is not None and clock.unit != "slots":
        _date_axis(panels[-1], chart.origin, SECONDS[clock.unit])
    else:
        panels[-1].set_xlabel("slot" if clock.unit == "slots" else clock.unit)
        plain_numbers(panels[-1].xaxis)
    if chart.colour == "size":
        bar = figure.colorbar(ScalarMappable(sizes, colormaps["viridis_r"]), ax=[*panels], pad=0.01, aspect=40, shrink=0.6)
        bar.set_label("size, as a share of the largest server")


def _date_axis(axes: Any, origin: datetime, seconds: float) -> None:
    """Draw dates below an axis in units of `seconds` since `origin`."""
    zero, day = date2num(origin), SECONDS["days"] / seconds  # units a day
    first, last = axes.get_xlim()
    locator = AutoDateLocator(tz=UTC, maxticks=8)
    ends = num2date([zero + first / day, zero + last / day])
    places = [(date, (date - zero) * day) for date in locator.tick_values(*ends)]
    visible = [(date, place) for date, place in places if first <= place <= last]
    axes.set_xticks(
        [place for _, place in visible], ConciseDateFormatter(locator, tz=UTC).format_ticks([date for date, _ in visible])
    )
    axes.set_xlabel(f"from {ends[0]:%Y-%m-%d %H:%M} on{'' if origin.tzinfo is None else ' (UTC)'}")


def _draw_queue(axes: Any, chart: ScheduleChart, view: RunView) -> None:
    """Draw the number of ready tasks that have not started."""
    start, end, clock = chart.start, chart.end, chart.clock
    ready = view.eligible[view.eligible >= 0]
    began = view.schedule.start[(view.eligible >= 0) & (view.schedule.start >= 0)]
    # The queue after each change.
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


def _draw_servers(axes: Any, chart: ScheduleChart, view: RunView, sizes: Normalize) -> None:
    """Draw a row for each server, with its tasks on top of each other."""
    capacity, resource, start, end, clock = chart.capacity, chart.resource, chart.start, chart.end, chart.clock
    rows = np.flatnonzero(view.schedule.start >= 0)
    largest = int(capacity[:, resource].max())
    outlines, faces, named = [], [], []
    served = view.served
    lasts = (served.start < end) & (served.end > np.maximum(served.start, start))
    drawn = np.flatnonzero(lasts & (served.server < len(capacity)) & (served.demand[:, resource] > 0))
    job = view.jobs.job if view.jobs.job is not None else np.arange(len(view.jobs))
    # Outline and colour of each task, and its number if there is room.
    for server in range(len(capacity)):
        here = drawn[served.server[drawn] == server]
        times, demand, room = (
            (served.start[here], served.end[here]),
            served.demand[here, resource],
            int(capacity[server, resource]),
        )
        if chart.devices is not None and view.schedule.devices is not None:
            places = on_devices(*times, demand, view.schedule.devices[rows[here]], int(chart.devices[server]), room)
        else:
            places = stacked(*times, demand, room)
        for k, pieces in zip(here, places, strict=True):
            row = int(rows[k]) if k < len(rows) else -1  # other rows are reads by tasks elsewhere
            left, right = max(int(served.start[k]), start) / clock.slots, min(int(served.end[k]), end) / clock.slots
            face = _face(row, int(job[row]), int(served.demand[k, resource]) / largest, chart.colour, sizes)
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
    parts, x = np.ones(len(capacity), np.int64) if chart.devices is None else chart.devices, start / clock.slots
    # Servers, or their devices, as a pale background.
    beds = [
        [(x, bottom - part * height), (x + width, bottom - part * height), (x + width, top), (x, top)]
        for server, number in enumerate(parts.tolist())
        for bottom, height in [(server + BAND / 2, BAND * int(capacity[server, resource]) / max(number, 1) / largest)]
        for part in range(number)
        for top in [bottom - (part + 1) * height]
    ]
    axes.add_collection(
        PolyCollection(beds, facecolors="#ececee", edgecolors="white", linewidths=0 if chart.devices is None else 0.6)
    )
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
    """Return the colour of a task, grey for remote reads."""
    if row < 0:
        return (0.6, 0.6, 0.6, 1.0)
    return colormaps["tab20"](job % 20) if colour == "job" else colormaps["viridis_r"](sizes(size))


def stacked(start: Ints, end: Ints, demand: Ints, capacity: int) -> list[list[tuple[int, int]]]:
    """Return the pieces (low, high) in units of each of k tasks in a server.

    No two tasks share a piece at a time. A task takes the lowest gap that is high enough, else the lowest gaps together.
    Excess load lies above the capacity.
    """
    places: list[list[tuple[int, int]]] = [[] for _ in start]
    free = [(0, capacity), (capacity, capacity + int(demand.sum()) + 1)]
    events = sorted([(int(end[k]), 0, k) for k in range(len(start))] + [(int(start[k]), 1, k) for k in range(len(start))])
    # In order of time: ends return their gaps, starts take some.
    for _, starts, k in events:
        if not starts:
            for piece in places[k]:
                insort(free, piece)
            free = _merged(free, capacity)
            continue
        missing = int(demand[k])
        gap_found = next((gap for gap in free if gap[1] <= capacity and gap[1] - gap[0] >= missing), None)
        for low, high in [gap_found] if gap_found is not None else [*free]:
            height = min(missing, high - low)
            places[k].append((low, low + height))
            free.remove((low, high))
            if height < high - low:
                insort(free, (low + height, high))
            missing -= height
            if missing == 0:
                break
    return places


def on_devices(start: Ints, end: Ints, demand: Ints, taken: Ints, number: int, capacity: int) -> list[list[tuple[int, int]]]:
    """Return the pieces of each of k tasks on their devices of a server.

    `taken`: devices as bits.
    """
    places: list[list[tuple[int, int]]] = [[] for _ in start]
    counts = np.array([int(bits).bit_count() for bits in taken.tolist()])
    for device in range(number):
        here = np.flatnonzero(taken >> device & 1)
        room = capacity // number
        pieces = stacked(start[here], end[here], demand[here] // counts[here], room)
        for k, of_task in zip(here.tolist(), pieces, strict=True):
            places[k] += [(device * room + low, device * room + high) for low, high in of_task]
    return places


def _merged(gaps: list[tuple[int, int]], capacity: int) -> list[tuple[int, int]]:
    """Merge neighbouring gaps, except at the capacity."""
    joined = gaps[:1]
    for low, high in gaps[1:]:
        if low == joined[-1][1] != capacity:
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return joined
