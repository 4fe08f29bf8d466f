"""`packenv.judge`: the share of ρ* that a policy keeps stable.

ρ* is the maximum supportable workload. The load is found by bisection. At each load, independent runs are repeated with more and
more slots until their verdict is certain or the longest length is reached. Instability shows early, so loads that are far too
high cost little. Stability is assumed to be monotone: all loads below a stable one are stable, and all above an unstable one
unstable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from packenv.errors import ArgumentError, check_count
from packenv.options.fields import takes
from packenv.options.verbs import JudgeOptions
from packenv.policy import find_policy, guarantee_of, name_of
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, Verdict, combine
from packenv.simulation import setting_of, simulate
from packenv.theory.capacity.max_workload import LOAD_GAP, max_workload, supportable
from packenv.theory.stability.judgment import BROKEN, HELD, NOT_CLAIMED, Evidence, Judgment, proved_share
from packenv.workloads.windows import Lasting, spread
from packenv.workloads.workload import Workload

GRID = 200  # loads are multiples of 1 / GRID
MOST_TASKS, GROWTH, LENGTHS = JudgeOptions().tasks, 4, 4  # arrivals of the longest runs, factor to the next length, lengths
FIRST_TASKS = MOST_TASKS // GROWTH ** (LENGTHS - 1)  # arrivals of the first runs
DRAWN_LENGTHS = 3  # of tables that are drawn by seed: the workload's own, and GROWTH and GROWTH² times as long
FIRST_SERVICES = 500  # the first runs last at least this many mean services
CLAIM = 1e-9  # rounding of the fraction that a policy claims


class PlannedRun(NamedTuple):
    """A run to make: everything that its outcome depends on."""

    workload: Workload
    policy: str | Any
    slots: int
    seed: int


class RunOutcome(NamedTuple):
    """The verdict and mean queue of a run."""

    verdict: Verdict
    mean_queue: float


Runner = Callable[[Sequence[PlannedRun]], Sequence[RunOutcome]]
"""Makes runs; see `run_here`."""
Plan = Callable[[float], Iterator[list[PlannedRun]]]
"""The runs to make at a load: first short ones, then longer ones."""
Progress = Callable[[float, float, float, int], None]
"""Is told the interval so far (low, high), the load that is tried, and the slots of its runs."""


@takes(JudgeOptions)
def judge(
    workload: Workload,
    policy: str | Any,
    *,
    options: JudgeOptions,
    run: Runner | None = None,
    progress: Progress | None = None,
) -> Judgment:
    """Find the fraction of ρ* that `policy` supports.

    The workload's own load does not matter. The interval is `width` wide, or wider if loads remain undecided after the longest
    runs. In these, `tasks` arrive, in the first ones a 64th. Some queues grow until they settle at a high level, as with `msr`.
    Give more tasks then, as a shorter first run would call them unstable.

    run       makes the runs (by default one after the other in this process)
    progress  called for every set of runs

    A Jobs table is judged by one run at each load, with its arrivals spread out or drawn together and its own tasks (see
    `Judgment.needed`). So are tables drawn per seed, seed by seed, if their function has a method `longer(times)` for longer
    tables (`gpu/openb-like`). Raises InputError for a width outside (0, 1), no seed, or fewer tasks than by default.
    """
    seeds, width, tasks = options.seeds, options.width, options.tasks
    check_count("seeds", seeds)
    if not 0 < width < 1:
        raise ArgumentError(f"`width` of the interval must lie between 0 and 1, not {width}; `plot_width` is for pictures")
    if tasks < MOST_TASKS:
        quicker = "for a quick look take a larger `width`, such as 0.1"
        raise ArgumentError(f"`tasks` must be at least {MOST_TASKS:,}, the length of the longest runs, not {tasks:,}; {quicker}")
    named = find_policy(policy) if isinstance(policy, str) else policy
    bracket = max_workload(workload, LOAD_GAP) if workload.jobs is not None else supportable(workload)
    rho = bracket.lower, bracket.upper
    if workload.jobs is None:
        plan = random_plan(workload, policy, rho, seeds, tasks)
    elif isinstance(workload.draw, Lasting):
        plan = drawn_plan(workload, workload.draw, policy, rho, seeds)
    else:
        plan = table_plan(workload, policy, rho)
    claimed = guarantee_of(named, setting_of(workload))
    proved = proved_share(workload, name_of(named), bracket.upper) if claimed else None
    search = LoadSearch(plan, run or run_here, progress or (lambda low, high, load, slots: None))
    # Loads up to what is proved need no runs: no run says more than a proof.
    low, high = search.interval(max(1, round(width * GRID)), math.floor((proved or 0.0) * GRID))
    supported = max(low / GRID * bracket.lower / bracket.upper, proved or 0.0), high / GRID
    halves = status(1 / 2, *supported, claimed), status(2 / 3, *supported, claimed)
    return Judgment(name_of(named), workload.name, *supported, rho, claimed, *halves, tuple(search.evidence), workload)


def random_plan(workload: Workload, policy: str | Any, rho: tuple[float, float], seeds: int, most: int) -> Plan:
    """Plan `seeds` runs per load, GROWTH times longer until `most` arrive."""

    def plan(load: float) -> Iterator[list[PlannedRun]]:
        at = workload.with_(load=load).knowing(*rho)
        for longer_ones in range(LENGTHS - 1, -1, -1):
            slots = max(round(most / GROWTH**longer_ones / at.rate), round(FIRST_SERVICES * at.mean_service))
            yield [PlannedRun(at, policy, slots, seed) for seed in range(seeds)]

    return plan


def table_plan(workload: Workload, policy: str | Any, rho: tuple[float, float]) -> Plan:
    """Plan one run per load, spreading the table's arrivals."""

    def plan(load: float) -> Iterator[list[PlannedRun]]:
        yield [spread_out(workload, policy, workload.rate * workload.mean_service / rho[0] / load, 0)]

    return plan


def drawn_plan(workload: Workload, draw: Lasting, policy: str | Any, rho: tuple[float, float], seeds: int) -> Plan:
    """Plan the tables of `seeds` seeds at each load.

    Each repetition has tables GROWTH times as long. `rho` is of the table of seed 0. The other tables have other tasks, and
    support the same share of their area bounds.
    """
    area = workload.area_bound / rho[0]

    def plan(load: float) -> Iterator[list[PlannedRun]]:
        for length in range(DRAWN_LENGTHS):
            law = workload.with_(jobs=draw.longer(GROWTH**length)) if length else workload
            tables = [law.at(seed) for seed in range(seeds)]
            yield [spread_out(table, policy, table.intensity * area / load, seed) for seed, table in enumerate(tables)]

    return plan


def spread_out(workload: Workload, policy: str | Any, times: float, seed: int) -> PlannedRun:
    """Plan a table's run over `times` the time."""
    jobs = workload.jobs
    assert jobs is not None
    table = workload.with_(jobs=spread(jobs, times))
    return PlannedRun(table, policy, int(jobs.arrival[-1] * times) + 1, seed)


def status(share: float, low: float, high: float, claimed: float) -> str:
    """Return whether support in [low, high) holds guarantee `share`."""
    if claimed < share - CLAIM:
        return NOT_CLAIMED
    return HELD if low >= share else BROKEN if high < share else UNDECIDED


class LoadSearch:
    """Bisection on the grid of loads, also around undecided loads."""

    def __init__(self, plan: Plan, run: Runner, progress: Progress) -> None:
        self.plan, self.run, self.progress = plan, run, progress
        self.evidence: list[Evidence] = []

    def interval(self, width: int, proved: int = 0) -> tuple[int, int]:
        """Return the largest stable, smallest unstable load (or GRID), in steps."""
        low, high = min(proved, GRID), GRID
        doubtful: list[int] = []
        while high - low > width:
            # Bisect, below and above all undecided loads if there are any.
            between = [load for load in doubtful if low < load < high]
            if not between:
                load = (low + high) // 2
            elif min(between) - low > 1:
                load = (low + min(between)) // 2
            elif high - max(between) > 1:
                load = (max(between) + high) // 2
            else:
                break
            # Move the end that the verdict decides.
            kind = self.verdict_at(load, low, high)
            if kind == STABLE:
                low = load
            elif kind == UNSTABLE:
                high = load
            else:
                doubtful.append(load)
        return low, high

    def verdict_at(self, load: int, low: int, high: int) -> str:
        """Return a load's verdict (grid steps) from growing runs."""
        for runs in self.plan(load / GRID):
            self.progress(low / GRID, high / GRID, load / GRID, runs[0].slots)
            outcomes = self.run(runs)
            verdict = combine(outcome.verdict for outcome in outcomes)
            if verdict.kind != UNDECIDED:
                break
        queue = sum(outcome.mean_queue for outcome in outcomes) / len(outcomes)
        self.evidence.append(Evidence(load / GRID, verdict, runs[0].slots, len(runs), queue))
        return verdict.kind


def run_here(runs: Sequence[PlannedRun]) -> list[RunOutcome]:
    """Make the runs one after the other in this process."""
    return [outcome_of(run) for run in runs]


def outcome_of(run: PlannedRun) -> RunOutcome:
    """Make one run, measured from its first slot on."""
    result = simulate(run.workload, run.policy, run.slots, run.seed, warmup=0)
    assert result.mean_queue is not None
    return RunOutcome(result.verdict, result.mean_queue)
