"""Grade machine-written policies: a score with an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.extend import lazy_names

if TYPE_CHECKING:
    from packenv_score.options import ScoreOptions as ScoreOptions
    from packenv_score.result import Score as Score
    from packenv_score.result import Scores as Scores
    from packenv_score.score import score as score

__all__, __getattr__, __dir__ = lazy_names(
    __name__, {".options": ["ScoreOptions"], ".result": ["Score", "Scores"], ".score": ["score"]}
)
