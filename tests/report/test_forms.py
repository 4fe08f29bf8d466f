"""A new form of all results is a line of `packenv.report.forms`: commands, `--format`, and `save` have it then."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import packenv
from packenv.content.showable import Showable
from packenv.errors import InputError
from packenv.report import forms
from packenv.report.tables import write_csv


@pytest.fixture(scope="module")
def comparison() -> packenv.Comparison:
    return packenv.evaluate("paper/fig4b", ["bf-js", "fifo-ff"], slots=2000, seeds=2)


def titles(shown: Showable) -> str:
    return "; ".join(table.title for table in shown.tables()) + "\n"


def test_a_new_form_is_one_line(comparison: packenv.Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(forms.ENDINGS, ".toy", lambda shown, path, _: path.write_text(titles(shown)))
    for shown, words in ((comparison, "delays in slots"), (packenv.max_workload(comparison.workload), "ρ* with a gap")):
        assert isinstance(shown, Showable)
        shown.save(tmp_path / "a.toy")
        assert words in (tmp_path / "a.toy").read_text()


def test_a_new_format_of_every_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import click

    from packenv.cli.outputs import Outputs, output_options

    monkeypatch.setitem(forms.FORMATS, "toy", titles)

    @click.command()
    @output_options("Write it")
    def command(outputs: Outputs) -> None:
        outputs.show(packenv.max_workload("paper/fig3a"))

    command.main(["--format", "toy"], standalone_mode=False)
    assert "ρ* with a gap" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize("ending", [".json", ".csv", ".md", ".html", ".png", ".pdf", ".svg"])
def test_every_form_of_a_comparison(ending: str, comparison: packenv.Comparison, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    comparison.save(path)
    content = path.read_bytes()
    beginning = {
        ".json": b"[",
        ".csv": b"policy,",
        ".md": b"delays in",
        ".html": b"<!DOCTYPE",
        ".png": b"\x89PNG",
        ".pdf": b"%PDF",
    }
    assert content.startswith(beginning.get(ending, b"<?xml"))
    if ending == ".pdf":
        assert b"/FontFile2" in content and b"/Type3" not in content  # TrueType
    if ending == ".svg":
        assert b">waiting tasks: mean, and middle half of seeds</text>" in content


def test_what_a_result_does_not_have(comparison: packenv.Comparison, tmp_path: Path) -> None:
    for name, problem in (("a.xlsx", "a result is one of .json, .csv"), ("a", "a result is one of")):
        with pytest.raises(InputError, match=problem):
            comparison.save(tmp_path / name)
    for name, problem in (("a.png", "no picture"), ("a.html", "no page")):
        with pytest.raises(InputError, match=problem):
            packenv.max_workload("paper/fig3a").save(tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_an_interval_that_is_missing_at_first_has_its_columns() -> None:
    stream = io.StringIO()
    write_csv([{"a": 1, "interval": None, "z": 5}, {"a": 2, "interval": [3, 4], "z": 6}], stream)
    assert stream.getvalue().splitlines() == ["a,interval.0,interval.1,z", "1,,,5", "2,3,4,6"]
