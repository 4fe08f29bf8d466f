"""The arrays of sorted keys: blocks of keys with an item each, and a directory of the blocks in key order.

A new block moves all behind it. In a long list these are only those of its node: the directory is cut into nodes of
NODE places, and one that is full evens out with the nodes around it, as few as have room (a packed memory array: Bender,
Demaine and Farach-Colton, SIAM J. Comput. 35(2), 2005).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.fields import Field, Sizes, allocate
from packenv.cluster.records import numbered
from packenv.compiled.frame import Frame

WIDTH = 32
FILLED = 24  # keys in a block that is made anew: some more have room
STRIDE = 16  # keys that are compared at once
SHARED = 4  # room of the next block that is worth sharing
LONG = 512  # a list of more blocks is long
NODE = 2 * STRIDE  # blocks of a long list among which a new one is put
SPARSE, EVEN, DENSE = 8, 16, 24  # blocks of a node, on average over nodes that share: at least, mostly, at most
EXPECTED = 512  # keys that can be expected at once: a power of two

PADDING = 2**63 - 1  # above every key: fills the unused end of a block
POSITION = 2**31 - 1  # bits of a position: the compiler sees that what is masked with it is not negative

block_type = np.dtype(
    [
        ("low", "i8"),  # smallest key, PADDING for a block that is not in use
        ("storage", "i4"),  # where it is stored
        ("count", "i4"),  # how many keys it has
    ],
    align=True,
)


def unused_directory(block: NDArray[np.void]) -> None:
    """No block in use; entry k names storage k."""
    block["low"] = PADDING
    numbered(block["storage"])


class SortedKeys(Frame):
    """First axis: cluster.

    Blocks in use are in key order: in a short list the first ones, in a long one the first ones of each node, where node n
    has blocks n NODE .. (n + 1) NODE - 1. The others, the last one always, name unused storage.
    """

    keys: Annotated[NDArray[np.int64], Field("clusters", "blocks", WIDTH, start=PADDING)]  # by storage, padded
    items: Annotated[NDArray[np.int32], Field("clusters", "blocks", WIDTH)]  # by storage
    block: Annotated[NDArray[np.void], Field("clusters", "blocks", records=block_type, start=unused_directory)]
    used: Annotated[NDArray[np.int64], Field("clusters", start=1)]  # blocks in use
    nodes: Annotated[NDArray[np.int64], Field("clusters")]  # nodes in use, of a long list: each has a block in use
    filled: Annotated[NDArray[np.int64], Field("clusters", "nodes")]  # blocks in use of each
    top: Annotated[NDArray[np.int64], Field("clusters", "tops", start=PADDING)]  # smallest key of each, padded
    expected: Annotated[NDArray[np.int64], Field("clusters", "expected", scratch=True)]  # keys that are soon wanted
    expected_at: Annotated[NDArray[np.int32], Field("clusters", "expected", scratch=True)]  # and their blocks
    found: Annotated[NDArray[np.int64], Field("clusters", 2, scratch=True)]  # block and position of the key that was found last


def key_sizes(clusters: int, capacity: int) -> Sizes:
    """Dimensions of lists of `capacity` keys each; those that can never be long have no nodes."""
    blocks, nodes = 2 * capacity // WIDTH + 3 if capacity > 0 else 0, 0
    long = blocks > LONG
    if long:
        nodes = blocks // DENSE + 2
        blocks = nodes * NODE + 1
    tops, expected = (nodes + STRIDE, EXPECTED) if long else (0, 0)
    return {"clusters": clusters, "blocks": blocks, "nodes": nodes, "tops": tops, "expected": expected}


def sorted_keys(clusters: int, capacity: int) -> SortedKeys:
    """Room for `capacity` keys in each of `clusters` lists."""
    return allocate(SortedKeys, key_sizes(clusters, capacity))
