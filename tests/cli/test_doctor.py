"""`packenv doctor` says what is there, what is missing, and fails if something must be repaired."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numba
import pytest
from click.testing import CliRunner

import packenv
from packenv.cli import doctor
from packenv.compiled import cache

ROOT = Path(__file__).resolve().parents[2]


def shown(*words: str) -> Any:
    return CliRunner().invoke(doctor.doctor, [*words])


def test_what_is_there(tmp_path: Path) -> None:
    result = shown("--json", str(tmp_path / "found.json"))
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["packenv"] == packenv.__version__ and found["required"]["numba"] == numba.__version__
    assert found["cache"]["folder"] == str(cache.base()) and found["cache"]["writable"] and found["cache"]["locks"]
    assert 0 < found["compiler"]["seconds"] < 60
    assert found["cores"]["usable"] >= 1 and found["memory"]["machine"] > 2**28
    assert found["problems"] == []
    for words in ("packenv", "cache", "compiler", "cores", "memory"):
        assert any(line.startswith(words) for line in result.output.splitlines())


def test_missing_extras_and_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    there = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "ortools" else "1.0" if name == "torch" else there(name))
    found = doctor.installation()
    missing = {one["extra"]: one for one in found["missing"]}
    assert missing["sat"]["needs"][0].startswith("ortools>=")
    assert missing["sat"]["command"].startswith("pip install 'ortools>=")
    assert "torch>=2.4" in missing["agents"]["needs"] and "dev" not in missing  # there, and too old
    assert any("pip install 'ortools>=" in line for _, line in doctor.lines_of(found))


TESTED = json.loads((Path(doctor.__file__).parent / "tested.json").read_text())


def test_pins_are_tested() -> None:
    """A new pin takes a new run: `make test-pythons`."""
    pins = [line.partition("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if ";" not in line]
    versions = {name.lower().replace("_", "-"): version for name, _, version in pins}
    assert all(versions[name] in TESTED[name] for name in TESTED.keys() & versions.keys()) and "numpy" in TESTED


def test_what_was_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    here = doctor._version
    monkeypatch.setattr(doctor.platform, "python_version", lambda: "3.99.1")
    monkeypatch.setattr(doctor, "_version", lambda name: "99.1" if name == "numpy" else here(name))
    found = doctor.untested()
    assert found["numpy"] == {"version": "99.1", "tested": TESTED["numpy"]} and found["python"]["version"] == "3.99"
    (line,) = [text for heading, text in doctor.lines_of(doctor.installation()) if heading == "untested"]
    assert f"numpy 99.1 ({', '.join(TESTED['numpy'])})" in line
    everything = {name: versions[0] for name, versions in TESTED.items()}
    monkeypatch.setattr(doctor.platform, "python_version", lambda: everything["python"] + ".1")
    monkeypatch.setattr(doctor, "_version", lambda name: everything.get(name, "1.0"))
    assert doctor.untested() == {} and ("tested", "all of these versions") in doctor.lines_of(doctor.installation())


def test_what_must_be_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    there = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: "1.26" if name == "numpy" else there(name))
    monkeypatch.setattr(cache, "compiler_seconds", lambda: 3.0)
    locked = cache.cache_health()._replace(writable=False)
    monkeypatch.setattr(cache, "cache_health", lambda: locked)
    result = shown()
    assert result.exit_code == 1
    problems = [line for line in result.output.splitlines() if line.startswith("problem")]
    assert len(problems) == 3
    assert "set PACKENV_CACHE" in problems[0] and "3.0 s" in problems[1] and "numpy>=2.0 is needed, not 1.26" in problems[2]


def test_the_cache_that_is_used_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    monkeypatch.setenv("PACKENV_CACHE", str(own))
    cache.base.cache_clear()
    try:
        assert cache.cache_health()._replace(owner="") == (str(own), "PACKENV_CACHE", "", 0.0, 0, True, True)
        (own / "module").mkdir()
        (own / "module" / "f.1.nbc").write_bytes(b"x" * 2_000_000)
        assert cache.cache_health()[3:5] == (2.0, 1)
    finally:
        cache.base.cache_clear()
