"""A short campaign: some thousand damaged files, and the parts of it that find something where there is something."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from packenv.errors import InputError
from tests.campaign.corpus import Kind
from tests.campaign.failures import Failures
from tests.campaign.mutations import CANARY, draw_edits, mutate, smallest
from tests.campaign.processes import problems, run
from tests.campaign.readers import attempt, watch


@pytest.mark.slow
def test_damaged_files(tmp_path: Path) -> None:
    counts = watch(40, 2, 0, tmp_path)
    assert not [path.read_text() for path in (tmp_path / "files").glob("*.txt")]
    assert counts["refused"] > 100
    assert counts["read"] > 10


def test_a_planted_bug_is_found(tmp_path: Path) -> None:
    """A reader that fails for one byte: it is found, with the one edit that it needs."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"1,2,3\n4,5,6\n")

    def read(file: Path) -> None:
        data = file.read_bytes()
        if b"NaN" in data:
            raise KeyError("NaN")
        if data != b"1,2,3\n4,5,6\n":
            raise InputError("refused")

    kind = Kind("a.txt", path, read, "packenv read {}")
    for n in range(3000):
        edits = draw_edits(random.Random(n))
        path.write_bytes(mutate(b"1,2,3\n4,5,6\n", edits, False))
        if attempt(kind):
            break
    else:
        pytest.fail("never found")

    def fails(fewer: list[object]) -> bool:
        path.write_bytes(mutate(b"1,2,3\n4,5,6\n", fewer, False))  # type: ignore[arg-type]
        return bool(attempt(kind))

    assert len(smallest(edits, fails)) == 1  # type: ignore[arg-type]
    failures = Failures(tmp_path / "failures")
    assert failures.add("KeyError", kind.command, "", path)
    assert not failures.add("KeyError", kind.command, "", path)
    assert str(tmp_path / "failures" / "000-a.txt") in (tmp_path / "failures" / "000.txt").read_text()


def test_what_is_executed_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kind = Kind("a", tmp_path / "a", lambda file: Path(CANARY).touch(), "")
    assert attempt(kind) == "a: executed"


@pytest.mark.slow
def test_a_bad_end_is_noticed(tmp_path: Path) -> None:
    broken = "import atexit\nimport packenv.policies as p\natexit.register(lambda: 1 / 0)\nclass Bad(p.BestFit): pass\n"
    (tmp_path / "bad.py").write_text(broken)
    ended = run(["evaluate", "paper/fig4b", "--slots", "9", "--processes", "1", "-p", "bad:Bad"], tmp_path, 60)
    assert any("traceback" in problem for problem in problems(ended))
    assert not problems(run(["evaluate", "nothing"], tmp_path, 60))
