"""Submissions: what comes out stands in the table, what does not is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packenv_score.submissions import main
from score_tests.suites import QUICK

BEST_FIT = "def priority(task, server, cluster):\n    return task.size - server.room\n"


@pytest.mark.parametrize(
    ("claimed", "program", "status", "said"),
    [
        (0.0, BEST_FIT, 0, "| mine | somebody | 0 | 2 |  |"),
        (35.0, BEST_FIT, 1, "refused: 35 ± 1 was submitted, 0 comes out"),
        (35.0, "x = 1\n", 1, "refused: it has neither a function"),
    ],
)
def test_numbers_that_do_not_come_out_are_refused(
    claimed: float, program: str, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "quick.json").write_text(QUICK)
    (tmp_path / "rule.py").write_text(program)
    plain = {
        "candidate": "rule.py",
        "suite": str(tmp_path / "suite" / "quick.json"),
        "score": claimed,
        "half": 1.0,
        "by": "somebody",
    }
    (tmp_path / "mine.json").write_text(json.dumps(plain))
    assert main([str(tmp_path), "--time", "1"]) == status
    assert said in capsys.readouterr().out.replace(plain["suite"], "quick").replace("35.0", "35").replace("1.0", "1")


@pytest.mark.parametrize(
    ("plain", "problem"),
    [
        ({"candidate": "rule.py", "suite": "one-resource", "score": 1, "half": 1}, "by is a text"),
        ({"candidate": "../rule", "suite": "one-resource", "score": 1, "half": 1, "by": "x"}, "candidate must be a .py file"),
        ({"candidate": "rule.py", "suite": "one-resource", "score": "1", "half": 1, "by": "x"}, "score and half are numbers"),
    ],
)
def test_a_submission_that_cannot_be_is_refused_in_a_line(
    plain: object, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rule.py").write_text(BEST_FIT)
    (tmp_path / "mine.json").write_text(json.dumps(plain))
    assert main([str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1
