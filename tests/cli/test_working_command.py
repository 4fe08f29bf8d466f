"""A table that is refused is told the whole command that works, not one option after the other."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from packenv.cli.main import main
from tests.workloads.traces.samples import text

MILLISECONDS = [
    "JobName,t_submit_ms,t_run_ms,cores,ram_gib,queue,prio",
    *(f"j{n},{17 * 10**11 + n},{9 + n},4,8,a,7" for n in range(40)),
]
TIMES = "submit_time_s=t_submit_ms,duration_s=t_run_ms"
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
        ("evaluate ms.csv -p fifo-ff --slots 50", {"--columns", "--servers", "--time-unit"}),
        ("evaluate ms.csv -p fifo-ff --slots 50 --columns submit_time_s=t_submit_ms", {"--columns", "--servers", "--time-unit"}),
        (f"evaluate ms.csv -p fifo-ff --slots 50 --columns {TIMES},cpu=cores", {"--columns", "--servers", "--time-unit"}),
        (f"compare --seeds 2 2 4 ms.csv -p fifo-ff --time-unit ms --columns {TIMES},cpu=cores,memory=ram_gib", {"--resources"}),
    ],
)
def test_it_works(
    words: str, options: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text(tmp_path / "a b.csv", *TABLE)
    text(tmp_path / "ms.csv", *MILLISECONDS)
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(words.replace("FILE", "'a b.csv'")))
    problem, _, command = capsys.readouterr().err.strip().rpartition("; this works: ")
    assert ended.value.code == 2 and problem.startswith("packenv: ") and "\n" not in command
    program, *mended = shlex.split(command)
    assert program == "packenv" and {word for word in mended if word in options} == options
    assert all(mended.count(option) == 1 for option in options)
    assert _status(mended) in (0, 1 if mended[0] == "compare" else 0)


def _status(words: list[str]) -> int:
    try:
        main(words)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_sides_of_other_kinds_are_not_made_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor is an option told that does not go with them."""
    table = text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,memory", "0,9,4,8")
    assert _status(["compare", "2x2:2", "3x1:1", str(table), "-p", "fifo-ff"]) == 2
    err = capsys.readouterr().err
    assert "fits in no server" in err and "--servers" not in err


def test_where_none_is_known_the_advice_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", str(text(tmp_path / "a.csv", "when,long,cpu", "1,2,3"))])
    err = capsys.readouterr().err
    assert err.endswith("under names of their own with --columns submit_time_s=THEIRS,duration_s=THEIRS\n")
    assert "this works" not in err
