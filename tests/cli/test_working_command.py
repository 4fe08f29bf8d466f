"""A table that is refused is told the whole command that works, not one option after the other."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import packenv
from packenv.cli.main import main
from packenv.workloads.laws import Joint, LogNormal
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
        ("evaluate users.csv -p fifo-ff --slots 50 --servers 1 --by user", {"--by", "--columns", "--resources"}),
        ("evaluate ms.csv -p fifo-ff --slots 50 --by queue", {"--by", "--columns", "--servers", "--time-unit"}),
        (f"compare --seeds 2 2 4 ms.csv -p fifo-ff --time-unit ms --columns {TIMES},cpu=cores,memory=ram_gib", {"--resources"}),
    ],
)
def test_it_works(
    words: str, options: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text(tmp_path / "a b.csv", *TABLE)
    text(tmp_path / "ms.csv", *MILLISECONDS)
    text(tmp_path / "users.csv", "submit_time_s;duration_s;cpu;user", "0;9,5;0,5;müller", "1;9;0,7;özil")
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(words.replace("FILE", "'a b.csv'")))
    problem, _, command = capsys.readouterr().err.strip().partition(". This works:\n")
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
    assert err.endswith("or under other names with --columns submit_time_s=NAME,duration_s=NAME\n")
    assert "This works" not in err


def test_a_leaderboard_s_tables_are_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no --columns: `packenv trace convert` has. Servers are written behind the @."""
    monkeypatch.chdir(tmp_path)
    text(tmp_path / "a b.csv", *TABLE)
    assert _status(["leaderboard", "-w", "a b.csv@speedup=2,servers=2", "-p", "fifo-ff", "--no-judge", "--matrix"]) == 2
    problem, _, commands = capsys.readouterr().err.strip().partition(". This works:\n")
    assert problem.startswith("packenv: a b.csv@speedup=2,servers=2: a b.csv: columns") and "--columns" not in problem
    for command in commands.splitlines():
        assert _status(shlex.split(command)[1:]) == 0
    assert "a b, 2 servers at β = 2" in capsys.readouterr().out.replace(".parquet", "")

    assert _status(["leaderboard", "-w", str(text(tmp_path / "a.csv", "when,long,cpu", "1,2,3"))]) == 2
    err = capsys.readouterr().err
    assert f"with packenv trace convert {tmp_path / 'a.csv'} a.parquet --columns submit_time_s=NAME" in err


def test_a_bound_on_the_queue_is_not_of_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which is said before anything of their columns, with what there is for a table."""
    monkeypatch.chdir(tmp_path)
    text(tmp_path / "a b.csv", *TABLE)
    for words in (["bound", "a b.csv", "--servers", "2x8:64"], ["optimal-policy", "a b.csv"], ["bound", "price/fig1"]):
        assert _status(words) == 2
        problem, _, command = (
            capsys.readouterr().err.strip().partition("; for a table, this command bounds the mean completion time: ")
        )
        assert "columns" not in problem and "for random" in problem
        assert _status([*shlex.split(command)[1:], "-p", "fifo-ff", "--limit", "5"]) == 0
        assert "no mean completion time is below" in capsys.readouterr().out


def test_a_service_without_a_bound_is_said_before_its_resources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laws = {"sizes": Joint([[2.0, 9.0], [3.0, 4.0]], [0.5, 0.5]), "service": LogNormal(100, 50)}
    packenv.Workload(servers=[[32.0, 128.0]], rate=0.01, **laws).save(tmp_path / "like.json")
    assert _status(["bound", str(tmp_path / "like.json")]) == 2
    err = capsys.readouterr().err
    assert "no bound on the queue is claimed for a service that is not geometric" in err and "--resources" not in err
