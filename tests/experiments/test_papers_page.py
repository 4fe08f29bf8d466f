"""What docs/reference/papers.md says of the verdicts in figure 4 is what its runs show now, in `packenv reproduce`'s words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import packenv
from experiments.finding import Settings
from experiments.random_requirements.fig4 import SEEDS, SLOTS, verdicts_by_intensity
from experiments.reproduce import finding_of

PAGE = (Path(__file__).parents[2] / "docs/reference/papers.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["fig4b", pytest.param("fig4a", marks=pytest.mark.minutes)])
def test_verdicts_of_figure_4(figure: str) -> None:
    assert f"\n- {finding_of(figure, Settings()).notes[0]}\n" in PAGE


def test_where_a_policy_becomes_unstable() -> None:
    """VQS-BF at the last α of figure 4(b) where it is not, and at the first where it is: two seconds."""
    first = re.search(r"^- fig4b: .*unstable: [^;]*VQS-BF \(([\d.]+) to 0.99\)", PAGE, re.MULTILINE)
    assert first
    verdicts = []
    for alpha in (float(first[1]) - 0.01, float(first[1])):
        comparison = packenv.evaluate("paper/fig4b", ["vqs-bf"], intensity=round(alpha, 2), slots=SLOTS, seeds=SEEDS)
        verdicts.append(comparison.summaries[0]["verdict"])
    assert verdicts == ["undecided", "unstable"]


def test_verdicts_by_intensity() -> None:
    kinds = {"bf-js": "s" * 6, "vqs": "xxoxxx", "vqs-bf": "ssosox"}
    words = {"s": "stable", "x": "unstable", "o": "undecided"}
    rows = [
        {"intensity": n / 10, "policy": policy, "verdict": words[kind]}
        for policy, row in kinds.items()
        for n, kind in enumerate(row, 1)
    ]
    wanted = "unstable: VQS (0.1 to 0.2, 0.4 to 0.6), VQS-BF (0.6); undecided: VQS (0.3), VQS-BF (0.3, 0.5)"
    assert verdicts_by_intensity(rows) == wanted
    assert verdicts_by_intensity(rows[:6]) == "all stable"
