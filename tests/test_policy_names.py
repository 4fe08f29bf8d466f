"""What is said of policies without importing them is what they say themselves; and of a policy that was just registered."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from packenv.catalogue import OF_FILES
from packenv.errors import InputError
from packenv.policy import find_policy
from packenv.policy_names import check_text, described, registered


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


class Annotated:
    """A policy of someone else whose parameters are arguments of `__init__`, not fields."""

    def __init__(self, depth: int = 1_000, blocking: bool = False, share=0.5, kind="a") -> None:  # type: ignore[no-untyped-def]
        self.parameters = depth, blocking, share, kind

    def schedule(self, cluster: Any, state: Any) -> None: ...


def test_parameters_of_an_init_are_of_the_types_of_its_arguments() -> None:
    """By annotation, here a text, as annotations are postponed, or else by default: "false" is no true text."""
    name = f"{__name__}:Annotated"
    assert find_policy(name).parameters == (1_000, False, 0.5, "a")
    assert find_policy(f"{name}:blocking=false,depth=1,share=1,kind=7").parameters == (1, False, 1.0, "7")
    assert find_policy(f"{name}:blocking").parameters[1] is True
    refused = {"depth=x": "depth must be int", "blocking=7": "blocking must be bool", "deep=1": "did you mean depth"}
    for wrong, problem in refused.items():
        with pytest.raises(InputError, match=problem):
            find_policy(f"{name}:{wrong}")
