"""Candidates that try to cheat, in `cheats`: none has a better score than the reference, and the report says why.

Each has a process of its own, which takes a second to begin: the default tests run one of each kind.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from packenv_score import process
from packenv_score.score import score
from score_tests.suites import QUICK

FOLDER = Path(__file__).parent / "cheats"

KINDS: dict[str, dict[str, str | None]] = {
    "reads and writes files": {
        "overwrites_suite": "PermissionError",
        "reads_memory": "PermissionError",
        "reads_command": "PermissionError",
        "writes_score": "PermissionError",
        "poisons_code": "PermissionError",
        "follows_links": "PermissionError",
        "imports_the_simulator": "import",
    },
    "looks for what it is not shown": {
        "walks_frames": None,
        "walks_objects": None,
        "reads_services": None,
        "reads_ends": None,
        "reads_rows": None,
        "asks_for_the_table": "not shown",
        "asks_for_durations": "not shown",
        "asks_for_services": "service",
    },
    "changes the simulator": {
        "patches_numpy": "",
        "patches_packenv": "server 0 is above its capacity",
        "patches_answer": "starts a task that does not wait",
        "edits_room": "overfills a server",
    },
    "guesses the jobs": {"guesses_seeds": None, "reads_the_seed": None, "memorises": None},
    "other processes, threads and machines": {
        "forks": "PermissionError",
        "runs_a_program": "PermissionError",
        "leaves_threads": "can't start new thread",
        "kills_the_parent": "PermissionError",
        "calls_home": "PermissionError",
    },
    "time and memory": {
        "sleeps": "does not answer",
        "loops": "does not answer",
        "allocates": "MemoryError",
        "fills_the_disk": "",
    },
    "says what it has not done": {
        "prints_a_score": None,
        "writes_into_the_pipe": "its process writes",
        "exits": "its process ended with exit status 0",
        "raises_exit": "SystemExit",
    },
    "schedules that do not hold": {
        "overfills": "server 0 is above its capacity",
        "starts_twice": "only a waiting task can be placed",
        "never_starts_large": "never starts some tasks",
        "puts_off_large": None,
        "no_number": "nan",
    },
}
"""By kind, the cheats and a part of the fault that is reported; None: what it looks for is not there, so there is none."""

OF_THE_SYSTEM = ("PermissionError", "can't start new thread")
"""Faults by which the system stops a candidate: an old kernel, or another system, does not."""

CASES = [
    pytest.param(name, fault, marks=[pytest.mark.slow] if n else [], id=name)
    for cheats in KINDS.values()
    for n, (name, fault) in enumerate(cheats.items())
]


def test_all_cheats_are_here() -> None:
    names = [name for cheats in KINDS.values() for name in cheats]
    assert sorted(names) == sorted(path.stem for path in FOLDER.glob("*.py"))
    assert len(names) >= 20 and len(KINDS) >= 6


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_no_cheat_beats_the_reference(name: str, fault: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "does not answer":
        monkeypatch.setattr(process, "SLOT_SECONDS", 1.0)
    suite = tmp_path / "suite.json"
    suite.write_text(QUICK if name.endswith("_large") else QUICK.replace("15000", "3000"))
    result = score(FOLDER / f"{name}.py", suite=str(suite), time=30.0, processes=1, seed=7, stages=2)
    if result.unconfined and fault in OF_THE_SYSTEM:
        pytest.skip(f"not enforced here: {'; '.join(result.unconfined)}")
    assert result.value <= 0
    if fault is None:
        assert result.fault is None, result.fault
    else:
        assert result.fault is not None and fault.lower() in result.fault.lower(), result.fault
        assert result.artifacts[0] == f"fault: {result.fault}"
