"""The adapters against what their frameworks document: names of functions, files and keys."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from packenv_score.adapters import frontier_cs, harbor, openevolve, shinka, skydiscover
from score_tests.suites import QUICK

RULE = "def priority(task, server, cluster):\n    return {}\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """A suite, a candidate that is best fit, and one with a fault."""
    written = {"suite.json": QUICK, "best_fit.py": RULE.format("task.size - server.room"), "none.py": "x = 1\n"}
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    return {name.partition(".")[0]: str(tmp_path / name) for name in written}


def quick(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    """The adapter's scores, in this process and of a few runs."""
    whole = module.score
    monkeypatch.setattr(
        module, "score", lambda *args, **options: whole(*args, **{"stages": 2, "processes": 1, "seed": 1} | options)
    )


def test_openevolve(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch, openevolve)
    evaluate, first, second, third = openevolve.stages(suite=files["suite"])
    for stage, program, wanted in ((first, "best_fit", 0.0), (second, "best_fit", 0.0), (first, "none", -100.0)):
        result = stage(files[program])
        metrics = getattr(result, "metrics", result)
        assert metrics["combined_score"] == wanted and all(isinstance(value, float | int) for value in metrics.values())
        assert metrics["correct"] == float(program != "none")
    assert callable(evaluate) and callable(third)


def test_openevolve_itself_takes_what_the_adapter_returns(files: dict[str, str]) -> None:
    """Where it is installed: its evaluator runs the cascade on the file that the page shows."""
    pytest.importorskip("openevolve")
    import asyncio

    from openevolve.config import EvaluatorConfig
    from openevolve.evaluator import Evaluator

    folder = Path(files["suite"]).parent
    evaluation = (
        "from packenv_score.adapters.openevolve import stages",
        f"_, evaluate_stage1, evaluate_stage2, _ = stages(suite={files['suite']!r}, processes=1, seed=1)",
        "evaluate = evaluate_stage2",
    )
    (folder / "evaluator.py").write_text("\n".join(evaluation))
    config = EvaluatorConfig(cascade_evaluation=True, cascade_thresholds=[-1.0], timeout=300)
    evaluator = Evaluator(config, str(folder / "evaluator.py"))
    metrics = asyncio.run(evaluator.evaluate_program(Path(files["best_fit"]).read_text(), "one"))
    assert metrics["combined_score"] == 0 and metrics["correct"] == 1
    metrics = asyncio.run(evaluator.evaluate_program(Path(files["none"]).read_text(), "two"))
    assert metrics["combined_score"] == -100
    artifacts = evaluator.get_pending_artifacts("two")
    assert artifacts is not None and "neither a function" in str(artifacts["feedback"])


@pytest.mark.parametrize(("program", "score", "correct"), [("best_fit", 0.0, True), ("none", -100.0, False)])
def test_shinka(program: str, score: float, correct: bool, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch, shinka)
    folder = Path(files["suite"]).parent / "results"
    words = ["evaluate.py", "--program_path", files[program], "--results_dir", str(folder), "--suite", files["suite"]]
    monkeypatch.setattr(sys, "argv", words)
    shinka.main()
    metrics, verdict = (json.loads((folder / name).read_text()) for name in ("metrics.json", "correct.json"))
    assert metrics["combined_score"] == score and {"public", "private", "text_feedback"} <= set(metrics)
    assert verdict["correct"] is correct and (verdict["error"] is None) is correct


@pytest.mark.parametrize(("program", "status"), [("best_fit", "success"), ("none", "error")])
def test_skydiscover(
    program: str, status: str, files: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick(monkeypatch, skydiscover)
    skydiscover.main(files[program], "train", files["suite"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["status"] == status and isinstance(printed["combined_score"], float | int)
    assert all(isinstance(value, float | int) for value in printed["metrics"].values())
    assert all(isinstance(value, str) for value in printed["artifacts"].values())


def test_harbor(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch, harbor)
    folder = Path(files["suite"]).parent / "logs" / "verifier"
    for program in ("best_fit", "none"):
        harbor.main(files[program], files["suite"], str(folder))
        assert float((folder / "reward.txt").read_text()) == 0
        assert json.loads((folder / "reward.json").read_text()) == {"reward": 0.0}


def test_frontier_cs(files: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    quick(monkeypatch, frontier_cs)
    frontier_cs.main(files["best_fit"], files["suite"])
    assert float(capsys.readouterr().out.splitlines()[-1]) == 0
