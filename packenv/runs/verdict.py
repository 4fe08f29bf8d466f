"""`packenv.verdict` and `packenv.sustained`: did a logged system keep up?

The queue over time is judged like a run's (`packenv.results.stability`). A log has less information than a simulation with
known laws, so it may also be undecided for these reasons:
arrivals  too few independent ones: n / (I + c²), with I the dispersion of arrivals over long windows, c² the squared
          coefficient of variation of services. Their chance alone must not make such a queue, or fill the servers
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

from packenv.content.charts import COLOURS, GREY, Guide, Line, LineChart
from packenv.content.page import Charts, Figure
from packenv.content.showable import Showable
from packenv.content.tables import Column, Styled, Table, numbers
from packenv.content.text import NONE, lasting, number
from packenv.errors import ArgumentError
from packenv.results import stability
from packenv.results.stability import QUEUE, SHARES, STABLE, SYSTEM, UNDECIDED, UNSTABLE, Verdict
from packenv.workloads.traces.logs import Log, log_of, read_logs

Floats = NDArray[np.float64]

DAY, HOURS = 86_400.0, 24
RISES = 0.1  # of its greatest length: growth of the queue in an hour that falls behind
BINS, FEWEST_CYCLES = 1024, 3
CYCLIC = 12.0  # power of the cycle in the arrivals above which they follow it; its mean is 1 in arrivals without one
WINDOWS = (8, 16, 32, 64)  # of a log, whose numbers of arrivals are compared
INDEPENDENT = 60.0  # arrivals that a log needs, counted as if each were independent of all others
UNKNOWN = 0.9  # assumed fullness of servers without data
SURE, ERRORS = 0.99, 2.33  # probability that chance in independent arrivals is smaller, and its standard errors
UNSEEN = 3.0  # room needed in the servers, as a multiple of the load still to come
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
    seconds     from the first to the last arrival
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
        """Arrivals per second."""
        return (self.arrivals - 1) / self.seconds if self.seconds else math.inf

    @property
    def short(self) -> str:
        """Name without a folder."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def title(self) -> str:
        return f"{self.name}: {self.kind}"

    def facts(self) -> list[tuple[str, str]]:
        """Return growth, reasons, a length that would decide, and notes."""
        grows = f"the queue grows by {number(3600 * self.verdict.drift)} tasks an hour"
        lines = [("growth", grows)] if self.kind == UNSTABLE else [("why", reason) for reason in self.reasons]
        watch = [("watch", f"{self.watch:.1f} times as long")] if self.watch else []
        return [*lines, *watch, *(("note", note) for note in self.notes)]

    def tables(self) -> list[Table]:
        columns = [*map(Column, ("log", "verdict")), *numbers("arrivals", "per second", "level", "lost", "watch")]
        table = Table("Did it keep up?", columns)
        rate = number(self.rate) if math.isfinite(self.rate) else NONE
        level = f"{self.verdict.level:.2f}" if math.isfinite(self.verdict.level) else NONE
        lost, watch = f"{self.lost:.1%}" * bool(self.lost), f"{self.watch:.1f} times" if self.watch else ""
        table.add(self.short, Styled(self.kind, STYLES[self.kind]), f"{self.arrivals:,}", rate, level, lost, watch)
        return [table]

    def footnotes(self) -> list[str]:
        return [f"{self.short}: {text}" for name, text in self.facts() if name != "watch"]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict in plain values."""
        keys = ("name", "kind", "watch", "arrivals", "rate", "seconds", "lost")
        plain = {key: getattr(self, key) for key in keys} | {"level": self.verdict.level, "growth": self.verdict.drift}
        finite = {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in plain.items()}
        return finite | {"confidence": self.verdict.confidence, "reasons": [*self.reasons], "notes": [*self.notes]}

    def charts(self) -> Charts:
        """Return charts of the queue, and of its level at the edge of stability."""
        edge, level = QUEUE if self.has_starts else SYSTEM, self.verdict.level
        times, (low, high) = self.times.tolist(), edge.ends
        queue = [Line("waiting" if self.has_starts else "in the system", COLOURS[0], times, self.waiting.tolist())]
        if self.in_service.any():
            queue.append(Line("in service", COLOURS[2], times, self.in_service.tolist(), dashed=True))
        top = 1.1 * max(1.0, self.waiting.max(), self.in_service.max())
        known = math.isfinite(level)
        most = max(1.1 * high, min(1.05 * level, 4 * high) if known else 0.0)
        law = Line("queues at the edge of stability", GREY, [0.0, *edge.levels, most], [0.0, *SHARES, 1.0])
        rules = [Guide(low, "stable below"), Guide(high, "unstable above"), *[Guide(min(level, most), "this log")][: int(known)]]
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
        low, high = self.low or 0.0, self.high or math.inf
        again = [(log.watch, log.rate) for log in self.logs if log.watch and low < log.rate < high]
        if again:
            watch, rate = min(again)
            return f"{number(rate)} per second, {watch:.1f} times as long"
        if not low and high == math.inf:
            return "a low rate and a high one, for longer"
        return f"{number(2 * low if high == math.inf else (low + high) / 2)} per second"

    @property
    def title(self) -> str:
        return "The rate that is sustained"

    def facts(self) -> list[tuple[str, str]]:
        ends = (("sustained", self.low), ("not sustained", self.high))
        rates = [(name, "no rate" if rate is None else f"{number(rate)} per second") for name, rate in ends]
        return [*rates, ("next", self.next)]

    def tables(self) -> list[Table]:
        first, *others = (log.tables()[0] for log in self.logs)
        for table in others:
            first.rows.extend(table.rows)
        return [first]

    def footnotes(self) -> list[str]:
        above = [log for log in self.logs if log.kind == STABLE and self.high is not None and log.rate > self.high]
        crossed = [f"{log.name}: stable above a rate that is not sustained: compare logs of one system" for log in above]
        lines = [line for log in self.logs for line in log.footnotes()]
        return [*lines, *crossed, *(f"{name}: {text}" for name, text in self.facts())]

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

    arrivals  (n,) when each task arrived, in order: seconds, or dates. Or the path of a log (`packenv verdict --help`)
    starts    (n,) when each task started, missing while it waits
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
    if isinstance(logs, (str, os.PathLike)):
        logs = [logs]
    for n, log in enumerate(logs, 1):
        if isinstance(log, (str, os.PathLike)):
            verdicts += [judge_log(part, cycle) for part in read_logs(log, **reading)]
        else:
            verdicts.append(log if isinstance(log, LogVerdict) else verdict(*log, cycle=cycle, name=f"log {n}"))
    return Sustained(tuple(sorted(verdicts, key=lambda log: log.rate)))


def judge_log(log: Log, cycle: float | None = DAY) -> LogVerdict:
    """Return the verdict on a checked log."""
    arrival, n = log.arrival, len(log.arrival)
    first, seconds = float(arrival[0]), float(arrival[-1] - arrival[0])
    # Bins over the log, or over whole cycles of it.
    period = cycle if cycle and seconds >= cycle and _follows(arrival, cycle) else 0.0
    cycles = seconds / period if period else 0.0
    cycle_count = max(int(cycles), 1)
    lasts = cycle_count * period or seconds or 1.0
    bins = cycle_count * max(HOURS, -(-BINS // cycle_count))
    edges = first + np.linspace(0, lasts, bins + 1)
    # Waiting tasks and tasks in service, mean over each bin.
    leaves = np.where(log.lost & np.isnan(log.start), log.end, log.start) if log.has_starts else log.end
    waiting = _present(arrival, leaves, edges)
    served = ~np.isnan(log.start) & ~log.lost & log.has_ends
    in_service = _present(log.start[served], log.end[served], edges)
    course = waiting.reshape(cycle_count, -1).mean(axis=0)
    path = waiting + np.tile(course.mean() - course, cycle_count) if cycle_count > 1 else waiting
    # The level of the queue, and of one by chance in independent arrivals and services.
    edge = QUEUE if log.has_starts else SYSTEM
    judged = stability.judge_run(path, lasts / bins, 0.0, 0.0, edge)
    services = _services(log)
    mean, residual = (services.mean(), services @ services / services.sum() / 2) if len(services) else (0.0, 0.0)
    dispersion, variation = _dispersion(arrival, edges, cycle_count), 2 * residual / mean - 1 if mean else 0.0
    independent = n / max(dispersion + variation, 1e-9)
    late = path[bins // 2 :]
    by_chance = (late.mean() - (late.min() if edge is SYSTEM else 0.0)) * math.sqrt(independent) / n
    beyond_chance = float(np.interp(SURE, SHARES, edge.levels))
    # Room in the servers, after long services still to come and chance.
    settling = stability.settling_time(mean, residual)
    unseen, error = _unseen(_services(log, edges[-1]), lasts / 2), ERRORS * math.sqrt(2 / independent)
    full = _fullness(waiting[bins // 2 :], in_service)
    room = 1 - full * (1 + UNSEEN * unseen)
    servers = f"the servers {'are' if in_service.any() else 'may be'} {full:.0%} full, give or take {full * error:.0%}"
    if unseen >= 0.005:
        servers += (
            f", and long services have {unseen:.0%} to come" if unseen < 1 else ", and a few long services are most of the load"
        )
    # Reasons for being undecided, and how many times as long a log would decide.
    stable, slows = judged.kind == STABLE, judged.level > edge.ends[1]
    always = [
        (not seconds, "all arrivals come at once: a burst, no stream", math.inf),
        (0 < cycles < FEWEST_CYCLES, f"the load follows a cycle of {lasting(period)} and the log has {cycles:.1f}: "
         f"it needs {FEWEST_CYCLES} whole ones", (FEWEST_CYCLES + 0.1) / (cycles or 1.0)),
        (log.closed or _waits_for_completions(log), "arrivals wait for completions, a closed loop, in which no queue can grow; "
         "send at a rate", math.inf),
        (independent < INDEPENDENT, f"{'arrivals come in bursts' if dispersion > variation else 'a few services are long'}: "
         f"they count as {independent:.0f} independent arrivals, {INDEPENDENT:.0f} are needed", INDEPENDENT / independent),
        (lasts < (SERVICES if log.has_starts else TIMES_THERE) * mean, f"arrivals last {lasting(lasts)}, a service "
         f"{lasting(mean)}: a burst, no stream", settling / lasts),
        (stability.is_rough(stability.variance_rates(path)), "the queue changes more slowly than a log of this length shows",
         AGAIN),
    ]  # fmt: skip
    otherwise = [
        (stable and not log.has_ends, "the log has no ends, so it does not show whether the servers still fill", math.inf),
        (stable and lasts < settling, f"the servers still fill: with services as long as these that takes {lasting(settling)}",
         settling / lasts),
        (stable and room <= full * error, servers, (full * error / room) ** 2 if room > 0 else math.inf),
        (judged.kind == UNSTABLE and by_chance < beyond_chance, "chance in arrivals and services can make such a queue at the "
         "edge of stability", (beyond_chance / by_chance) ** 2 if by_chance else math.inf),
        (judged.kind == UNDECIDED and slows, "the queue grew, but ever more slowly", AGAIN),
        (judged.kind == UNDECIDED, "a queue at the edge of stability may be as long", stability.longer(judged, edge)),
    ]  # fmt: skip
    doubts = always if seconds else always[:1]
    reasons = [doubt for doubt in doubts if doubt[0]] or [doubt for doubt in otherwise if doubt[0]][:1]
    times = max((times for *_, times in reasons), default=math.inf)
    return LogVerdict(
        log.name, judged._replace(kind=UNDECIDED) if reasons else judged, tuple(why for _, why, _ in reasons),
        (*log.notes, *_hours(course, first, period)), max(times, 1.5) if math.isfinite(times) else None,
        n, seconds, float(log.lost.mean()), log.has_starts, (edges[1:] + edges[:-1]) / 2 - first, waiting, in_service,
    )  # fmt: skip


def _present(begin: Floats, end: Floats, edges: Floats) -> Floats:
    """Return the mean number of tasks between `begin` and `end` in each bin."""
    areas = []
    for times in (begin, end):
        known = np.sort(times[~np.isnan(times)])
        passed = np.searchsorted(known, edges)
        areas.append(passed * edges - np.concatenate([[0.0], np.cumsum(known)])[passed])
    return np.maximum(np.diff(areas[0] - areas[1]) / (edges[1] - edges[0]), 0.0)


def _services(log: Log, last: float = math.inf) -> Floats:
    """Return services up to `last`, of running tasks up to the log's last time.

    Without starts they are times in the system.
    """
    begin = log.start if log.has_starts else log.arrival
    served = ~log.lost & (begin < last) & log.has_ends
    until = min(last, float(np.nanmax([log.arrival, log.start, log.end])))
    services = np.where(np.isnan(log.end), until, np.fmin(log.end, last))[served] - begin[served]
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
    for per_cycle in (-(-windows // cycles) for windows in WINDOWS):
        if most and cycles * per_cycle > 2 * WINDOWS[-1]:
            break
        counts = np.diff(np.searchsorted(arrival, np.linspace(edges[0], edges[-1], cycles * per_cycle + 1))).reshape(
            cycles, per_cycle
        )
        off = counts - (counts.mean(axis=0) if cycles > 1 else counts.mean())
        most = max(most, float((off**2).sum()) / ((cycles - 1) * per_cycle or per_cycle - 1) / counts.mean())
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
    shape *= 1 - 1 / math.sqrt(max(k, 1))  # on the safe side, by a standard error
    if shape <= 1:
        return math.inf
    beyond = max(min(beyond, longest[-1]), start)
    return float(k * start * (beyond / start) ** (1 - shape) / (shape - 1) / services.sum())


def _fullness(waiting: Floats, in_service: Floats) -> float:
    """Return how full servers are in the second half, whose `waiting` is given.

    It is relative to times with more waiting than usual. UNKNOWN without starts or ends.
    """
    late = in_service[-len(waiting) :]
    if not late.any():
        return UNKNOWN
    queued = waiting > max(0.5, 2 * float(np.median(waiting)))
    while_queued = float(late[queued].mean()) if queued.sum() > 8 else 0.0
    return float(late.mean()) / max(while_queued, float(np.quantile(in_service, 0.99)))


def _waits_for_completions(log: Log) -> bool:
    """Return whether arrivals follow completions, as in a closed loop.

    Nearly every task then arrives when another ends, and finds the same number in the system.
    """
    ends, n = np.sort(log.end[~np.isnan(log.end)]), len(log.arrival)
    passed = np.searchsorted(ends, log.arrival, "right")
    later = np.flatnonzero(passed)  # arrivals after the first end
    if len(later) <= n / 2:
        return False
    same = np.bincount(np.maximum(later - passed[later], 0)).max()
    at_once = (log.arrival[later] - ends[passed[later] - 1] <= AT_ONCE * (log.arrival[-1] - log.arrival[0]) / n).sum()
    return bool(min(same, at_once) >= CLOSED * len(later))


def _hours(course: Floats, first: float, cycle: float) -> tuple[str, ...]:
    """Return a note on the hours of longest and fastest growing queue."""
    if not cycle or not course.any():
        return ()
    hour = ((first + (np.arange(len(course)) + 0.5) * cycle / len(course)) % cycle / cycle * HOURS).astype(np.int64)
    queue = np.bincount(hour, course, HOURS) / np.maximum(np.bincount(hour, minlength=HOURS), 1)
    behind = np.flatnonzero(np.diff(queue, prepend=queue[-1]) > RISES * queue.max())
    falls = f"; it falls behind in hours {', '.join(map(str, behind))}" if len(behind) else ""
    return (f"the queue is longest in hour {int(np.argmax(queue))} of the cycle's {HOURS}{falls}",)
