"""Mutated inputs: a valid file and a few edits, each drawn from a seed; edits can be taken away one by one."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

CANARY = "packenv-canary"
"""A file of this name appears in the current folder if something in an input was executed."""

NASTY = [
    b"", b"-1", b"0", b"1e999", b"-1e999", b"NaN", b"Infinity", b"-Infinity", b"inf", b"null", b"true", b"{}", b"[]", b'""',
    b"9" * 25, b"9" * 400, b"9" * 5000, b"1_0", b"+0", b"1e-400", b"0x10", b"\xd9\xa3", b"\xff\xfe", b"\x00", b"1e18",
    b"2147483648", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"4503599627370497", b"inf:1",
    b"100000000x1",
    f"os:system:command=touch {CANARY}".encode(), f'"os:system:command=touch {CANARY}"'.encode(), b"maxweight:types=100000",
    b"../../etc/passwd", b"[" * 300 + b"]" * 300, b'{"type":"Mixture","laws":[{"type":"Constant","value":1}],"weights":[1]}',
    b'{"type": "Uniform", "low": 0, "high": 1e308}', b"1e308", b"1;0", b"0 0 0", b'"', b"'", b",", b"\n", b"\r", b"\t", b";",
]  # fmt: skip
TOKEN = re.compile(rb'"[^"\n]{0,200}"|[^\s,;:\[\]{}"]+')


class Edit(NamedTuple):
    """One change of a file."""

    kind: str
    at: float  # where, as a share of the file's length, tokens or lines
    length: int
    text: bytes


def draw_edits(chance: random.Random) -> list[Edit]:
    """One to four edits; mostly one."""
    count = chance.choice((1, 1, 1, 2, 2, 3, 4))
    return [
        Edit(
            chance.choice(KINDS),
            chance.random(),
            chance.choice((1, 1, 2, 4, 8, 64, 1000)),
            chance.choice(NASTY) if chance.random() < 0.9 else chance.randbytes(chance.randint(1, 8)),
        )
        for _ in range(count)
    ]


def mutate(data: bytes, edits: Sequence[Edit], compressed: bool) -> bytes:
    """The file with its edits. Of a compressed one, edits at an even length change what is inside, the others the archive."""
    if not compressed:
        return _edited(data, edits)
    inner = [edit for edit in edits if edit.length != 1]
    inside = gzip.compress(_edited(gzip.decompress(data), inner), mtime=0, compresslevel=1) if inner else data
    return _edited(inside, [edit for edit in edits if edit.length == 1])


def smallest(edits: Sequence[Edit], fails: Callable[[Sequence[Edit]], bool]) -> list[Edit]:
    """The edits without those that a failure does not need."""
    kept = list(edits)
    for edit in edits:
        without = [one for one in kept if one is not edit]
        if without and fails(without):
            kept = without
    return kept


def _edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    for edit in edits:
        data = _CHANGES[edit.kind](data, edit)
    return data


def _place(data: bytes, edit: Edit) -> int:
    return int(edit.at * (len(data) + 1))


def _replace_token(data: bytes, edit: Edit) -> bytes:
    tokens = list(TOKEN.finditer(data[:100_000]))
    if not tokens:
        return data + edit.text
    token = tokens[int(edit.at * len(tokens))]
    return data[: token.start()] + edit.text + data[token.end() :]


def _line(data: bytes, edit: Edit, change: Callable[[list[bytes], int], list[bytes]]) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join(change(lines, int(edit.at * len(lines))))


def _swap(lines: list[bytes], n: int) -> list[bytes]:
    return [*lines[:n], *lines[n + 1 :], lines[n]]


def _flip(data: bytes, edit: Edit) -> bytes:
    if not data:
        return data
    n = min(_place(data, edit), len(data) - 1)
    return data[:n] + bytes([data[n] ^ (1 << edit.length % 8)]) + data[n + 1 :]


_CHANGES: dict[str, Callable[[bytes, Edit], bytes]] = {
    "token": _replace_token,
    "flip": _flip,
    "insert": lambda data, edit: data[: _place(data, edit)] + edit.text + data[_place(data, edit) :],
    "delete": lambda data, edit: data[: _place(data, edit)] + data[_place(data, edit) + edit.length :],
    "overwrite": lambda data, edit: data[: _place(data, edit)] + edit.text + data[_place(data, edit) + len(edit.text) :],
    "cut": lambda data, edit: data[: _place(data, edit)],
    "repeat": lambda data, edit: data[: _place(data, edit)] * 2 + data[_place(data, edit) :],
    "drop line": lambda data, edit: _line(data, edit, lambda lines, n: lines[:n] + lines[n + 1 :]),
    "double line": lambda data, edit: _line(data, edit, lambda lines, n: lines[: n + 1] + lines[n:]),
    "move line": lambda data, edit: _line(data, edit, _swap),
    "only line": lambda data, edit: _line(data, edit, lambda lines, n: [lines[0], lines[n]]),
}
KINDS = ["token"] * 6 + ["flip"] * 3 + ["insert"] * 2 + [kind for kind in _CHANGES if kind not in ("token", "flip", "insert")]
