"""Words of the command line that were tracebacks, hangs, or were silently ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from packenv.cli.main import main
from packenv.cli.trace import print_description
from packenv.workloads.fitting.laws import fit_phases
from packenv.workloads.fitting.profile import describe, kept_sample
from packenv.workloads.fitting.statistics import dispersion
from packenv.workloads.traces import read_trace
from tests.workloads.traces import samples

MODULES = {
    "raises": "1 / 0",
    "wrong_syntax": "def (",
    "leaves": "import sys; sys.exit(0)",
    "raises_later": "def make():\n    raise OSError('no')",
}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("evaluate", "paper/fig4b", "--slots", "9" * 400), "too large"),
        (("evaluate", "paper/fig4b", "--slots", "9" * 5000), "too large"),
        (("evaluate", "paper/fig4b", "--slots", "1_0"), "not a whole number"),
        (("evaluate", "paper/fig4b", "--servers", "9" * 400), "too large"),
        (("evaluate", "paper/fig4b", "--intensity", "9" * 400), "too large"),
        (("evaluate", "paper/fig4b", "--seeds", "1000000"), "not in the range"),
        (("evaluate", "paper/fig4b", "--racks", "0"), "not in the range x>=1"),
        (("evaluate", "price/fig1", "--network", "5:1"), "has no column home"),
        (("evaluate", "price/fig1", "--racks", "2"), "has no column home"),
        (("evaluate", "paper/fig4b", "-p", ":x"), "not the name of a module"),
        (("evaluate", "paper/fig4b", "-p", ".a:b"), "not the name of a module"),
        (("evaluate", "paper/fig4b", "-p", "vqs:J=" + "9" * 400), "J must be int"),
        (("evaluate", "paper/fig4b", "-p", "vqs:J=1_0"), "J must be int"),
        (("evaluate", "paper/fig4b", "-p", "maxweight:types=100000"), "between 1 and 10,000"),
        (("evaluate", "paper/fig4b", "-p", "raises:make"), "ZeroDivisionError"),
        (("evaluate", "paper/fig4b", "-p", "wrong_syntax:make"), "SyntaxError"),
        (("evaluate", "paper/fig4b", "-p", "leaves:make"), "SystemExit"),
        (("evaluate", "paper/fig4b", "-p", "raises_later:make"), "OSError: no"),
        (("leaderboard", "-w", "paper/fig4b@0.5,slots=" + "9" * 400), "too large"),
    ],
)
def test_one_line(
    words: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SystemExit) as leaving:
        main([*words])
    assert leaving.value.code == 2
    assert says in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("name", ["a.csv", "a.swf"])
def test_one_task_is_described(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["arrival,size,service", "0,0.5,3"] if name == "a.csv" else samples.SWF[:6]
    path = samples.text(tmp_path / name, *lines)
    print_description(name, describe(read_trace(path)))
    assert "1 task," in capsys.readouterr().out


def test_submissions_as_regular_as_a_clock_have_a_profile(tmp_path: Path) -> None:
    rows = [f"{n},{n % 50 + 1},0.{n % 9 + 1}" for n in range(300)]
    trace = read_trace(samples.text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu", *rows))
    sample = kept_sample(trace)
    assert dispersion(sample.submit, 10) == 0
    assert fit_phases(sample).rates.tolist() == [1]


def test_counts_are_exact(tmp_path: Path) -> None:
    rows = [f"{arrival},0.5,{service}" for arrival, service in ((0, 4_950_011), (12_345_678, 1))]
    found = describe(read_trace(samples.text(tmp_path / "a.csv", "arrival,size,service", *rows)), "1")
    assert found["kept_tasks"]["duration_s"]["max"] == 4_950_011
    assert found["kept_tasks"]["span_s"] == 12_345_678
