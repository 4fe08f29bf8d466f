"""Seed 001, Tetris: packing with little work left first, against fair sharing that checks every resource or two of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from packenv.results.job_times import most_allocated, occupancy, unfairness
from packenv.results.result import Result
from packenv.runs.measures import Interval, certainly_below, interval, number, ratio
from packenv.runs.outputs import counted
from packenv.runs.processes import Run, run_all
from packenv.studies.finding import Claim, Finding, Row, Settings
from packenv.workloads.named.analytics import analytics
from packenv.workloads.workload import Workload

FAIR = ("drf", "slot-fair")
TWO = tuple(f"{policy}:checked=2" for policy in FAIR)  # cpu and memory only
PACKING, LEFT = "tetris:m=0,f=0", "tetris:packing=0,f=0"
COMPARED = ("tetris", PACKING, LEFT, *FAIR, *TWO, "bf-js", "fifo-ff")
KNOBS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
RESOURCES = (1, 2, 3, 4)
FRAGMENTED = ("tetris:m=0,f=0", "drf", "fifo-ff")
SEEDS, QUICK_SEEDS = 8, 3
JOBS, QUICK_JOBS = 500, 200
SMALL = 200  # jobs of a run in the panel of fragmentation


class Outcome(NamedTuple):
    """What a run did to its jobs."""

    makespan: float
    mean: float  # completion time
    p95: float
    unfairness: float
    fragmentation: float
    most: float  # the largest share of a resource of a server that was ever allocated
    slowed: float  # share of jobs that took over a tenth longer than under DRF


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    jobs = QUICK_JOBS if settings.quick else JOBS
    workload = analytics(jobs=jobs)
    knobs = [f"tetris:f={f:g}" for f in KNOBS]
    found = outcomes(workload, list(dict.fromkeys([*COMPARED, *knobs])), seeds, settings.processes)
    by_resources = {D: analytics(jobs=SMALL, resources=D, kinds=False) for D in RESOURCES}
    fragments = {D: outcomes(made, ["drf", *FRAGMENTED], seeds, settings.processes) for D, made in by_resources.items()}
    compared = [row(policy, found[policy]) for policy in COMPARED]
    curve = [{"f": f} | row(policy, found[policy]) for f, policy in zip(KNOBS, knobs, strict=True)]
    pieces = [{"resources": D} | row(policy, fragments[D][policy]) for D in RESOURCES for policy in FRAGMENTED]
    title = f"Tetris: {jobs} jobs of many tasks on {len(workload.servers)} servers, {counted(seeds, 'seed')}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.tetris.plot import draw_tetris

        draw_tetris(compared, curve, pieces, title, path)

    claims = [*claims_on_times(found), *claims_on_fairness(found, knobs), claim_on_fragments(fragments)]
    tables = {"": compared, "_fairness": curve, "_fragmentation": pieces}
    return Finding("tetris", title, claims, tables, draw)


def outcomes(workload: Workload, policies: list[str], seeds: int, processes: int | None) -> dict[str, list[Outcome]]:
    """What each policy does to the jobs of each seed."""
    policies = list(dict.fromkeys(policies))
    options = {"schedule": True, "drain": True}
    runs = [Run(workload, policy, seed, None, options) for policy in policies for seed in range(seeds)]
    results = run_all(runs, processes, f"tetris, {workload.D} resources")
    by_policy = {policy: results[n * seeds : (n + 1) * seeds] for n, policy in enumerate(policies)}
    return {
        policy: [outcome(workload, result, fair) for result, fair in zip(group, by_policy["drf"], strict=True)]
        for policy, group in by_policy.items()
    }


def outcome(workload: Workload, result: Result, fair: Result) -> Outcome:
    jobs, capacity = workload.at(result.seed).jobs, workload.servers.units
    times, schedule = result.jobs, result.schedule
    assert jobs is not None and times is not None and schedule is not None and fair.jobs is not None
    assert times.makespan is not None and times.mean is not None
    return Outcome(
        makespan=float(times.makespan),
        mean=times.mean,
        p95=times.quantile(0.95) or 0.0,
        unfairness=unfairness(jobs, schedule, capacity),
        fragmentation=occupancy(jobs, schedule, capacity).fragmentation,
        most=float(most_allocated(jobs, schedule, capacity).max()),
        slowed=times.slowed(fair.jobs),
    )


def row(policy: str, found: list[Outcome]) -> Row:
    """Means over the seeds with their 95 % intervals."""
    columns: Row = {"policy": policy, "seeds": len(found)}
    for name in Outcome._fields:
        each = interval(getattr(outcome, name) for outcome in found)
        columns |= {name: each.mean, f"{name}_low": each.low, f"{name}_high": each.high}
    return columns


def times_of(found: dict[str, list[Outcome]], policy: str, other: str, what: str) -> Interval:
    """The policy's makespan or mean completion time as a share of the other's, on the same jobs."""
    return ratio(*([getattr(outcome, what) for outcome in found[name]] for name in (policy, other)))


def claims_on_times(found: dict[str, list[Outcome]]) -> list[Claim]:
    named = {"makespan": "makespan", "mean": "mean completion time"}
    claims = []
    for what, name in named.items():
        for others, told, most in ((TWO, "cpu and memory only", 0.7), (FAIR, "every resource", 1.0)):
            shares = {other: times_of(found, "tetris", other, what) for other in others}
            packed = {other: times_of(found, PACKING, other, what) for other in others}
            less = "at least 30 % lower" if most < 1 else "lower"
            claims.append(
                Claim(
                    "tetris",
                    f"f = 0.25: {name} {less} than fair sharing that checks {told}",
                    all(certainly_below(each, most) for each in shares.values()),
                    f"{_told(shares)}; of packing alone (m = 0, f = 0) {_told(packed)}",
                )
            )
    over = {policy: max(outcome.most for outcome in found[policy]) for policy in COMPARED}
    checked = [policy for policy in COMPARED if policy not in TWO]
    claims.append(
        Claim(
            "tetris",
            "no policy that checks every resource ever over-allocates one; those that check two do",
            all(over[policy] <= 1 for policy in checked) and all(over[policy] > 1 for policy in TWO),
            f"at most {max(over[policy] for policy in checked):.3f}, and {', '.join(f'{p} {over[p]:.2f}' for p in TWO)}",
        )
    )
    return claims


def claims_on_fairness(found: dict[str, list[Outcome]], knobs: list[str]) -> list[Claim]:
    slowed = interval(outcome.slowed for outcome in found["tetris"])
    curve = [interval(outcome.unfairness for outcome in found[policy]).mean or 0.0 for policy in knobs]
    cost = [interval(outcome.mean for outcome in found[policy]).mean or 0.0 for policy in knobs]
    return [
        Claim(
            "tetris",
            "f = 0.25 slows about 6 % of the jobs by more than a tenth against fair sharing (published)",
            slowed.mean is not None and slowed.mean <= 0.1,
            f"{slowed} of the jobs against DRF",
        ),
        Claim(
            "tetris",
            "a larger knob f is fairer and slower",
            all(a > b for a, b in pairwise(curve)) and cost[0] < cost[-1],
            "distance below the fair share "
            + ", ".join(f"{number(c)} at f = {f:g}" for f, c in zip(KNOBS, curve, strict=True))
            + f"; mean completion {number(cost[0])} to {number(cost[-1])} slots",
        ),
    ]


def claim_on_fragments(fragments: dict[int, dict[str, list[Outcome]]]) -> Claim:
    """Independent demands of one to four resources."""
    means = {
        policy: [interval(outcome.fragmentation for outcome in fragments[D][policy]).mean or 0.0 for D in RESOURCES]
        for policy in FRAGMENTED
    }
    grows = all(a < b for each in means.values() for a, b in pairwise(each))
    told = "; ".join(f"{policy} {', '.join(number(share) for share in each)}" for policy, each in means.items())
    return Claim("tetris", "fragmentation grows with the number of resources, 1 to 4", grows, f"free while tasks wait: {told}")


def _told(shares: dict[str, Interval]) -> str:
    return ", ".join(f"{each} of {other}" for other, each in shares.items())
