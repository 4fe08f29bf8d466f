"""Figure 4: the mean queue against the traffic intensity α, for (a) small and (b) large jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from matplotlib.figure import Figure

from experiments.finding import Claim, Finding, Row, Settings, columns
from experiments.random_requirements.queue_curves import NAMES, draw_curves, legends, row_of
from packenv.content.text import counted, number
from packenv.results.result import Result
from packenv.results.stability import UNDECIDED, UNSTABLE
from packenv.runs.run import Run
from packenv.runs.runner import run_all
from packenv.runs.statistics import certainly_above, certainly_below, interval, ratio
from packenv.workloads.find import workload

POLICIES = ("bf-js", "vqs", "vqs-bf")
ALIKE = 1.25
"""Two mean queues are comparable while their ratio lies within this factor of 1."""
Queues = dict[tuple[float, str], list[float | None]]  # mean queue of each seed, by α and policy
Rates = dict[float, float]  # jobs per slot by α
INTENSITIES = tuple(n / 100 for n in range(85, 100))
SLOTS, SEEDS, QUICK_SEEDS = 1_000_000, 8, 3
SIZES = {"fig4a": "U[0.01, 0.19]", "fig4b": "U[0.1, 0.9]"}


def reproduce(figure: str, settings: Settings) -> Finding:
    slots, seeds = settings.slots_or(SLOTS), settings.seeds_or(SEEDS, QUICK_SEEDS)
    runs = [
        Run(workload(f"paper/{figure}", intensity=alpha), policy, seed, slots)
        for alpha in reversed(INTENSITIES)  # the longest first
        for policy in POLICIES
        for seed in range(seeds)
    ]
    groups: dict[tuple[float, str], list[Result]] = {}
    for run, result in zip(runs, run_all(runs, settings.runs, figure), strict=True):
        groups.setdefault((run.loaded().intensity, run.policy), []).append(result)
    keys = [(alpha, policy) for policy in POLICIES for alpha in INTENSITIES]
    rows = [row_of(groups[key], intensity=key[0]) for key in keys]
    queues: Queues = {key: [result.mean_queue for result in groups[key]] for key in keys}
    title = f"Figure 4({figure[4]}): sizes {SIZES[figure]}, 5 servers; {slots:,} slots, {counted(seeds, 'seed')}{settings.remark}"
    claims = claims_a(queues) if figure == "fig4a" else claims_b(queues)

    def draw() -> Figure:
        return draw_means(rows, title)

    compare = beside_small_jobs if figure == "fig4b" else None
    notes = [f"{figure}: by α, {verdicts_by_intensity(rows)}"]
    rates = {alpha: workload(f"paper/{figure}", intensity=alpha).rate for alpha in INTENSITIES}
    return Finding(
        figure, title, claims, {"": rows, "_ratios": ratio_rows(queues)}, draw, notes, values=(queues, rates), compare=compare
    )


def verdicts_by_intensity(rows: Sequence[Row]) -> str:
    """The α at which a policy is not stable: `unstable: VQS (0.87 to 0.99), VQS-BF (0.98); undecided: VQS (0.85 to 0.86)`."""
    alphas = sorted({row["intensity"] for row in rows})
    kinds = []
    for kind in (UNSTABLE, UNDECIDED):
        named = []
        for policy in POLICIES:
            of_kind = {row["intensity"] for row in rows if (row["policy"], row["verdict"]) == (policy, kind)}
            stretches = [[*group] for inside, group in groupby(alphas, of_kind.__contains__) if inside]
            if ends := ", ".join(" to ".join(f"{alpha:g}" for alpha in sorted({s[0], s[-1]})) for s in stretches):
                named.append(f"{NAMES[policy]} ({ends})")
        kinds += [f"{kind}: {', '.join(named)}"] if named else []
    return "; ".join(kinds) or "all stable"


def beside_small_jobs(finding: Finding, earlier: Mapping[str, Finding]) -> Finding:
    """Figure 4(b) with the claims that compare it with 4(a), where that is at hand."""
    if "fig4a" not in earlier:
        alone = "fig4b: how it compares with (a) takes both: packenv reproduce fig4a fig4b"
        return replace(finding, notes=[*finding.notes, alone])
    return replace(finding, claims=finding.claims + claims_across(earlier["fig4a"].values, finding.values))


def reproduce_a(settings: Settings) -> Finding:
    """Small jobs."""
    return reproduce("fig4a", settings)


def reproduce_b(settings: Settings) -> Finding:
    """Large jobs."""
    return reproduce("fig4b", settings)


def ratio_rows(queues: Queues) -> list[Row]:
    """The policies' mean queues over that of BF-J/S, which saw the same jobs."""
    rows = []
    for policy in POLICIES[1:]:
        for alpha in intensities(queues):
            over = ratio(queues[alpha, policy], queues[alpha, "bf-js"])
            about = {"intensity": alpha, "policy": policy}
            rows.append(about | columns("over_bf_js", over) | {"seeds": len(queues[alpha, policy])})
    return rows


def intensities(queues: Queues) -> list[float]:
    return sorted({alpha for alpha, _ in queues})


def claims_a(queues: Queues) -> list[Claim]:
    alphas = intensities(queues)
    against = {alpha: ratio(queues[alpha, "vqs-bf"], queues[alpha, "bf-js"]) for alpha in alphas}
    alike = []
    for alpha in alphas:
        mean = against[alpha].mean
        if mean is None or not 1 / ALIKE <= mean <= ALIKE:
            break
        alike.append(alpha)
    above = alphas[len(alike) :]
    near = f"within a factor {ALIKE:g}"
    reach = f"{near} up to α = {alike[-1]:g}" if alike else f"not {near} at α = {alphas[0]:g}"
    lower = [alpha for alpha in alike if certainly_below(against[alpha], 1)]
    return [
        *_worse("fig4a", "VQS", "vqs", ("bf-js", "vqs-bf"), queues, "VQS has the longest queues"),
        Claim(
            "fig4a",
            "BF-J/S and VQS-BF are comparable up to some α (the number is lost)",
            bool(alike),
            f"{reach}; VQS-BF over BF-J/S "
            + ", ".join(f"{against[alpha]} at {alpha:g}" for alpha in dict.fromkeys((alphas[0], *alike[-1:], *above[:1])))
            + (f"; VQS-BF is even lower at {_range(lower)}" if lower else ""),
        ),
        Claim(
            "fig4a",
            "above it BF-J/S is clearly better",
            bool(above) and all(certainly_above(against[alpha], 1) for alpha in above),
            "VQS-BF over BF-J/S " + ", ".join(f"{against[alpha]} at {alpha:g}" for alpha in above)
            if above
            else f"no α up to {alphas[-1]:g} is above it",
        ),
    ]


def claims_b(queues: Queues) -> list[Claim]:
    return [
        *_worse("fig4b", "VQS-BF", "vqs-bf", ("bf-js",), queues, "BF-J/S has shorter queues than VQS-BF"),
        *_worse("fig4b", "VQS", "vqs", ("vqs-bf",), queues, "VQS-BF has shorter queues than VQS"),
    ]


def claims_across(small: tuple[Queues, Rates], large: tuple[Queues, Rates]) -> list[Claim]:
    """That large jobs make the disadvantage of VQS and VQS-BF larger: the delay that they add to that of BF-J/S."""
    return _across(small[0], large[0], (small[1], large[1]))


def _across(small: Queues, large: Queues, rates: tuple[Rates, Rates]) -> list[Claim]:
    alphas = [alpha for alpha in intensities(small) if alpha in intensities(large)]
    claims = []
    for policy in POLICIES[1:]:
        pairs = {}
        for alpha in alphas:
            extra = [_extra(queues, alpha, policy, rate[alpha]) for queues, rate in zip((small, large), rates, strict=True)]
            pairs[alpha] = (interval(extra[0]), interval(extra[1]), interval(b - a for a, b in zip(*extra, strict=True)))
        holds = [alpha for alpha in alphas if certainly_above(pairs[alpha][2], 0)]
        ends = ", ".join(
            f"{number(pairs[alpha][0].mean)} slots against {number(pairs[alpha][1].mean)} at {alpha:g}"
            for alpha in dict.fromkeys((alphas[0], alphas[-1]))
        )
        ratios = ", ".join(
            f"{ratio(small[alpha, policy], small[alpha, 'bf-js'])} against {ratio(large[alpha, policy], large[alpha, 'bf-js'])} "
            f"at {alpha:g}"
            for alpha in dict.fromkeys((alphas[0], alphas[-1]))
        )
        claims.append(
            Claim(
                "fig4b",
                f"{NAMES[policy]} delays jobs longer than BF-J/S does, and by more than in (a)",
                len(holds) == len(alphas),
                f"at {len(holds)} of {len(alphas)} α; extra mean delay {ends}; as a ratio of queues {ratios}",
            )
        )
    return claims


def _extra(queues: Queues, alpha: float, policy: str, rate: float) -> list[float]:
    """Slots by which the mean delay exceeds that of BF-J/S, seed by seed, by Little's law."""
    pairs = zip(queues[alpha, policy], queues[alpha, "bf-js"], strict=True)
    return [((a or 0.0) - (b or 0.0)) / rate for a, b in pairs]


def _worse(figure: str, name: str, policy: str, others: Sequence[str], queues: Queues, claim: str) -> list[Claim]:
    """One claim: `policy` has longer queues than each of the others at every α."""
    alphas = intensities(queues)
    over = {(alpha, other): ratio(queues[alpha, policy], queues[alpha, other]) for alpha in alphas for other in others}
    fails = [alpha for alpha in alphas if not all(certainly_above(over[alpha, other], 1) for other in others)]
    figures = "; ".join(
        f"{name} over {NAMES[other]} " + ", ".join(f"{over[alpha, other]} at {alpha:g}" for alpha in (alphas[0], alphas[-1]))
        for other in others
    )
    where = f"not so at α = {_range(fails)}" if fails else f"at all {len(alphas)} α"
    return [Claim(figure, claim, not fails, f"{figures}; {where}")]


def _range(alphas: Sequence[float]) -> str:
    return ", ".join(f"{alpha:g}" for alpha in alphas)


def draw_means(rows: list[Row], title: str) -> Figure:
    """Mean queue, on a logarithmic scale, against the traffic intensity."""
    figure = Figure(figsize=(7.2, 5), layout="constrained")
    axes = figure.add_subplot()
    draw_curves(axes, rows, "intensity", "mean_queue", [NAMES[policy] for policy in POLICIES])
    axes.set_xlabel("traffic intensity α")
    axes.set_ylabel("mean queue (waiting jobs)")
    axes.set_title(title.replace("; ", "\n"), fontsize=10, loc="left")
    legends(figure, axes)
    return figure
