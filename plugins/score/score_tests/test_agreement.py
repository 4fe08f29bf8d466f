"""Two scores of the same candidate agree within their intervals, and scores order policies as their mean queues do. Minutes."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import packenv
from packenv_score.score import score
from score_tests.suites import QUICK

pytestmark = pytest.mark.minutes


@pytest.mark.parametrize("candidate", ["bf-j", "agent:fig4b"])
def test_two_scores_with_other_seeds_agree(candidate: str, tmp_path: Path) -> None:
    """Of 100 pairs at least 93 differ by no more than their two half-widths together allow."""
    (tmp_path / "quick.json").write_text(QUICK)
    agreeing = 0
    for pair in range(100):
        first, second = (
            score(candidate, suite=str(tmp_path / "quick.json"), processes=1, stages=2, seed=2 * pair + n) for n in (0, 1)
        )
        assert first.half is not None and second.half is not None
        agreeing += abs(first.value - second.value) <= (first.half**2 + second.half**2) ** 0.5
    assert agreeing >= 93


def test_scores_order_policies_as_their_mean_queues_do(tmp_path: Path) -> None:
    """Wherever both a comparison on other seeds and the scores decide, they decide alike.

    A policy with a fault (it grows, or starves some tasks) has no mean queue to be ordered by.
    """
    policies = ["bf-j", "bf-js", "bf-s", "fifo-ff", "vqs", "vqs-bf", "reserve", "quickswap", "agent:fig4b", "easy"]
    (tmp_path / "quick.json").write_text(QUICK.replace("0.9,", "0.75,").replace("15000", "40000"))
    graded = score(policies, suite=str(tmp_path / "quick.json"), stages=2, seed=5)
    scores = {each.candidate: each.score for each in graded if each.fault is None}
    compared = packenv.evaluate(packenv.workload("paper/fig4b", intensity=0.75), policies, slots=40_000, seeds=12, seed=100)
    decided = 0
    for a, b in itertools.combinations(scores, 2):
        ratio, mine, its = compared.ratio(a, b), scores[a], scores[b]
        if ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high:
            continue
        if mine.low is None or mine.high is None or its.low is None or its.high is None:
            continue
        if mine.low > its.high or its.low > mine.high:
            decided += 1
            assert (ratio.high < 1) == (mine.low > its.high), (a, b)
    assert decided >= 10
