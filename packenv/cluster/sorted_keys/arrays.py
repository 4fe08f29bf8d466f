"""The arrays of a sorted list: blocks of keys, an item for each key, and a directory of the blocks in key order.

A new block moves all directory entries behind it. In a long list the directory is divided into nodes of NODE entries, and
a new block moves only entries of its node; a full node shares its blocks with the fewest nodes around it that have room (a
packed memory array: Bender, Demaine and Farach-Colton, SIAM J. Comput. 35(2), 2005).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.fields import Field, Sizes, allocate
from packenv.cluster.records import numbered
from packenv.compiled.frame import Frame

WIDTH = 32
FILLED = 24  # keys in each block of a list that is filled in order: leaves room for more
STRIDE = 16  # keys that one vectorised comparison takes
SHARED = 4  # free entries of the next block from which a full block moves keys there
LONG = 512  # a list of more blocks than this is long
NODE = 2 * STRIDE  # directory entries of a node
SPARSE, EVEN, DENSE = 8, 16, 24  # average blocks of nodes that share: least, usual, most
EXPECTED = 512  # keys whose blocks can be prefetched at once: a power of two

PADDING = 2**63 - 1  # above every key: fills the unused end of a block
POSITION = 2**31 - 1  # mask that shows the compiler that a position is not negative

block_type = np.dtype(
    [
        ("low", "i8"),  # smallest key, PADDING for a block that is not in use
        ("storage", "i4"),  # row of `keys` and `items`
        ("count", "i4"),  # number of keys
    ],
    align=True,
)


def unused_directory(block: NDArray[np.void]) -> None:
    """Mark all blocks as unused; entry k has storage k."""
    block["low"] = PADDING
    numbered(block["storage"])


class SortedKeys(Frame):
    """A sorted list for each cluster; first axis: cluster.

    Blocks in use are in key order. In a short list they are the first blocks; in a long list the first ones of each node,
    where node n has blocks n NODE .. (n + 1) NODE - 1. The other blocks, among them always the last, have unused storage.
    """

    keys: Annotated[NDArray[np.int64], Field("clusters", "blocks", WIDTH, start=PADDING)]  # by storage, padded
    items: Annotated[NDArray[np.int32], Field("clusters", "blocks", WIDTH)]  # by storage
    block: Annotated[NDArray[np.void], Field("clusters", "blocks", records=block_type, start=unused_directory)]
    used: Annotated[NDArray[np.int64], Field("clusters", start=1)]  # blocks in use
    nodes: Annotated[NDArray[np.int64], Field("clusters")]  # nodes in use of a long list; each has a block in use
    filled: Annotated[NDArray[np.int64], Field("clusters", "nodes")]  # blocks in use of each
    top: Annotated[NDArray[np.int64], Field("clusters", "tops", start=PADDING)]  # smallest key of each, padded
    expected: Annotated[NDArray[np.int64], Field("clusters", "expected", scratch=True)]  # keys that were prefetched
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
