"""`packenv capacity`: what it shows and writes, and what it says to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import packenv
from packenv.cli.main import main
from packenv.theory.certificate_files import load_certificate
from packenv.workloads.laws import Fixed, Uniform

KEYS = {
    "workload",
    "left_out_share",
    "left_out_work",
    "servers",
    "lower",
    "upper",
    "gap",
    "reached",
    "area_bound",
    "lower_rate",
    "upper_rate",
    "seconds",
}


def capacity(*words: object) -> None:
    main(["capacity", *map(str, words)])


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    with pytest.raises(SystemExit) as ended:
        capacity(*words)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    capacity("paper/fig3a", "--json", out)
    record = json.loads(out.read_text())
    assert set(record) == {*KEYS, "vqs_bound", "halving_bound"}
    assert record["lower"] == pytest.approx(2) and record["upper"] == pytest.approx(2) and record["reached"]
    assert record["vqs_bound"] == pytest.approx(4 / 3) and record["area_bound"] == pytest.approx(2, rel=1e-6)
    assert record["lower_rate"] == pytest.approx(0.02) and record["gap"] <= 1e-6
    bracket = packenv.max_workload("paper/fig3a")
    assert bracket.to_dict() | {"seconds": 0} == record | {"seconds": 0}
    assert bracket.to_frame("pandas")["rate"].tolist()[0] == record["lower_rate"]
    assert repr(bracket) == "2 <= ρ* of paper/fig3a <= 2 tasks in service, a gap of 0.00%"
    assert "<td style='text-align:left'>area bound</td>" in bracket._repr_html_()
    shown = capsys.readouterr().out
    assert shown.strip() == str(bracket.table()).strip()
    for part in ("ρ* at least", "ρ* at most", "area bound", "VQS at least (J = 2)", "0.667", "0.02"):
        assert part in shown


def test_unequal_servers(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    capacity("--sizes", "constant:0.5", "--servers", "3x1,2x0.5", "--json", out)
    record = json.loads(out.read_text())
    assert set(record) == KEYS and record["lower"] == pytest.approx(8)


def test_certificate_and_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = tmp_path / "proof.json"
    capacity("--sizes", "uniform:0.1:0.9", "--servers", 2, "--gap", 0.01, "--certificate", proof)
    load_certificate(proof).verify(packenv.Workload(sizes=Uniform(0.1, 0.9), service=Fixed(1), servers=2, rate=0.1))
    capacity("--sizes", "uniform:0.1:0.9", "--servers", 2, "--check", proof)
    assert "proved for uniform:0.1:0.9" in capsys.readouterr().out
    on_one = refused(capsys, "--sizes", "uniform:0.1:0.9", "--servers", 1, "--check", proof)
    assert "not proved for uniform:0.1:0.9 on 1 server; it is for uniform:0.1:0.9 on 2 servers (certificate: " in on_one
    assert "proof.json, of uniform:0.1:0.9 on 2 servers: name the workload of this proof" in refused(capsys, "--check", proof)
    plain = json.loads(proof.read_text())
    proof.write_text(json.dumps(plain | {"lower": 3.9999}))
    changed = refused(capsys, "--sizes", "uniform:0.1:0.9", "--servers", 2, "--check", proof)
    assert "proof.json: its proof for uniform:0.1:0.9 on 2 servers is wrong: certificate: the config" in changed
    proof.write_text(json.dumps({key: value for key, value in plain.items() if key != "proved_for"}))  # of an earlier version
    capacity("--sizes", "uniform:0.1:0.9", "--servers", 2, "--check", proof)
    on_one = refused(capsys, "--sizes", "uniform:0.1:0.9", "--servers", 1, "--check", proof)
    assert "on 1 server; it may be for another workload or other servers (certificate: " in on_one
    proof.write_text("no")
    assert "not a certificate" in refused(capsys, "paper/fig3a", "--check", proof)
    proof.write_text('{"proved": [], "seconds": 1.0}')
    said = refused(capsys, "paper/fig3a", "--check", proof)
    assert "not a certificate: it has the proof of a bound on the queue, which `packenv bound --check` reads" in said


def test_a_gap_out_of_reach(capsys: pytest.CaptureFixture[str]) -> None:
    capacity("--sizes", "uniform:0.2:0.5", "--gap", "1e-7", "--seconds", "0.3")
    assert "no gap of 1e-07 in" in capsys.readouterr().out


def test_several_resources(tmp_path: Path) -> None:
    trace, out, proof = tmp_path / "trace.csv", tmp_path / "out.json", tmp_path / "proof.json"
    trace.write_text("arrival,cpu,memory,service\n0,0.6,0.2,3\n0,0.2,0.6,1\n1,0.2,0.6,2\n")
    words = (trace, "--servers", "2x1:1", "--resources", "all")
    capacity(*words, "--json", out, "--certificate", proof)
    record = json.loads(out.read_text())
    assert set(record) == KEYS and record["lower"] == pytest.approx(4) and record["area_bound"] == pytest.approx(5)
    capacity(*words, "--check", proof)
    capacity(trace, "--servers", "2", "--json", out)
    assert json.loads(out.read_text())["lower"] == pytest.approx(2)  # each is as large as its largest demand


def test_a_trace(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace.csv", tmp_path / "out.json"
    trace.write_text("arrival,size,service\n0,0.6,3\n0,0.4,1\n1,0.4,2\n")
    capacity(trace, "--servers", 2, "--json", out)
    assert json.loads(out.read_text())["lower"] == pytest.approx(4)


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, problem in (
        (["paper/fig3a", "--gap", "0"], "gap must lie between 0 and 1"),
        (["paper/fig3a", "--gap", "1"], "gap must lie between 0 and 1"),
        (["paper/fig3a", "--seconds", "0"], "Invalid value for '--seconds': must be above 0, not 0"),
        (["paper/fig3a", "--json", tmp_path / "no" / "out.json"], "folder does not exist"),
        (["paper/fig3a", "--certificate", tmp_path / "no" / "out.json"], "folder does not exist"),
        (["--sizes", "discrete:0.4@0.5,0.6@0.4"], "weights sum to 0.9"),
        (["--sizes", "uniform:0.5:1.5"], "fits in no server"),
        (["paper/fig3x"], "unknown workload"),
        ([], "name a workload"),
    ):
        assert problem in refused(capsys, *words)
