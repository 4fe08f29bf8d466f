"""A table that is refused is told the whole command that works, not one option after the other."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from packenv.cli.main import main
from tests.workloads.traces.samples import text

TABLE = ["Submitted,Runtime,Cores,Mem GiB,Priority", *(f"{9 * n},{60 + n},{1 + n % 4},{4 + n % 60},7" for n in range(40))]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("plan FILE -g 'p95 wait <= 60s' -p fifo-ff", {"--columns", "--servers", "--resources"}),
        ("evaluate FILE -p fifo-ff --slots 50 --servers=2", {"--columns", "--servers", "--resources"}),
        (
            "evaluate FILE -p fifo-ff --slots 50 --columns submit_time_s=Submitted,duration_s=Runtime --resources max:Cores",
            {"--columns", "--servers", "--resources"},
        ),
    ],
)
def test_it_works(
    words: str, options: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text(tmp_path / "a b.csv", *TABLE)
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(words.replace("FILE", "'a b.csv'")))
    problem, _, command = capsys.readouterr().err.strip().rpartition("; this works: ")
    assert ended.value.code == 2 and problem.startswith("packenv: ") and "\n" not in command
    program, *mended = shlex.split(command)
    assert program == "packenv" and {word for word in mended if word in options} == options
    assert all(mended.count(option) == 1 for option in options)
    main(mended)


def test_where_none_is_known_the_advice_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", str(text(tmp_path / "a.csv", "when,long,cpu", "1,2,3"))])
    err = capsys.readouterr().err
    assert err.endswith("under names of their own with --columns submit_time_s=THEIRS\n") and "this works" not in err
