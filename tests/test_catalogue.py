"""The catalogue of policies says of each what it does: where it runs, and what it may know."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import packenv
from packenv import policies, simulation
from packenv.catalogue import CATALOGUE, ORDER_SOURCES, SOURCES
from packenv.errors import InputError
from packenv.policy import find_policy, needs_of
from tests.test_site import site_module

TABLE: dict[str, Any] = {"arrival": [0, 0, 1, 2, 4, 5], "service": [3, 2, 4, 3, 2, 1], "value": [1, 1, 2, 2, 3, 1]}
SIZES = {"size": [0.5, 0.3, 0.2, 0.6, 0.4, 0.1]}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "several": ({"cpu": SIZES["size"], "memory": [0.1, 0.3, 0.5, 0.2, 0.1, 0.4]}, {"servers": "2x1:1", "resources": "all"}),
    "devices": (
        {"cpu": [1, 2, 1, 2, 1, 1], "gpu": [0.5, 1, 0.25, 0.5, 1, 0.5], "gpu_kinds": ["A"] * 6},
        {"servers": "2x8:2@A", "resources": "all"},
    ),
    "gangs": (SIZES | {"job": [0, 0, 1, 1, 2, 3], "gang": [0, 0, 1, 2, 3, 4]}, {"servers": "2"}),
}
"""A table of each kind of work that some policies refuse."""


class Accepted(Exception):
    """A run would begin."""


@pytest.fixture
def needs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the policy of the last run needed. Runs end before anything is compiled."""
    seen: dict[str, Any] = {}

    def begin(*given: object, **named: object) -> None:
        raise Accepted

    def kept(policy: Any, setting: Any) -> Any:
        seen["last"] = needs_of(policy, setting)
        return seen["last"]

    monkeypatch.setattr(simulation, "needs_of", kept)
    monkeypatch.setattr(simulation, "build", begin)
    return seen


@pytest.mark.parametrize("name", CATALOGUE)
def test_what_a_policy_can(name: str, needs: dict[str, Any]) -> None:
    can = CATALOGUE[name].can.split()
    for kind, (columns, options) in KINDS.items():
        workload = packenv.workload(pa.table(TABLE | columns), **options)
        if kind in ("devices", "gangs") and kind not in can:
            with pytest.raises(InputError):
                packenv.simulate(workload, name, slots=3)
        elif kind != "devices" and CATALOGUE[name].source == "fgd":  # they choose among devices
            continue
        else:
            with pytest.raises(Accepted):
                packenv.simulate(workload, name, slots=3)
            if kind == "several" and name != "sat":  # it starts tasks where its schedule says
                need = needs["last"]
                assert need.vectors == ("several" in can) or name == "slot-fair"  # it counts slots
                assert (need.table, need.durations) == ("jobs" in can, "durations" in can)
    assert ("orders" in can) == ("order" in getattr(find_policy(name), "_fields", ()))


def test_every_name_is_lent_to_type_checkers_too() -> None:
    source = Path(inspect.getfile(policies)).read_text(encoding="utf-8")
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    named = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert named == {name: module for module, names in policies.HOMES.items() for name in names}
    assert all(getattr(import_module(module or ""), name) is getattr(policies, name) for name, module in named.items())


def test_every_source_is_cited_and_every_citation_has_a_source() -> None:
    cited = {entry.source.partition(" ")[0] for entry in CATALOGUE.values()} | {*ORDER_SOURCES.values()}
    assert cited - {""} == {*SOURCES}


def test_the_tables_of_the_pages_are_those_of_the_code() -> None:
    tables = site_module("tables")
    different = [path.name for path, right in tables.written() if path.read_text(encoding="utf-8") != right]
    assert not different, "python docs/tables.py writes them"
