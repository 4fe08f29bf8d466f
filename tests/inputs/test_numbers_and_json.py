"""Numbers and JSON from outside: what is refused, wherever it stands."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

import packenv
from packenv.errors import InputError
from packenv.inputs.json_files import parse_json, read_json
from packenv.inputs.numbers import read_number, read_whole
from packenv.inputs.text_files import lines_of
from packenv.workloads.laws import parse_law
from packenv.workloads.servers import MOST_SERVERS, as_servers, parse_servers
from packenv.workloads.traces.columns import Columns
from packenv.workloads.workload import load_workload

UNIFORM = {"type": "Uniform", "low": 0.1, "high": 0.9}
PLAIN = {"sizes": UNIFORM, "service": {"type": "Fixed", "slots": 5}, "servers": 3, "intensity": 0.5}


@pytest.mark.parametrize(
    "text", ["1_0", "٣", "", " ", "+", "0x1", "1.0", "1e3", "9" * 400, "9" * 5000, "-1", str(2**53 + 1), "nan"]
)
def test_no_whole_number(text: str) -> None:
    with pytest.raises(InputError):
        read_whole(text)


@pytest.mark.parametrize("text", ["1_0", "٣", "", ".", "e5", "0x1", "9" * 400, "1e999", "-1e999", "nan", "inf", "1 2"])
def test_no_number(text: str) -> None:
    with pytest.raises(InputError):
        read_number(text)


def test_long_texts_are_read_once() -> None:
    """A pattern that tries every place where a number may be divided would take a day."""
    for text in ("9" * 2_000_000 + "x", "9" * 2_000_000 + ".x", "." + "9" * 2_000_000 + "ex"):
        with pytest.raises(InputError, match="is not a number"):
            read_number(text)


def test_numbers() -> None:
    assert [read_number(text) for text in ("1", "-1.5", ".5", "5.", "1E-3", " 2 ")] == [1, -1.5, 0.5, 5, 0.001, 2]
    assert [read_whole(text, -5) for text in ("0", "+3", "-5", "007")] == [0, 3, -5, 7]
    assert read_number("inf", infinite=True) == math.inf


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 65 + "]" * 65, "NaN", "[Infinity]", "-Infinity", "1e999", "9" * 400, '{"a":1,"a":2}']
)
def test_no_json(text: str) -> None:
    with pytest.raises(InputError):
        parse_json(text)


def nested(depth: int) -> object:
    law: object = UNIFORM
    for _ in range(depth):
        law = {"type": "Mixture", "laws": [law], "weights": [1]}
    return law


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sizes": nested(400)}, "inside each other"),
        ({"sizes": nested(5) | {"weights": "1"}}, "weights"),  # type: ignore[operator]
        ({"resources": {"cpu": 1}}, "resources"),
        ({"resources": UNIFORM}, "resources must be a list"),
        ({"resources": 5}, "resources must be a list"),
        ({"resources": ["cpu", "cpu"]}, "resources must be a list"),
        ({"name": ["a"]}, "name must be a text"),
        ({"sizes": UNIFORM | {"high": "0.9"}}, "must be a number"),
        ({"sizes": UNIFORM | {"high": 10**400}}, "too large"),
        ({"intensity": 10**20}, "too large"),
        ({"servers": "100000000x1"}, "100,000,000 are too many"),
        ({"servers": "9" * 400}, "too large"),
        ({"servers": 10**12}, "too many"),
        ({"sizes": {"type": "Mixture", "laws": 5, "weights": [1]}}, "sizes"),
    ],
)
def test_workloads(changes: dict[str, object], says: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(PLAIN | changes))
    with pytest.raises(InputError, match=says) as caught:
        load_workload(path)
    assert "a.json" in str(caught.value)


def test_infinity_in_a_workload(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(PLAIN).replace("0.9", "Infinity"))
    with pytest.raises(InputError, match="Infinity"):
        load_workload(tmp_path / "a.json")


def test_servers() -> None:
    assert len(as_servers(MOST_SERVERS)) == MOST_SERVERS
    for text in ("٣", "1_0", "9" * 400, "3x1_0", "3x" + "9" * 400, "3xinf", "3xnan", f"{MOST_SERVERS}x1,1x1"):
        with pytest.raises(InputError):
            parse_servers(text)


@pytest.mark.parametrize("text", ["uniform:0:1_0", "constant:" + "9" * 400, "uniform:0.1:٣", "discrete:0.5@1_0"])
def test_laws(text: str) -> None:
    with pytest.raises(InputError):
        parse_law(text, "--sizes")


def test_numbers_in_python() -> None:
    with pytest.raises(InputError, match="rate must be a number"):
        packenv.workload("paper/fig4b", rate=10**400)
    with pytest.raises(InputError, match="capacities must be numbers"):
        as_servers([10**400])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_with_a_mark(tmp_path: Path, encoding: str) -> None:
    """JSON, lines and tables in UTF-16, as PowerShell writes them, compressed or not; damage is one line."""
    (tmp_path / "a.json").write_text('{"ä": 1}', encoding=encoding)
    assert read_json(tmp_path / "a.json") == {"ä": 1}
    raw = "a,b\r\n1,ä\r\n".encode(encoding)
    for name, content in (("a.csv", raw), ("a.csv.gz", gzip.compress(raw))):
        (tmp_path / name).write_bytes(content)
        assert [*lines_of(tmp_path / name)] == ["a,b\n", "1,ä\n"]
        assert Columns.read(tmp_path / name).raw("b").to_pylist() == ["ä"]
    if encoding == "utf-16":
        (tmp_path / "a.json").write_bytes('{"ä": 1}'.encode(encoding)[:-1])
        with pytest.raises(InputError, match=r"a\.json: cannot be read, it is damaged or of another format"):
            read_json(tmp_path / "a.json")
