"""`packenv bound`: what it writes and checks, where it shows in the other commands, and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import packenv
from packenv.cli.main import main
from packenv.theory.queue_bound.queue_bound import SHOWN_AS

TIGHT = ("paper/fig3a", "--intensity", "0.9")


def bounded(folder: Path, *words: str) -> dict[str, Any]:
    main(["bound", *words, "--json", str(folder / "out.json")])
    return json.loads((folder / "out.json").read_text())


def test_record_table_and_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = str(tmp_path / "proof.json")
    found = bounded(tmp_path, *TIGHT, "--certificate", proof)
    workload = packenv.workload("paper/fig3a", intensity=0.9)
    assert found["mean_queue"] == packenv.queue_bound(workload).value == max(found["proved"].values())
    assert found["mean_delay"] == pytest.approx(found["mean_queue"] / workload.rate)
    out = capsys.readouterr().out
    assert "no policy's mean queue is below" in out and f"{found['mean_queue']:.6g}" in out
    assert bounded(tmp_path, *TIGHT, "--check", proof) == found
    assert f"{proof}: proved for paper/fig3a at intensity 0.9" in capsys.readouterr().out.replace("\n", "")


def test_nothing_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = bounded(tmp_path, "paper/fig4b", "--intensity", "0.1")
    assert (found["mean_queue"], found["proved"]) == (0.0, {})
    assert "paper/fig4b: nothing better than 0 is known" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("paper/fig3b",), "workload paper/fig3b: no bound on the queue is claimed for a service that is not geometric"),
        (("price/fig1",), "price/fig1: no bound on the queue is claimed for a table of jobs or a trace"),
        (("paper/fig4b", "--intensity", "1.2"), "the queue grows under every policy"),
        ((*TIGHT, "--check", "other.json"), "other.json: not a bound on the queue: "),
        ((*TIGHT, "--check", "wrong.json"), "certificate: the counted proof does not bound the mean queue by 100.0"),
        (
            ("paper/fig3a", "--intensity", "0.8", "--check", "proof.json"),
            "proof.json: not proved for paper/fig3a on 1 server at intensity 0.8; it is for ",
        ),
        ((*TIGHT, "--check", "numbers.json"), "numbers.json: not a bound on the queue: it has the numbers that --json writes"),
        ((*TIGHT, "--check", "ρ.json"), "not a bound on the queue: it has the proof of bounds on ρ*, which `packenv capacity"),
    ],
)
def test_bad_input(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.json").write_text("{}")
    main(["bound", *TIGHT, "--certificate", "proof.json", "--json", "numbers.json"])
    main(["capacity", "paper/fig3a", "--certificate", "ρ.json"])
    plain = json.loads(Path("proof.json").read_text())
    plain["proved"][0]["value"] = 100.0
    Path("wrong.json").write_text(json.dumps(plain))
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(["bound", *words])
    error = capsys.readouterr().err
    assert left.value.code == 2 and said in error and error.count("\n") == 1


def test_a_row_of_the_leaderboard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- leaderboard -->\n<!-- /leaderboard -->\n")
    where = ("-w", "paper/fig4b@0.95", "-w", "paper/fig4b@0.3", "-p", "bf-js")
    short = ("--seeds", "2", "--slots", "2000", "--processes", "1", "--no-judge")
    main(["leaderboard", *where, *short, "--markdown", str(page), "--json", str(tmp_path / "out.json")])
    (row,) = [line for line in page.read_text().splitlines() if line.startswith(f"| {SHOWN_AS}")]
    assert row == f"| {SHOWN_AS} | 16.6 | – |"
    assert SHOWN_AS in capsys.readouterr().out
    bounds = [one["queue_bound"] for one in json.loads((tmp_path / "out.json").read_text())]
    assert bounds[0] == pytest.approx(16.6, abs=0.05) and bounds[1] == 0


@pytest.mark.parametrize(("intensity", "shown"), [(0.95, True), (0.3, False)])
def test_a_line_in_the_picture(intensity: float, shown: bool) -> None:
    workload = packenv.workload("paper/fig4b", intensity=intensity)
    figure = packenv.simulate(workload, "bf-js", 5_000).plot()
    lines = {line.get_label(): line.get_ydata()[0] for line in figure.axes[0].get_lines()}
    assert (SHOWN_AS in lines) == shown
    if shown:
        assert lines[SHOWN_AS] == packenv.queue_bound(workload).value
