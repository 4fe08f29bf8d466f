"""Sets of numbers below N, whose members are listed in no particular order; a number enters and leaves in constant time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame


class Members(Frame):
    """number[: count[0]] are the members."""

    number: NDArray[np.int32]  # (N,)
    place: NDArray[np.int32]  # (N,) index of a member in `number`
    count: NDArray[np.int64]  # (1,)


def no_members(numbers: int) -> Members:
    """The empty set of numbers below `numbers`."""
    return Members(number=np.zeros(numbers, np.int32), place=np.zeros(numbers, np.int32), count=np.zeros(1, np.int64))


@compiled
def add_member(members: Members, number: int) -> None:
    """Add a number that is not a member."""
    members.number[members.count[0]], members.place[number] = number, members.count[0]
    members.count[0] += 1


@compiled
def remove_member(members: Members, number: int) -> None:
    """Remove a member."""
    members.count[0] -= 1
    last = members.number[members.count[0]]
    members.number[members.place[number]], members.place[last] = last, members.place[number]
