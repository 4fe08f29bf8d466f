"""`packenv.verdict` and `packenv.sustained`: did a logged system keep up?

The queue over time is judged like a run's (`packenv.results.stability`). A log has less information than a simulation with
known laws, so it may also be undecided for these reasons:
arrivals  too few independent ones: n / (I + c²), with I the dispersion of arrivals over long windows, c² the squared
          coefficient of variation of services
servers   full in the second half, including load still to come: services beyond half of the log, or beyond the longest service
          seen, by a Pareto law through the longest ones
cycles    if the load depends on the hour, only whole cycles count, without their mean course
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.content.charts import COLOURS, GREY, Line, LineChart, Rule
from packenv.content.page import Charts, Figure
from packenv.content.showable import Showable
from packenv.content.tables import Column, Styled, Table, numbers
from packenv.content.text import lasting, number
from packenv.errors import ArgumentError
from packenv.results.stability import (
    NOTHING,
    QUEUE,
    SHARES,
    STABLE,
    SYSTEM,
    UNDECIDED,
    UNSTABLE,
    Verdict,
    is_rough,
    judge_run,
    longer,
    settling_time,
    variance_rates,
)
from packenv.workloads.traces.logs import Log, log_of, read_logs

Floats = NDArray[np.float64]

DAY, HOURS = 86_400.0, 24
RISES = 0.1  # of its greatest length: growth of the queue in an hour that falls behind
BINS, FEWEST_CYCLES = 1024, 3
CYCLIC = 12.0  # power of the cycle in the arrivals above which they follow it; its mean is 1 in arrivals without one
WINDOWS = (8, 16, 32, 64)  # of a log, whose numbers of arrivals are compared
INDEPENDENT = 60.0  # arrivals that a log needs, counted as if each were independent of all others
UNKNOWN = 0.9  # assumed fullness of servers without data
MARGIN, UNSEEN = 1.75, 2.0  # room needed in the servers: standard errors, and multiples of the load still to come
SERVICES, TIMES_THERE = 3.0, 5.0  # mean services, or mean times in the system, that a log must last: a shorter one is a burst
CLOSED, AT_ONCE = 0.95, 0.01  # share of arrivals that find as many in the system, and come within this share of a mean distance
STYLES = {STABLE: "green", UNSTABLE: "red", UNDECIDED: "yellow"}
AGAIN = 4.0  # times as long, if no better guess is known


@dataclass(frozen=True, repr=False, eq=False)
class LogVerdict(Showable):
    """A verdict on whether a logged system kept up.

    verdict     stable, unstable or undecided, and the level of the queue relative to queues at the edge of stability
    reasons     for being undecided, otherwise empty
    notes       facts for the reader: losses, unfinished tasks, hours that fell behind
    watch       about how many times as long a log would decide. None if a longer one would not, or is not needed
    rate        arrivals per second
    lost        share of the arrivals that left without service
    times, waiting, in_service  (bins,) middle of each part of the log in seconds, and mean numbers of tasks. `waiting`
                                includes tasks in service if the log has no starts
    """

    name: str
    verdict: Verdict
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    watch: float | None
    arrivals: int
    seconds: float
    lost: float
    has_starts: bool
    times: Floats = field(repr=False)
    waiting: Floats = field(repr=False)
    in_service: Floats = field(repr=False)

    @property
    def kind(self) -> str:
        return self.verdict.kind

    @property
    def rate(self) -> float:
        return (self.arrivals - 1) / self.seconds if self.seconds else math.inf

    @property
    def title(self) -> str:
        return f"{self.name}: {self.kind}"

    def facts(self) -> list[tuple[str, str]]:
        """Return reasons, notes, and a length that would decide."""
        watch = [("watch", f"{self.watch:.1f} times as long")] if self.watch else []
        return [*(("why", line) for line in self.reasons), *watch, *(("note", line) for line in self.notes)]

    def tables(self) -> list[Table]:
        return [_table([self])]

    def footnotes(self) -> list[str]:
        return _lines([self])

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict in plain values."""
        keys = ("name", "kind", "watch", "arrivals", "rate", "seconds", "lost")
        plain = {key: getattr(self, key) for key in keys} | {"level": self.verdict.level, "growth": self.verdict.drift}
        finite = {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in plain.items()}
        return finite | {"confidence": self.verdict.confidence, "reasons": [*self.reasons], "notes": [*self.notes]}

    def charts(self) -> Charts:
        """Return charts of the queue, and of its level at the edge of stability."""
        edge = QUEUE if self.has_starts else SYSTEM
        queue = [Line("waiting" if self.has_starts else "in the system", COLOURS[0], self.times.tolist(), self.waiting.tolist())]
        if self.in_service.any():
            queue.append(Line("in service", COLOURS[2], self.times.tolist(), self.in_service.tolist(), dashed=True))
        top = 1.1 * max(1.0, *(max(line.y, default=0.0) for line in queue))
        level, (low, high) = self.verdict.level, edge.ends
        most = max(1.1 * high, min(1.05 * level, 4 * high) if math.isfinite(level) else 0.0)
        law = Line("queues at the edge of stability", GREY, [0.0, *edge.levels, most], [0.0, *SHARES, 1.0])
        rules = [Rule(low, "stable below"), Rule(high, "unstable above")]
        rules += [Rule(min(level, most), "this log")] if math.isfinite(level) else []
        axis = "mean queue of the second half, in units of σ√T"
        return Charts(self.title, [
            Figure("The queue over time", self.title, LineChart(queue, "seconds", "tasks", top)),
            Figure("Its level", self.title, LineChart([law], axis, "share below", 1.02, up=rules, percent=True)),
        ])  # fmt: skip


@dataclass(frozen=True, repr=False)
class Sustained(Showable):
    """Logs of one system at several rates, in order of rate."""

    logs: tuple[LogVerdict, ...]

    @property
    def high(self) -> float | None:
        """Smallest rate certainly not sustained, per second, or None."""
        return min((log.rate for log in self.logs if log.kind == UNSTABLE), default=None)

    @property
    def low(self) -> float | None:
        """Largest sustained rate below `high`, per second, or None."""
        return max((log.rate for log in self.logs if log.kind == STABLE and log.rate < (self.high or math.inf)), default=None)

    @property
    def next(self) -> str:
        """Next run to make: an undecided rate again, or a new rate."""
        low, high = self.low, self.high
        between = [log for log in self.logs if log.kind == UNDECIDED and log.watch and (low or 0) < log.rate < (high or math.inf)]
        if between:
            log = min(between, key=lambda log: log.watch or math.inf)
            return f"{number(log.rate)} per second, {log.watch:.1f} times as long"
        if low is None or high is None:
            half, twice = (None if high is None else high / 2), (None if low is None else 2 * low)
            return f"{number(half or twice)} per second" if half or twice else "a low rate and a high one, for longer"
        return f"{number((low + high) / 2)} per second"

    @property
    def title(self) -> str:
        return "The rate that is sustained"

    def facts(self) -> list[tuple[str, str]]:
        ends = [("sustained", self.low), ("not sustained", self.high)]
        return [
            *((name, "no rate" if rate is None else f"{number(rate)} per second") for name, rate in ends),
            ("next", self.next),
        ]

    def tables(self) -> list[Table]:
        return [_table(self.logs)]

    def footnotes(self) -> list[str]:
        above = [log for log in self.logs if log.kind == STABLE and self.high is not None and log.rate > self.high]
        crossed = [f"{log.name}: stable above a rate that is not sustained: compare logs of one system" for log in above]
        return [*_lines(self.logs), *crossed, *(f"{name}: {text}" for name, text in self.facts())]

    @property
    def records(self) -> list[dict[str, Any]]:
        return [log.to_dict() for log in self.logs]

    @property
    def plain(self) -> Any:
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return the interval, the next run, and all verdicts in plain values."""
        return {"low": self.low, "high": self.high, "next": self.next, "logs": self.records}

    def charts(self) -> Charts:
        """Return charts of each log's queue."""
        return Charts(self.title, [log.charts().figures[0]._replace(heading=log.title) for log in self.logs])


def verdict(
    arrivals: ArrayLike | str | os.PathLike[str],
    starts: ArrayLike | None = None,
    ends: ArrayLike | None = None,
    *,
    lost: ArrayLike | None = None,
    cycle: float | None = DAY,
    name: str = "log",
    **reading: Any,
) -> LogVerdict:
    """Decide whether the system behind a log kept up with its arrivals.

    arrivals  (n,) seconds or dates, in order, or the path of a log for `packenv verdict`
    starts    (n,) when each task left the queue. NaN, NaT or None while it waits
    ends      (n,) when each task ended, missing while it runs. Without `starts`, all tasks in the system are judged
    lost      (n,) whether the task was rejected or abandoned. It leaves at its end, or on arrival if that is missing
    cycle     seconds after which the load repeats itself, None if it does not
    name      name of the log in results
    reading   of a path: `columns`, `time_unit`, `partition` of `packenv.workload`
    Raises InputError, with the row, for a task that ends before it starts or starts before it arrives, for times out of order
    and for columns in different units.
    """
    if not isinstance(arrivals, (str, os.PathLike)):
        return judge_log(log_of(name, arrivals, starts, ends, lost), cycle)
    logs = read_logs(arrivals, **reading)
    if len(logs) > 1:
        raise ArgumentError(f"{arrivals}: {len(logs)} benchmarks: take packenv.sustained([path])")
    return judge_log(logs[0], cycle)


def sustained(logs: Sequence[Any], *, cycle: float | None = DAY, **reading: Any) -> Sustained:
    """Find the largest rate sustained, and the smallest not sustained.

    logs  of one system at several rates: verdicts, paths, or tuples (arrivals, starts, ends)
    cycle, reading  see `packenv.verdict`
    """
    verdicts: list[LogVerdict] = []
    for n, log in enumerate(logs, 1):
        if isinstance(log, (str, os.PathLike)):
            verdicts += [judge_log(part, cycle) for part in read_logs(log, **reading)]
        else:
            verdicts.append(log if isinstance(log, LogVerdict) else verdict(*log, cycle=cycle, name=f"log {n}"))
    return Sustained(tuple(sorted(verdicts, key=lambda log: log.rate)))


def judge_log(log: Log, cycle: float | None = DAY) -> LogVerdict:
    """Return the verdict on a checked log."""
    first, seconds = float(log.arrival[0]), float(log.arrival[-1] - log.arrival[0])
    reasons: list[tuple[str, float]] = []  # for being undecided, and how many times as long a log would decide
    # Bins over the log, or over whole cycles of it.
    cycles = seconds / cycle if cycle and seconds >= cycle and _follows(log.arrival, cycle) else 0.0
    whole = max(int(cycles), 1)
    lasts = whole * cycle if cycles and cycle else seconds
    bins = whole * max(HOURS, -(-BINS // whole))
    edges = first + np.linspace(0, lasts, bins + 1)
    width, half = lasts / bins, bins // 2
    if width == 0:
        nothing = np.zeros(0)
        return LogVerdict(
            *(log.name, NOTHING, ("all arrivals come at once: a burst, no stream",), log.notes, None, len(log.arrival), 0.0),
            *(float(log.lost.mean()), log.has_starts, nothing, nothing, nothing),
        )
    if 0 < cycles < FEWEST_CYCLES:
        what = f"the load follows a cycle of {lasting(cycle)} and the log has {cycles:.1f}: it needs {FEWEST_CYCLES} whole ones"
        reasons.append((what, (FEWEST_CYCLES + 0.1) / cycles))
    # Waiting tasks and tasks in service, mean over each bin.
    leaves = np.where(log.lost & np.isnan(log.start), log.end, log.start) if log.has_starts else log.end
    waiting = np.maximum(np.diff(_area(log.arrival, edges) - _area(leaves, edges)) / width, 0.0)
    in_service = np.zeros(bins)
    if log.has_starts and log.has_ends:
        served = ~np.isnan(log.start) & ~log.lost
        in_service = np.maximum(np.diff(_area(log.start[served], edges) - _area(log.end[served], edges)) / width, 0.0)
    course = waiting.reshape(whole, -1).mean(axis=0)
    path = waiting + np.tile(course.mean() - course, whole) if whole > 1 else waiting
    # The level of the queue, and the load by arrivals and services.
    edge = QUEUE if log.has_starts else SYSTEM
    judged = judge_run(path, width, 0.0, 0.0, edge)
    services = _services(log, edges[-1])
    mean, square = (float(services.mean()), float(services @ services) / len(services)) if len(services) else (0.0, 0.0)
    settling = settling_time(mean, square / 2 / mean) if mean else 0.0
    variation = square / mean**2 - 1 if mean else 0.0
    independent = len(log.arrival) / max(_dispersion(log.arrival, edges, whole) + variation, 1e-9)
    if log.closed or _waits_for_completions(log):
        reasons.append(("arrivals wait for completions, a closed loop, in which no queue can grow; send at a rate", math.inf))
    if independent < INDEPENDENT:
        what = f"bursts or a few long services: as much as {independent:.0f} independent arrivals, {INDEPENDENT:.0f} are needed"
        reasons.append((what, INDEPENDENT / independent))
    if lasts < (SERVICES if log.has_starts else TIMES_THERE) * mean:
        reasons.append((f"arrivals last {lasting(lasts)}, a service {lasting(mean)}: a burst, no stream", settling / lasts))
    if is_rough(variance_rates(path)):
        reasons.append(("the queue changes more slowly than a log of this length shows", AGAIN))
    if not reasons and judged.kind == STABLE:
        # Room in the servers for chance, and for long services still to come.
        error, unseen = MARGIN * math.sqrt(2 / independent), _unseen(services, lasts / 2)
        full = _fullness(waiting[half:], in_service, half)
        if not log.has_ends:
            reasons.append(("the log has no ends, so it does not show whether the servers still fill", math.inf))
        elif lasts < settling:
            what = f"the servers still fill: with services as long as these that takes {lasting(settling)}"
            reasons.append((what, settling / lasts))
        elif full * (1 + UNSEEN * unseen + error) >= 1:
            room = 1 - full * (1 + UNSEEN * unseen)
            tail = f", and long services have {unseen:.0%} to come" if unseen >= 0.005 else ""
            known = "are" if in_service.any() else "may be"
            what = f"the servers {known} {full:.0%} full, give or take {full * error:.0%}{tail}"
            reasons.append((what, (full * error / room) ** 2 if room > 0 else math.inf))
    if not reasons and judged.kind == UNDECIDED:
        slows = judged.level > edge.ends[1]
        what = "the queue grew, but ever more slowly" if slows else "a queue at the edge of stability may be as long"
        reasons.append((what, AGAIN if slows else longer(judged, edge)))
    times = max((times for _, times in reasons), default=math.inf)
    kind = UNDECIDED if reasons else judged.kind
    return LogVerdict(
        log.name, judged._replace(kind=kind), tuple(what for what, _ in reasons),
        (*log.notes, *_hours(course, first, cycle if cycles else None)),
        max(times, 1.5) if math.isfinite(times) else None, len(log.arrival), seconds, float(log.lost.mean()), log.has_starts,
        (edges[1:] + edges[:-1]) / 2 - first, waiting, in_service,
    )  # fmt: skip


def _area(times: Floats, edges: Floats) -> Floats:
    """Return ∫ of the number of times passed, up to each edge, (edges,)."""
    known = np.sort(times[~np.isnan(times)])
    passed = np.searchsorted(known, edges)
    return np.asarray(passed * edges - np.concatenate([[0.0], np.cumsum(known)])[passed])


def _services(log: Log, last: float) -> Floats:
    """Return services up to the end of the log, also of running tasks.

    Without starts they are times in the system.
    """
    if not log.has_ends:
        return np.zeros(0)
    begin = log.start if log.has_starts else log.arrival
    served = ~log.lost & (begin < last)
    services = np.fmin(log.end[served], last) - begin[served]
    return services[services > 0]


def _follows(arrival: Floats, cycle: float) -> bool:
    """Return whether arrivals depend on their phase beyond their dispersion."""
    end = arrival[0] + (arrival[-1] - arrival[0]) // cycle * cycle
    inside = arrival[arrival < end]
    power = abs(np.exp(2j * np.pi / cycle * inside).sum()) ** 2 / len(inside)
    bursts = _dispersion(inside, np.array([arrival[0], end]), 1) if end - arrival[0] > WINDOWS[-1] * cycle else 1.0
    return bool(power > CYCLIC * max(bursts, 1.0))


def _dispersion(arrival: Floats, edges: Floats, cycles: int) -> float:
    """Return the largest variance-to-mean ratio of arrivals in windows.

    The cycle is removed.
    """
    most = 0.0
    for windows in WINDOWS:
        each = -(-windows // cycles)
        if cycles * each > 2 * WINDOWS[-1] and most:
            break
        counts = np.diff(np.searchsorted(arrival, np.linspace(edges[0], edges[-1], cycles * each + 1))).reshape(cycles, each)
        off = counts - (counts.mean(axis=0) if cycles > 1 else counts.mean())
        free = (cycles - 1) * each if cycles > 1 else each - 1
        most = max(most, float((off**2).sum()) / free / counts.mean())
    return most


def _unseen(services: Floats, beyond: float) -> float:
    """Return the load still to come, as a share of the load seen.

    By a Pareto law through the √n longest services (Hill).
    """
    if not len(services):
        return 0.0
    k = min(max(10, math.isqrt(len(services))), len(services) - 1)
    longest = np.sort(services)[-k - 1 :]
    start, shape = longest[0], k / max(float(np.log(longest[1:] / longest[0]).sum()), 1e-9)
    shape *= 1 - 1 / math.sqrt(k)  # on the safe side, by a standard error
    if shape <= 1:
        return math.inf
    beyond = max(min(beyond, longest[-1]), start)
    return float(k * start * (beyond / start) ** (1 - shape) / (shape - 1) / services.sum())


def _fullness(waiting: Floats, in_service: Floats, half: int) -> float:
    """Return how full servers are in the second half.

    It is relative to times with more waiting than usual. UNKNOWN without starts or ends.
    """
    late = in_service[half:]
    if not late.any():
        return UNKNOWN
    queued = waiting > max(0.5, 2 * float(np.median(waiting)))
    while_queued = float(late[queued].mean()) if queued.sum() > 8 else 0.0
    return float(late.mean()) / max(while_queued, float(np.quantile(in_service, 0.99)))


def _waits_for_completions(log: Log) -> bool:
    """Return whether arrivals follow completions, as in a closed loop.

    Nearly every task then arrives when another ends, and finds the same number in the system.
    """
    ends = np.sort(log.end[~np.isnan(log.end)])
    if len(ends) < 2:
        return False
    passed = np.searchsorted(ends, log.arrival, "right")
    there = np.arange(len(log.arrival)) - passed
    since = (log.arrival - ends[passed - 1])[passed > 0]
    same = np.bincount(np.maximum(there[passed > 0], 0)).max(initial=0)
    at_once = (since <= AT_ONCE * (log.arrival[-1] - log.arrival[0]) / len(log.arrival)).sum()
    return bool(len(since) > len(log.arrival) / 2 and min(same, at_once) >= CLOSED * len(since))


def _hours(course: Floats, first: float, cycle: float | None) -> tuple[str, ...]:
    """Return a note on the hours of longest and fastest growing queue."""
    if cycle is None or not course.any():
        return ()
    hour = ((first + (np.arange(len(course)) + 0.5) * cycle / len(course)) % cycle / cycle * HOURS).astype(np.int64)
    queue = np.bincount(hour, course, HOURS) / np.maximum(np.bincount(hour, minlength=HOURS), 1)
    behind = np.flatnonzero(np.diff(queue, prepend=queue[-1]) > RISES * queue.max())
    falls = f"; it falls behind in hours {', '.join(map(str, behind))}" if len(behind) else ""
    return (f"the queue is longest in hour {int(np.argmax(queue))} of the cycle's {HOURS}{falls}",)


def _table(logs: Sequence[LogVerdict]) -> Table:
    """Return a row for each log."""
    columns = [*map(Column, ("log", "verdict")), *numbers("arrivals", "per second", "level", "lost", "watch")]
    table = Table("Did it keep up?", columns)
    for log in logs:
        watch = f"{log.watch:.1f} times" if log.watch else ""
        lost = f"{log.lost:.1%}" if log.lost else ""
        cells = f"{log.arrivals:,}", number(log.rate), f"{log.verdict.level:.2f}", lost, watch
        table.add(_short(log), Styled(log.kind, STYLES[log.kind]), *cells)
    return table


def _short(log: LogVerdict) -> str:
    """Return the name of a log without its folder."""
    return log.name.rsplit("/", 1)[-1]


def _lines(logs: Sequence[LogVerdict]) -> list[str]:
    """Return each log's reasons and notes, and the growth of queues."""
    grow = {log: f"the queue grows by {number(3600 * log.verdict.drift)} tasks an hour" for log in logs if log.kind == UNSTABLE}
    return [
        f"{_short(log)}: {line}" for log in logs for line in (*([grow[log]] if log in grow else []), *log.reasons, *log.notes)
    ]
