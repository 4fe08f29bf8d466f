"""What the paper and the work on dynamic intervals claim of delay scheduling, against the rows and measures of `runs`."""

from __future__ import annotations

from experiments.delay.runs import DYNAMIC, FAIR, FIXED, GOAL, OTHERS, Measures, skips_for
from experiments.finding import Claim, Row
from packenv.runs.statistics import Interval, certainly_above, certainly_below, interval, ratio

ByNetwork = dict[str, dict[str, list[Measures]]]


def claims_on_locality(rows: list[Row]) -> list[Claim]:
    """Two-sided: more locality than the closed form says contradicts it as much as less."""
    claims = []
    for servers in dict.fromkeys(row["servers"] for row in rows):
        here = [row for row in rows if row["servers"] == servers]
        papers = [row for row in here if row["variant"] == "paper"]
        paper, robust = (row for row in here if row["skips"] == skips_for(servers))
        measured = locality_of(paper)
        exact, without = paper["closed_form"], papers[0]["locality"]
        contained = measured.low is not None and measured.high is not None and measured.low <= exact <= measured.high
        furthest = max(abs(row["locality"] - row["closed_form"]) for row in papers)
        locality = f"{in_full(measured)} at D = {paper['skips']}, exact {exact:.4f}"
        claims += [
            Claim(
                "delay",
                f"M = {servers}: 95 % locality of jobs of 20 tasks at the closed form's D",
                contained and not certainly_below(measured, GOAL),
                f"{locality}; {without:.3f} at D = 0; robust, which does not wait again, {robust['locality']:.4f}",
                direction=certainly_above(measured, without),
            ),
            Claim(
                "delay",
                f"M = {servers}: locality equals the closed form, at every D",
                all(within(row) for row in papers),
                f"largest difference {furthest:.4f}",
            ),
        ]
    return claims


def locality_of(row: Row) -> Interval:
    return Interval(row["locality"], row["locality_low"], row["locality_high"])


def in_full(measured: Interval) -> str:
    """With four digits."""
    return f"{measured.mean:.4f}" if measured.low is None else f"{measured.mean:.4f} [{measured.low:.4f}, {measured.high:.4f}]"


def within(row: Row) -> bool:
    """Whether the exact value lies in the measured interval, widened by a half: seven intervals are looked at."""
    if row["locality_low"] is None:
        return False
    half = 0.75 * (row["locality_high"] - row["locality_low"])
    return bool(abs(row["locality"] - row["closed_form"]) <= half)


def claims_on_intervals(by_network: ByNetwork) -> list[Claim]:
    """Dynamic intervals against those of 3 s, and against the best fixed ones of each setting, in tasks' and jobs' times."""
    claims = []
    for which, runs in by_network.items():
        for what, key in (("tasks", "task_completion"), ("jobs", "completion")):
            best = min((FIXED, *OTHERS), key=lambda name: interval(times(runs[name], key)).mean or 0.0)
            against = ratio(times(runs[DYNAMIC], key), times(runs[FIXED], key))
            nearest = ratio(times(runs[DYNAMIC], key), times(runs[best], key))
            papers = ratio(times(runs["delay-dynamic:paper"], key), times(runs["delay:paper"], key))
            fixed = ratio(times(runs[FIXED], key), times(runs[FAIR], key))
            claims += [
                Claim(
                    "delay",
                    f"{which}: dynamic intervals shorten the mean time of {what} against fixed ones of 3 s",
                    certainly_below(against, 1.0),
                    f"{against} of {FIXED}; paper variants {papers}; {FIXED} {fixed} of {FAIR}",
                ),
                Claim(
                    "delay",
                    f"{which}: they shorten the mean time of {what} against the best of the fixed ones",
                    certainly_below(nearest, 1.0),
                    f"{nearest} of {best}",
                ),
            ]
    return claims


def times(runs: list[Measures], key: str) -> list[float]:
    return [getattr(run, key) for run in runs]


def claims_on_the_bound(by_network: ByNetwork) -> list[Claim]:
    """Seed 004: with dynamic intervals a task takes its service and twice the overhead at most, on a constant network."""
    claims = []
    for which in (which for which in by_network if "changing" not in which):
        shares = {name: interval(times(by_network[which][name], "beyond_bound")) for name in (DYNAMIC, FIXED, OTHERS[-1])}
        waits = {name: interval(times(by_network[which][name], "scheduling_delay")) for name in shares}
        figures = "; ".join(
            f"{name} {100 * (shares[name].mean or 0):.2g} %, waiting {waits[name]} s on average" for name in shares
        )
        shown = all(run.beyond_bound == 0 for run in by_network[which][DYNAMIC])
        claim = f"{which}: with dynamic intervals no task loses more than twice the overhead to delay and remote reads"
        claims.append(Claim("delay", claim, shown, figures))
    return claims


def claim_on_sticky_slots(rows: list[Row]) -> Claim:
    """The locality of fair sharing alone, and of delay scheduling, for few and many jobs."""
    share = {(row["policy"], row["jobs"]): locality_of(row) for row in rows}
    counts = sorted({row["jobs"] for row in rows})
    few, many = counts[0], counts[-1]
    figures = "; ".join(
        f"{policy} " + ", ".join(f"{share[policy, jobs].mean:.2f}" for jobs in counts) for policy in (FAIR, FIXED)
    )
    return Claim(
        "delay",
        "slots stick to jobs under fair sharing, which loses locality as jobs become more; a delay cures that",
        certainly_below(share[FAIR, many], 0.5 * (share[FAIR, few].mean or 0.0))
        and all(certainly_above(share[FIXED, jobs], 0.9) for jobs in counts),
        f"{', '.join(map(str, counts))} jobs: {figures}",
    )
