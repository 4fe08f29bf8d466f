"""One sentence on a comparison, for titles."""

from __future__ import annotations

from collections.abc import Sequence

from packenv.content.text import listed
from packenv.results.result import Result
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, combine
from packenv.runs.statistics import certainly_below, ratio_of_means


def verdict_of(runs: Sequence[Result]) -> str:
    """Return the verdict on all seeds together."""
    return combine(run.verdict for run in runs).kind


def all_done(runs: Sequence[Result]) -> bool:
    """Return whether all work was done, so an open verdict is harmless."""
    return all(run.completed == run.arrived for run in runs)


def none_waited(runs: Sequence[Result]) -> bool:
    """Return whether each task started on arrival, as far as measured."""
    return all(run.mean_queue == 0 and run.waiting == 0 for run in runs)


def story_of(by_policy: Sequence[Sequence[Result]]) -> str:
    """Return a sentence on all runs.

    Such as `vqs falls behind; bf-js and agent:fig4b keep up, agent:fig4b with 36 % fewer waiting`. The difference is of the
    two stable policies with the shortest queues, if its 95 % interval excludes 0.
    """
    named = {kind: [runs for runs in by_policy if verdict_of(runs) == kind] for kind in (UNSTABLE, STABLE)}
    others = [runs for runs in by_policy if verdict_of(runs) not in named]
    parts = []
    for kind, singular, plural in ((UNSTABLE, "falls behind", "fall behind"), (STABLE, "keeps up", "keep up")):
        if named[kind]:
            parts.append(f"{_listed(named[kind])} {singular if len(named[kind]) == 1 else plural}")
    if len(named[STABLE]) > 1:
        parts[-1] += _best(named[STABLE])
    for words in sorted(set(map(_undecided, others))):
        parts.append(f"{_listed([runs for runs in others if _undecided(runs) == words])} {words}")
    return "; ".join(parts)


def _undecided(runs: Sequence[Result]) -> str:
    """Return the words for a policy without a verdict."""
    if all_done(runs):
        return "did all the work"
    if none_waited(runs):
        return "kept no task waiting"
    return "not decided" if verdict_of(runs) == UNDECIDED else "kept tasks waiting"


def _listed(groups: Sequence[Sequence[Result]]) -> str:
    return listed([runs[0].policy for runs in groups])


def _best(groups: Sequence[Sequence[Result]]) -> str:
    queues = [(runs[0].policy, [run.mean_queue for run in runs]) for runs in groups]
    if any(value is None for _, values in queues for value in values) or len({len(values) for _, values in queues}) > 1:
        return ""
    (best, shortest), (second, next_shortest), *_ = sorted(queues, key=lambda pair: sum(value or 0.0 for value in pair[1]))
    ratio = ratio_of_means(shortest, next_shortest)
    if ratio.mean is None or ratio.high is None or not certainly_below(ratio, 0.995):
        return ""
    return f", {best} with {100 * (1 - ratio.mean):.0f} % fewer tasks waiting than {second}"
