"""Servers from numbers, texts, arrays and files."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packenv.errors import InputError
from packenv.units import LARGEST_AMOUNT, UNIT
from packenv.workloads.resources import servers_for
from packenv.workloads.servers import Servers, as_servers, parse_servers


def test_forms():
    assert as_servers(3).capacity.tolist() == [[1.0]] * 3
    assert as_servers(np.int64(2), resources=2).capacity.tolist() == [[1.0, 1.0]] * 2
    assert as_servers("5") == as_servers(5)
    assert parse_servers("3x1,2x0.5") == as_servers([1, 1, 1, 0.5, 0.5])
    assert parse_servers("3x1:0.5") == as_servers([[1, 0.5]] * 3)
    assert parse_servers(" 1x2 , 1x1 ").units.tolist() == [[2 * UNIT], [UNIT]]
    servers = Servers([[1, 0.5], [2, 0.25], [1, 0.5]])
    assert len(servers) == 3 and servers.D == 2 and as_servers(servers) is servers
    assert servers.largest.tolist() == [2 * UNIT, UNIT // 2] and len(servers.kinds) == 2
    with pytest.raises(ValueError, match="read-only"):
        servers.capacity[0, 0] = 3


@given(st.lists(st.tuples(st.floats(0.001, 600), st.floats(0, 600)), min_size=1, max_size=6))
def test_text_round_trip(rows):
    servers = Servers(rows)
    assert parse_servers(str(servers)) == servers and hash(parse_servers(str(servers))) == hash(servers)


def test_files(tmp_path):
    rows = [[1.0, 0.5], [0.25, 2.0]]
    for name, text in [
        ("a.json", json.dumps(rows)),
        ("b.json", json.dumps({"capacity": rows})),
        ("c.csv", "1,0.5\n0.25,2\n"),
        ("d.csv", "cpu,memory\n1,0.5\n\n0.25,2\n"),
    ]:
        (tmp_path / name).write_text(text)
        assert parse_servers(str(tmp_path / name)).capacity.tolist() == rows
    (tmp_path / "e.json").write_text("[1, 2]")
    assert parse_servers(str(tmp_path / "e.json")).capacity.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: as_servers(0), "at least 1"),
        (lambda: as_servers(True), "number of servers"),
        (lambda: as_servers(1.5), "number of servers"),
        (lambda: as_servers(None), "number of servers"),
        (lambda: as_servers([]), "shape"),
        (lambda: as_servers([[1.0, 2.0], [1.0]]), "equally many for each server"),
        (lambda: as_servers(["a"]), "numbers"),
        (lambda: as_servers([1, -1]), "server 1: capacity -1 must be at least 0"),
        (lambda: as_servers([1, np.inf]), "server 1: capacity inf must be at least 0 and finite"),
        (lambda: as_servers([[1, 0], [0, 0]]), "server 1: has no capacity"),
        (lambda: as_servers([2 * LARGEST_AMOUNT]), "at most 2^50"),
        (lambda: parse_servers("0"), "at least 1"),
        (lambda: parse_servers("0x1"), "has no server"),
        (lambda: parse_servers("3xa"), "'a' is not a number"),
        (lambda: parse_servers("3x1,2x1:1"), "equally many for each server"),
        (lambda: parse_servers("no/such/file.csv"), "neither a file nor"),
        (lambda: parse_servers(""), "neither a file nor"),
    ],
)
def test_bad_servers_get_one_line(make, says):
    with pytest.raises(InputError) as caught:
        make()
    assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "text"), [("a.json", "{"), ("b.json", "3"), ("c.csv", "1\nx\n"), ("d.csv", "")])
def test_bad_files_are_named(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=name):
        parse_servers(str(tmp_path / name))


@pytest.mark.parametrize(
    ("text", "servers", "names"),
    [
        ("node,cores,gib\na,32,192\nb,64,512\n", "1x32:192,1x64:512", ("a", "b")),
        ("a,32,192\nb,64,512\n", "1x32:192,1x64:512", ("a", "b")),
        ("node,memory,cpu\na,192,32\n", "1x32:192", ("a",)),  # by the names of the resources, where it has them
        ("500m,8Gi\n1,16Gi\n", "1x0.5:8Gi,1x1:16Gi", ()),
        ("kind,cpu,memory\nthin,1,2\nthin,1,2\n", "2x1:2", ()),  # no names, as two are the same
    ],
)
def test_a_list_of_servers_with_names(tmp_path: Path, text: str, servers: str, names: tuple[str, ...]) -> None:
    (tmp_path / "list.csv").write_text(text)
    read = parse_servers(str(tmp_path / "list.csv"), 2, ("cpu", "memory"))
    assert str(read) == servers and read.names == names
    assert read.only([-1, 0]).names == ((names[-1], names[0]) if names else ())


def test_a_list_of_servers_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("node,cpu\na,32\nb,x\n")
    with pytest.raises(InputError, match=r"line 3: 'x' is not a number, .*; a list of servers has a row for each: its name"):
        parse_servers(str(tmp_path / "list.csv"))


@pytest.mark.parametrize("text", ["3x64:8@A10,2x64:8@V100", "1x64:512Gi:8@8*A10", "2x4:1@2*/500,1x4:2@", "1x0.5:1536Gi:2@T4/16"])
def test_text_is_read_as_the_same_servers(text: str) -> None:
    """Also where nobody says how many GPUs a server has, and amounts of memory in bytes."""
    assert str(parse_servers(text)) == text and parse_servers(str(parse_servers(text))) == parse_servers(text)


def test_a_list_has_a_row_for_each_server(tmp_path: Path) -> None:
    """A column that says how many there are of a kind is not passed over: it would be another cluster."""
    (tmp_path / "kinds.csv").write_text("name,count,cores,memory\nthin,4,32,128\nfat,2,48,384\n")
    with pytest.raises(InputError, match="column 'count': a list has a row for each server"):
        servers_for(str(tmp_path / "kinds.csv"), 2, ("cores", "memory"))
    (tmp_path / "nodes.csv").write_text("nodes,cores,memory\nn0,32,128\nn1,48,384\n")
    assert servers_for(str(tmp_path / "nodes.csv"), 2, ("cores", "memory")).names == ("n0", "n1")
