"""`Result`: everything that one run measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.content.page import Charts, check_kind
from packenv.content.showable import Showable
from packenv.content.tables import form
from packenv.errors import InputError
from packenv.results.delays import Delays
from packenv.results.job_times import JobTimes, ResponseTimes
from packenv.results.locality import DataLocality
from packenv.results.schedule_table import Schedule, schedule_table
from packenv.results.stability import UNASKED, Verdict

if TYPE_CHECKING:
    from packenv.workloads.workload import Workload

KINDS = ("queue", "schedule", "fragmentation")
"""What `plot` draws and `to_frame` holds."""


def rejections(rejected: Mapping[str, int]) -> str:
    """List rejected tasks per reason, in brackets; empty without any."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in rejected.items() if count)
    return f" ({reasons})" if reasons else ""


class Trajectory(NamedTuple):
    """The queue over time: means over bins of `bin_slots`."""

    bin_slots: int
    queue: NDArray[np.float64]  # (bins,) number of waiting tasks
    waiting_size: NDArray[np.float64]  # (bins,) sum of the sizes of waiting tasks, in units of capacity

    def __repr__(self) -> str:
        span = f": means of {self.queue.min():.4g} to {self.queue.max():.4g} waiting tasks" if len(self.queue) else ""
        return f"Trajectory of {len(self.queue)} bins of {self.bin_slots} slots{span}"


@dataclass(frozen=True, repr=False)
class Result(Showable):
    """Measures of a run: counts, and means from `warmup`.

    Delays are in slots, of started tasks that became eligible after the warm-up. Counts are over the whole run. A mean or delay
    is None if the run stopped before its warm-up ended, or no task started.
    """

    policy: str
    workload: str
    left_out_share: float  # of a trace's tasks, which fit nowhere
    left_out_work: float  # the same of their work, amount × duration; the largest over the resources
    servers: int
    seed: int
    slots: int
    warmup: int
    arrived: int
    started: int
    completed: int
    waiting: int
    rejected: dict[str, int] | None  # tasks turned away by what they lacked: a resource, a kind, several; None: they wait
    mean_queue: float | None
    max_queue: int | None
    mean_waiting_size: float | None  # units of capacity; of several resources, largest servers
    mean_delay: float | None
    delay_p50: float | None
    delay_p90: float | None
    delay_p95: float | None
    delay_p99: float | None
    delay_p999: float | None
    max_delay: int | None
    mean_response: float | None  # slots from eligible to end; None for a stream with postponed ends
    utilisation: tuple[float | None, ...]  # (D,) share of the cluster's capacity in service; None if it has no capacity
    verdict: Verdict
    load: float | None  # share of ρ*, if the workload was given by its load
    rho: tuple[float, float] | None  # the lower and upper bound on ρ* (tasks in service) behind `load`
    stopped: str | None  # why the run ended early, or None if it did not
    seconds: float  # of the simulation loop alone
    tasks_per_second: float
    trajectory: Trajectory
    delays: Delays  # of which `delay_quantile` reads any
    schedule: Schedule | None = None
    jobs: JobTimes | None = None  # completion times of whole jobs, if the table says which tasks make a job
    response: ResponseTimes | None = None  # of tasks whose service is known: of a table; of a stream if it was asked for
    data: DataLocality | None = None  # how near to their data tasks ran, if the table says where the data lie
    remark: str | None = None  # what an agent says of its run: whether it saw all that it might have started
    played: Workload | None = field(default=None, compare=False)  # what was run; None in another process than that of the run

    def delay_quantile(self, share: float) -> float | None:
        """Return the smallest delay, in slots, that `share` of tasks do not exceed.

        None without started tasks. Raises InputError unless 0 <= share <= 1.
        For several runs: `Delays.together([run.delays for run in runs]).quantile(share)` (packenv.results.delays).
        """
        if not 0 <= share <= 1:
            raise InputError(f"a share of the tasks is from 0 to 1, not {share:g}")
        return self.delays.quantile(share)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the workload, known to the receiving process."""
        return vars(self) | {"played": None}

    def facts(self) -> list[tuple[str, str]]:
        """Return a summary of the run in a few texts."""
        queue = "nothing measured" if self.mean_queue is None else f"mean {self.mean_queue:.4g}, most {self.max_queue:,}"
        delay = "no task started"
        if self.mean_delay is not None:
            delay = f"mean {self.mean_delay:.4g} slots, p50 {self.delay_p50:g}, p95 {self.delay_p95:g}, p99 {self.delay_p99:g}"
        used = " : ".join("–" if share is None else f"{share:.3f}" for share in self.utilisation)
        tasks = f"{self.arrived:,} arrived, {self.started:,} started, {self.completed:,} completed, {self.waiting:,} waiting"
        if self.rejected is not None:
            tasks += f", {sum(self.rejected.values()):,} turned away{rejections(self.rejected)}"
        facts = [("queue", queue), ("delay", delay), ("utilisation", used), ("tasks", tasks)]
        if self.verdict.kind != UNASKED:
            facts = [("verdict", self.verdict.kind), *facts]
        if self.jobs is not None and self.jobs.mean is not None:
            makespan = "not all ended" if self.jobs.makespan is None else f"makespan {self.jobs.makespan:,} slots"
            facts.append(("jobs", f"mean completion {self.jobs.mean:.4g} slots, {makespan}"))
        return facts + [(name, text) for name, text in (("stopped", self.stopped), ("remark", self.remark)) if text]

    @property
    def title(self) -> str:
        servers = f"{self.servers:,} server{'' if self.servers == 1 else 's'}"
        return f"Result of {self.policy} on {self.workload}: {servers}, {self.slots:,} slots, seed {self.seed}"

    @property
    def plain(self) -> dict[str, Any]:
        return self.to_dict()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Its measures, without the queue over time and the delays."""
        return [{key: value for key, value in self.to_dict().items() if key not in ("trajectory", "delays")}]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields in JSON's types, except the schedule.

        Whole jobs are given by their times. `delays` is a list of delays, in slots, and a list of their numbers of tasks.
        """
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("played", "schedule", "jobs", "response", "data"):
            del plain[name]
        plain |= self.verdict.plain | {"utilisation": list(self.utilisation)}
        plain["rho"] = None if self.rho is None else list(self.rho)
        width, queue, size = self.trajectory
        plain["trajectory"] = {"bin_slots": width, "queue": queue.tolist(), "waiting_size": size.tolist()}
        plain["delays"] = self.delays.plain()
        times = {} if self.jobs is None else {"makespan": self.jobs.makespan, "mean_completion": self.jobs.mean}
        return plain | times | ({} if self.response is None else self.response._asdict())

    def to_frame(  # type: ignore[override]  # the kind comes first
        self, kind: str = "queue", library: str = "arrow", workload: Workload | None = None
    ) -> Any:
        """Return an Arrow table, or a "pandas" or "polars" frame.

        kind      "queue": slot (start of a bin), queue and waiting_size, means over bins; "schedule": task, job, arrival, start,
        server and end of each task, null where it did not start or end, with row, id and times of its source file;
                  "fragmentation": the idle, useless share of all devices from this slot to the next, by reason. The last two need
                  `schedule=True`
        workload  the workload, if the result is from another process

        Raises InputError for another kind, a run without a schedule, and a library that is not installed.
        """
        if check_kind(kind, KINDS, "kind of frame") == "schedule":
            self._need_schedule()
            return form("frame")(schedule_table(self._workload(workload), [self]), library)
        if kind == "fragmentation":
            return form("frame")(form("fragmentation_of_run")(self, self._workload(workload)), library)
        width, queue, size = self.trajectory
        return form("frame")({"slot": width * np.arange(len(queue)), "queue": queue, "waiting_size": size}, library)

    def charts(self, kind: str = "queue", workload: Workload | None = None, **options: Any) -> Charts:
        """Return the charts of `plot`.

        kind      "queue": waiting tasks over time, and quantiles of the delay; "schedule": tasks on servers, and waiting tasks
                  (options: `first` and `last` slot, `colour` "job" or "size"); "fragmentation": the idle, useless share of all
                  devices. The last two need `schedule=True`, and then "queue" shows the fragmentation too
        workload  the workload, if the result is from another process

        Raises InputError for another kind, and a run without a schedule.
        """
        check_kind(kind, KINDS, "kind of picture")
        charts: Charts = form("charts_of_run")(self, kind, self._workload(workload), **options)
        return charts

    def _workload(self, workload: Workload | None) -> Workload:
        workload = workload or self.played
        if workload is None:
            raise InputError(f"the result of {self.policy} comes from another process: pass workload=…")
        return workload

    def _need_schedule(self) -> None:
        if self.schedule is None:
            raise InputError(f"the run of {self.policy} has no schedule: simulate with schedule=True")
