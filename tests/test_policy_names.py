"""What is said of policies without importing them is what they say themselves; and of a policy that was just registered."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from packenv.errors import InputError
from packenv.policy import find_policy
from packenv.policy_names import OF_FILES, check_text, described, registered


@pytest.mark.parametrize("name", [name for name in registered() if name not in OF_FILES])
def test_described_as_imported(name: str) -> None:
    kind = type(find_policy(name))
    about, parameters = described(name)
    assert about == (inspect.getdoc(kind) or "").split("\n")[0]
    assert parameters == {key: str(value) for key, value in kind._field_defaults.items()}


def test_a_policy_that_was_just_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="unknown policy 'mine'"):
        find_policy("mine")
    project = tmp_path / "pyproject.toml"
    project.write_text('[project.entry-points."packenv.policies"]\nmine = "mine:Mine"\n')
    for name_it in (find_policy, check_text):
        with pytest.raises(InputError) as refused:
            name_it("mine")
        assert str(refused.value) == f"policy 'mine' is in {project}, but not in what is installed: pip install -e {tmp_path}"
    project.write_text("[project\n")
    with pytest.raises(InputError, match="unknown policy 'mine'"):
        find_policy("mine")
