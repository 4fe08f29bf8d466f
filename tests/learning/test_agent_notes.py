"""What is said once of an agent for whole jobs: features that a table cannot give, groups that it did not see, other features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packenv.cli.main import main
from packenv.envs.job_fill.features import ALIGNMENT, ASSUMED, CLUSTER_FEATURES, GROUP_FEATURES, WAITS, assumptions, columns_of
from packenv.jobs import Jobs
from packenv.learning.agents.saved import save_agent

FIVE_JOBS = "\n".join(["arrival,size,service,job", *(f"0,0.4,1,{n}" for n in range(5))]) + "\n"
"""On one server two at a time: five, four, three, two and one group fit at its five decisions."""


def agent(folder: Path, columns: list[str] | None = None, features: int = len(GROUP_FEATURES), window: int = 2) -> str:
    """A weighted sum that prefers what is aligned with the free room, and never passes a server."""
    of_action = np.zeros(features, np.float32)
    of_action[ALIGNMENT], of_action[WAITS] = 1, -100
    weights = {"actor.of_action": of_action, "actor.of_context": np.zeros(len(CLUSTER_FEATURES), np.float32)}
    options = {"observation": "actions", "J": 4, "types": None, "window": window}
    environment: dict[str, Any] = {"kind": "JobFill", "resources": 1, "options": options}
    environment |= {} if columns is None else {"columns": columns}
    about = {
        "environment": environment,
        "network": {"kind": "sum", "hidden": 0, "context": len(CLUSTER_FEATURES)},
        "guard": None,
        "workload": {"name": "other"},
    }
    save_agent(folder / "mine", about, weights)
    return f"agent:{folder / 'mine'}"


def evaluated(folder: Path, policy: str, capsys: pytest.CaptureFixture[str]) -> str:
    (folder / "five.csv").write_text(FIVE_JOBS)
    main(["evaluate", str(folder / "five.csv"), "--servers", "1", "-p", policy, "--processes", "1"])
    return " ".join(capsys.readouterr().out.split())


def test_assumptions() -> None:
    plain = Jobs.of([0], [0.5], [1])
    assert columns_of(plain) == [] and (assumptions(plain) or "").startswith(
        "no column job, phase, estimate, value, tenant, home: "
    )
    valued = Jobs.of([0], [0.5], [1], job=np.array([3]), value=np.array([2.0]))
    assert columns_of(valued) == ["job", "value"]
    assert assumptions(valued, ("job", "home")) == f"no column home: {ASSUMED['home']}"
    assert assumptions(valued, ("job", "value")) is None


def test_groups_that_are_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And none, where as many are offered as ever fit."""
    out = evaluated(tmp_path, agent(tmp_path, []), capsys)
    assert out.count("more than 2 groups of tasks fitted at 60.0% of 5 decisions; at most 3 were hidden") == 1
    assert "no column" not in out
    assert "were hidden" not in evaluated(tmp_path, agent(tmp_path, [], window=5), capsys)


def test_columns_that_a_table_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that the agent learned with, or all if it does not say and learned elsewhere."""
    learned = evaluated(tmp_path, agent(tmp_path, ["job", "home"], window=5), capsys)
    assert (
        f"five.csv has no column home: {ASSUMED['home']}" in learned
        and "value" not in learned.split("home:")[1].split("policy")[0]
    )
    unknown = evaluated(tmp_path, agent(tmp_path, window=5), capsys)
    assert unknown.count("five.csv has no column phase, estimate, value, tenant, home: ") == 1


def test_another_set_of_features(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        evaluated(tmp_path, agent(tmp_path, features=len(GROUP_FEATURES) + 3), capsys)
    assert left.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]  # those before it say that something is compiled
    n = len(GROUP_FEATURES)
    found = f"'actor.of_action' weighs {n + 3} features, the environment of this version has {n}"
    assert f"an agent for another set of features: {found}" in said
    assert said.startswith(f"packenv: agent:{tmp_path / 'mine'}: ")


def test_training_says_what_is_assumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(training: object) -> None:
        raise SystemExit(7)  # before anything is trained

    monkeypatch.setattr("packenv.learning.training.train.Training.run", stop)
    with pytest.raises(SystemExit) as left:
        main(["train", "analytics", "--env", "JobFill", "--network", "sum", "--logdir", str(tmp_path)])
    assert left.value.code == 7
    assert capsys.readouterr().err.count("analytics has no column value, tenant, home: every job counts the same (value); ") == 1
