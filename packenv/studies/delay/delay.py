"""Seed 004: locality against how long jobs wait for it, intervals fixed and dynamic under a changing network, sticky slots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from packenv.results.result import Result
from packenv.runs.measures import Interval, certainly_below, interval, ratio
from packenv.runs.outputs import counted
from packenv.runs.processes import Run, run_all
from packenv.studies.finding import Claim, Finding, Row, Settings
from packenv.workloads.named.blocks import SLOT_SECONDS, Readers, head_of_line
from packenv.workloads.named.registry import workload as named
from packenv.workloads.network import NODE
from packenv.workloads.workload import Workload

CLUSTERS = (100, 1000)
TASKS, COPIES, GOAL = 20, 3, 0.95
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.2310, 0.3)  # D over the number of servers; the closed form's is ln 2 / 3
SMALL_JOBS = 100
FAIR, FIXED, DYNAMIC = "fair", "delay", "delay-dynamic"
OTHERS = tuple(f"delay:interval={seconds}" for seconds in (1, 10, 30))
COMPARED = (FAIR, OTHERS[0], FIXED, *OTHERS[1:], "delay:paper", DYNAMIC, "delay-dynamic:paper")
STICKY = (FAIR, OTHERS[0], FIXED)
STICKY_JOBS = (1, 2, 5, 10, 20, 50)
STICKY_SERVERS, STICKY_TASKS = 100, 5000
SEEDS, QUICK_SEEDS = 8, 2


class Outcome(NamedTuple):
    """Means of a run, in seconds, and the share of tasks at home."""

    locality: float
    completion: float  # of jobs
    task_completion: float
    overhead: float
    idle_wait: float


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    small = [row for servers in CLUSTERS for row in locality_rows(servers, seeds, settings)]
    changing = {"changing": named("delay/changing"), "constant": named("delay/facebook")}
    found = {which: outcomes(made, COMPARED, seeds, settings) for which, made in changing.items()}
    compared = [{"network": which} | row_of(policy, each) for which in found for policy, each in found[which].items()]
    sticky = [row for jobs in STICKY_JOBS for row in sticky_rows(jobs, seeds, settings)]
    title = f"Delay scheduling: locality, a changing network, sticky slots; {counted(seeds, 'seed')}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.delay.plot import draw_delay

        draw_delay(small, compared, sticky, title, path)

    claims = [*claims_on_locality(small), *claims_on_intervals(found), claim_on_sticky_slots(sticky)]
    return Finding("delay", title, claims, {"": small, "_network": compared, "_sticky": sticky}, draw)


def skips_for(servers: int) -> int:
    """D of the closed form: ⌈−(M/R) ln((1 − l) N / (1 + (1 − l) N))⌉."""
    missed = (1 - GOAL) * TASKS
    return math.ceil(-servers / COPIES * math.log(missed / (1 + missed)))


def closed_form(servers: int, skips: int) -> float:
    """Mean locality of a job of N tasks, launched at random offers, of which it refuses D at most while k tasks are left."""
    nowhere = 1 - COPIES / servers
    return 1 - sum(nowhere ** (k * (skips + 1)) for k in range(1, TASKS + 1)) / TASKS


def run_policies(made: Workload, policies: Sequence[str], seeds: int, settings: Settings, drain: bool) -> dict[str, list[Result]]:
    """Each policy's run of every seed."""
    runs = [Run(made, policy, seed, None, {"drain": drain}) for policy in policies for seed in range(seeds)]
    results = run_all(runs, settings.processes, made.name)
    return {name: results[n * seeds : (n + 1) * seeds] for n, name in enumerate(policies)}


def locality_rows(servers: int, seeds: int, settings: Settings) -> list[Row]:
    """The small jobs' locality for each D, in both variants."""
    counts = sorted({*(round(share * servers) for share in SHARES), skips_for(servers)})
    variants = {f"delay:skips={skips}{paper}": (paper, skips) for paper in (",paper", "") for skips in counts}
    runs = run_policies(head_of_line(servers, SMALL_JOBS), [*variants], seeds, settings, drain=False)
    rows = []
    for policy, results in runs.items():
        paper, skips = variants[policy]
        each = interval(result.data.share(NODE) for result in results if result.data is not None)
        row: Row = {"servers": servers, "variant": "paper" if paper else "robust", "skips": skips, "seeds": seeds}
        rows.append(row | columns("locality", each) | {"closed_form": closed_form(servers, skips)})
    return rows


def outcomes(made: Workload, policies: Sequence[str], seeds: int, settings: Settings) -> dict[str, list[Outcome]]:
    return {name: [*map(outcome, each)] for name, each in run_policies(made, policies, seeds, settings, drain=True).items()}


def outcome(result: Result) -> Outcome:
    data, jobs = result.data, result.jobs
    assert data is not None and jobs is not None and jobs.mean is not None
    slots = (jobs.mean, data.completion.mean(), data.overhead.mean(), data.idle_wait.mean())
    return Outcome(data.share(NODE) or 0.0, *(float(SLOT_SECONDS * each) for each in slots))


def row_of(policy: str, found: list[Outcome]) -> Row:
    """Means over the seeds with their 95 % intervals."""
    row: Row = {"policy": policy, "seeds": len(found)}
    for name in Outcome._fields:
        row |= columns(name, interval(getattr(each, name) for each in found))
    return row


def columns(name: str, each: Interval) -> Row:
    return {name: each.mean, f"{name}_low": each.low, f"{name}_high": each.high}


def sticky_rows(jobs: int, seeds: int, settings: Settings) -> list[Row]:
    """So many jobs of equal size, all there from the start, on a cluster that takes one task per server."""
    table = partial(Readers, servers=STICKY_SERVERS, intensity=0.0, overhead=0.0)
    made = Workload(
        jobs=table(jobs, bins=((STICKY_TASKS // jobs, 1.0),)),
        servers=STICKY_SERVERS,
        slot_seconds=SLOT_SECONDS,
        name=f"{jobs} equal jobs",
    )
    runs = run_policies(made, STICKY, seeds, settings, drain=True)
    shares = {name: interval(each.data.share(NODE) for each in results if each.data) for name, results in runs.items()}
    return [{"jobs": jobs, "policy": name, "seeds": seeds} | columns("locality", each) for name, each in shares.items()]


def claims_on_locality(rows: list[Row]) -> list[Claim]:
    claims = []
    for servers in CLUSTERS:
        here = [row for row in rows if row["servers"] == servers]
        papers = [row for row in here if row["variant"] == "paper"]
        paper, robust = (row for row in here if row["skips"] == skips_for(servers))
        low, high = (paper[f"locality_{end}"] for end in ("low", "high"))
        furthest = max(abs(row["locality"] - row["closed_form"]) for row in papers)
        told = f"{paper['locality']:.4f} [{low:.4f}, {high:.4f}] at D = {paper['skips']}, exact {paper['closed_form']:.4f}"
        claims += [
            Claim(
                "delay",
                f"M = {servers}: 95 % locality of jobs of 20 tasks at the closed form's D",
                high is not None and high >= GOAL,
                f"{told}; {papers[0]['locality']:.3f} at D = 0; robust, which does not wait anew, {robust['locality']:.4f}",
            ),
            Claim(
                "delay",
                f"M = {servers}: locality is what the closed form says, at every D",
                all(within(row) for row in papers),
                f"largest difference {furthest:.4f}",
            ),
        ]
    return claims


def within(row: Row) -> bool:
    """Whether the exact value lies in the measured interval, widened by a half: seven intervals are looked at."""
    if row["locality_low"] is None:
        return False
    half = 0.75 * (row["locality_high"] - row["locality_low"])
    return bool(abs(row["locality"] - row["closed_form"]) <= half)


def claims_on_intervals(found: dict[str, dict[str, list[Outcome]]]) -> list[Claim]:
    changing = found["changing"]
    pairs = ((DYNAMIC, FIXED), ("delay-dynamic:paper", "delay:paper"), (DYNAMIC, FAIR), (FIXED, FAIR))
    shares = {
        (one, other): ratio([each.completion for each in changing[one]], [each.completion for each in changing[other]])
        for one, other in pairs
    }
    best = min((FIXED, *OTHERS), key=lambda name: mean(changing[name]))
    constant = ratio(*([each.completion for each in found["constant"][name]] for name in pairs[0]))
    told = "; ".join(f"{one} {share} of {other}" for (one, other), share in shares.items())
    return [
        Claim(
            "delay",
            "where the overhead varies, dynamic intervals take no longer than fixed ones of 3 s in mean completion",
            certainly_below(shares[pairs[0]], 1.0),
            f"{told}; on a constant network {constant}",
        ),
        Claim(
            "delay",
            "and no longer than the best of the fixed ones",
            mean(changing[DYNAMIC]) <= mean(changing[best]),
            f"{mean(changing[DYNAMIC]):.2f} s, {best} {mean(changing[best]):.2f} s",
        ),
    ]


def mean(found: list[Outcome]) -> float:
    return float(np.mean([each.completion for each in found]))


def claim_on_sticky_slots(rows: list[Row]) -> Claim:
    """Fair sharing alone against delay, for few and many jobs."""
    share = {(row["policy"], row["jobs"]): row["locality"] for row in rows}
    few, many = STICKY_JOBS[0], STICKY_JOBS[-1]
    told = "; ".join(f"{policy} " + ", ".join(f"{share[policy, jobs]:.2f}" for jobs in STICKY_JOBS) for policy in (FAIR, FIXED))
    return Claim(
        "delay",
        "slots stick to jobs under fair sharing, which loses locality as jobs become more; a delay cures that",
        share[FAIR, many] < 0.5 * share[FAIR, few] and min(share[FIXED, jobs] for jobs in STICKY_JOBS) > 0.9,
        f"{', '.join(map(str, STICKY_JOBS))} jobs: {told}",
    )
