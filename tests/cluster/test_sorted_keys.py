"""Sorted keys against Python's sorted lists, from the first key to lists too long for the cache and back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

import numpy as np
import pytest
from numpy.typing import NDArray

from packenv.cluster.fields import resized
from packenv.cluster.records import NONE
from packenv.cluster.sorted_keys import (
    PADDING,
    SortedKeys,
    add_last,
    ceiling_item,
    clear,
    find,
    first_key,
    floor_item,
    insert,
    key_after,
    key_before,
    key_sizes,
    last_key,
    remove,
    remove_at_cursor,
    sorted_keys,
)
from packenv.compiled.decorators import compiled

Ints = NDArray[np.int64]
INSERT, REMOVE, FLOOR, CEILING, FLOOR_AND_REMOVE, CLEAR, ADD_LAST = range(7)
SMALL, LARGE = 700, 40_000


@compiled
def act(s: SortedKeys, cluster: Ints, action: Ints, key: Ints, item: Ints, found: Ints, ends: Ints) -> None:
    for n in range(len(action)):
        e = cluster[n]
        if action[n] == INSERT:
            insert(s, e, key[n], item[n])
        elif action[n] == REMOVE:
            find(s, e, key[n])
            ends[n, 2], ends[n, 3] = key_before(s, e), key_after(s, e)
            remove_at_cursor(s, e)
        elif action[n] == CLEAR:
            clear(s, e)
        elif action[n] == ADD_LAST:
            add_last(s, e, key[n], item[n])
        elif action[n] == CEILING:
            found[n] = ceiling_item(s, e, key[n])
        else:
            found[n] = floor_item(s, e, key[n])
            if action[n] == FLOOR_AND_REMOVE:
                remove(s, e, item[n])
        ends[n, 0], ends[n, 1] = first_key(s, e), last_key(s, e)


class Script:
    """Random actions on two lists, with what they should find; items are the low halves of keys."""

    def __init__(self, seed: int, spread: int) -> None:
        self.rng, self.spread = np.random.default_rng(seed), spread
        self.lists: tuple[list[int], list[int]] = ([], [])
        self.rows: list[tuple[int, int, int, int]] = []
        self.expected: list[tuple[int, ...]] = []
        self.made = 0

    def new_key(self) -> int:
        self.made += 1
        return (int(self.rng.integers(self.spread)) << 32) | (2**31 - self.made)

    def note(self, e: int, action: int, key: int, item: int, found: int, before: int = 0, after: int = 0) -> None:
        self.rows.append((e, action, key, item))
        keys = self.lists[e]
        self.expected.append((found, keys[0] if keys else NONE, keys[-1] if keys else NONE, before, after))

    def insert(self, e: int) -> None:
        key = self.new_key()
        insort(self.lists[e], key)
        self.note(e, INSERT, key, key & 0xFFFFFFFF, 0)

    def remove(self, e: int) -> None:
        keys = self.lists[e]
        n = int(self.rng.integers(len(keys)))
        if self.rng.random() < 0.5:
            self.remove_at(e, n)
        else:
            above = keys[n] + int(self.rng.integers(keys[n + 1] - keys[n])) if n + 1 < len(keys) else keys[n] + 5
            key = keys.pop(n)
            self.note(e, FLOOR_AND_REMOVE, above, key, key & 0xFFFFFFFF)

    def remove_at(self, e: int, n: int) -> None:
        keys = self.lists[e]
        key = keys.pop(n)
        before, after = keys[n - 1] if n > 0 else NONE, keys[n] if n < len(keys) else PADDING
        self.note(e, REMOVE, key, 0, 0, before, after)

    def remove_from(self, e: int, place: int, count: int) -> None:
        """Remove keys from there on, as far as there are, asking for the next one each time."""
        keys = self.lists[e]
        for _ in range(count):
            self.remove_at(e, min(place, len(keys) - 1))
            key = keys[min(place, len(keys) - 1)]
            self.note(e, FLOOR, key, 0, key & 0xFFFFFFFF)

    def clear(self, e: int) -> None:
        self.lists[e].clear()
        self.note(e, CLEAR, 0, 0, 0)

    def add_last(self, e: int, length: int) -> None:
        keys = self.lists[e]
        while len(keys) < length:
            key = self.new_key() & 0xFFFFFFFF | ((keys[-1] >> 32) + 1 << 32 if keys else 0)
            keys.append(key)
            self.note(e, ADD_LAST, key, key & 0xFFFFFFFF, 0)

    def ask(self, e: int) -> None:
        keys, key = self.lists[e], self.new_key()
        below, above = bisect_right(keys, key), bisect_left(keys, key)
        self.note(e, FLOOR, key, 0, keys[below - 1] & 0xFFFFFFFF if below > 0 else NONE)
        self.note(e, CEILING, key, 0, keys[above] & 0xFFFFFFFF if above < len(keys) else NONE)

    def go_to(self, e: int, length: int) -> None:
        """Insert and remove until a list has `length` keys."""
        keys = self.lists[e]
        while len(keys) != length:
            if (self.rng.random() < 0.85) == (len(keys) < length) or not keys:
                self.insert(e)
            else:
                self.remove(e)
            if self.rng.random() < 0.1:
                self.ask(e)


@pytest.mark.parametrize("spread", [2**20, pytest.param(50, marks=pytest.mark.minutes), 1])
def test_equal_to_sorted_lists(spread: int) -> None:
    script = Script(spread, spread)
    script.go_to(0, SMALL)
    script.go_to(1, 20)
    half = len(script.rows)
    script.go_to(0, LARGE)
    for length in (LARGE - 1000, LARGE):
        script.go_to(0, length)
        script.go_to(1, length // 500)
    script.go_to(0, 0)
    script.go_to(1, 0)
    script.go_to(0, LARGE)
    for place in (0, LARGE // 3, LARGE):  # all from the front, from one place within, and from the end
        script.remove_from(0, place, LARGE // 10)
    script.clear(0)
    script.add_last(0, LARGE)
    script.go_to(0, LARGE // 2)
    script.go_to(0, 100)

    cluster, action, key, item = np.array(script.rows, dtype=np.int64).T.copy()
    found, ends = np.zeros(len(key), np.int64), np.zeros((len(key), 4), np.int64)
    few = sorted_keys(2, 2 * SMALL)
    act(few, *(each[:half] for each in (cluster, action, key, item, found, ends)))
    many = resized(few, **key_sizes(2, 2 * LARGE))
    longest = 0
    for part in np.array_split(np.arange(half, len(key)), 20):
        act(many, *(each[part[0] : part[-1] + 1] for each in (cluster, action, key, item, found, ends)))
        longest = max(longest, int(many.used.max()))
    assert np.array_equal(np.column_stack([found, ends]), np.array(script.expected))
    assert longest > LARGE // 64
