"""OpenEvolve: `evaluate` and its cascade stages, for the evaluation file.

    from packenv_score.adapters.openevolve import stages

    evaluate, evaluate_stage1, evaluate_stage2, evaluate_stage3 = stages(suite="one-resource")

Set `cascade_evaluation: true` and thresholds below 0, such as `cascade_thresholds: [-1, -30]`. `combined_score` is the score. It
is 0 for a legal candidate without a measurement, and -100 for a candidate with a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packenv_score.score import score


def stages(**options: Any) -> tuple[Callable[[str], Any], ...]:
    """Return `evaluate` and three stages with options of `packenv_score.score`."""

    def until(stage: int) -> Callable[[str], Any]:
        def evaluate(program_path: str) -> Any:
            result = score(program_path, stages=stage, **options)
            metrics = {"combined_score": result.value, "correct": float(result.correct), "nodes": float(result.nodes or 0)}
            artifacts = {"feedback": "\n".join(result.artifacts)} if result.artifacts else {}
            try:
                from openevolve.evaluation_result import EvaluationResult
            except ImportError:
                return metrics
            return EvaluationResult(metrics=metrics, artifacts=artifacts)

        return evaluate

    return until(3), until(1), until(2), until(3)
