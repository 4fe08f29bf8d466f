"""Squeezing: against plain sums and brute force, and never a schedule that the servers cannot run."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packenv.theory.annealing import schedule_list
from packenv.theory.overdraft import LANES, Overdraft, first_start, look, overdraft_from, price_starts, put, shorten, starts_from
from packenv.theory.squeezing import MOST_TICKS, can_squeeze, squeeze_beside
from packenv.theory.tasks import Tasks, tasks_of
from tests.theory.brute_schedules import shortest_makespan
from tests.theory.test_optimum import SERVERS, drawn, setting_like_fig3, table


def drawn_search(seed: int, n: int, fixed: bool = False) -> tuple[Tasks, Overdraft]:
    """A search that has wandered off, at a temperature at which much is overdrawn."""
    tasks = tasks_of(drawn(random.Random(seed), n, SERVERS[seed % len(SERVERS)]), fixed)
    found = schedule_list(tasks, tasks.longest_tail_first())
    search = overdraft_from(tasks, found, seed)
    shorten(search, tasks, max(tasks.bound, found.makespan - 1))
    look(search, 1.0, 2000)
    return tasks, search


def plain_room(tasks: Tasks, search: Overdraft) -> np.ndarray:
    """(L, D, H) units, task by task."""
    room = np.repeat(search.capacity[:, :, None], search.room.shape[2], axis=2)
    for i in range(len(tasks)):
        start, server = search.start[i], search.server[i]
        room[server, :, start : start + tasks.service[i]] -= search.demand[i][:, None]
    return room


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), fixed=st.booleans())
def test_a_search_keeps_to_the_rules_but_for_the_room(seed: int, n: int, fixed: bool) -> None:
    tasks, search = drawn_search(seed, n, fixed)
    room = plain_room(tasks, search)
    assert (search.room == room).all() and search.overdrawn[0] == (room < 0).sum()
    assert tasks.allowed[np.arange(n), search.server].all()
    end = search.start + tasks.service
    assert (search.start >= tasks.release).all() and (end + tasks.tail[:n] <= search.end[0]).all()
    offsets, rows = tasks.waits_for
    for i in range(n):
        assert (end[rows[offsets[i] : offsets[i + 1]]] <= search.start[i]).all()
    if search.overdrawn[0] == 0:
        assert tasks.fault(tasks.origin + search.start * tasks.tick, search.server) is None


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
def test_prices_are_what_the_schedule_costs_more(seed: int, n: int) -> None:
    """The cost of a schedule: roots of the shares of capacity that are missing, of every tick, resource and server."""
    tasks, search = drawn_search(seed, n)

    def total() -> float:
        return float(np.sqrt(np.maximum(-plain_room(tasks, search), 0) * search.share[:, :, None]).sum())

    i = seed % n
    put(search, i, -1)
    first = first_start(search, i)
    starts = starts_from(search, i, first)
    price_starts(search, i, first, starts)
    prices = search.price[:, : -(-starts // LANES) * LANES].copy()
    assert np.isinf(prices[:, starts:]).all()
    cost = np.full(prices.shape, np.inf)
    for server in np.flatnonzero(tasks.allowed[i]):
        for k in range(starts):
            search.start[i], search.server[i] = first + k, server
            cost[server, k] = total()
    search.server[i] = np.flatnonzero(tasks.allowed[i])[0]
    search.start[i] = search.room.shape[2]  # out of the way
    np.testing.assert_allclose(prices[:, :starts], cost[:, :starts] - total(), atol=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_squeezing_alone_is_optimal_on_small_tables(seed: int) -> None:
    workload = drawn(random.Random(300 + seed), 5, SERVERS[seed % len(SERVERS)])
    tasks = tasks_of(workload)
    worst = schedule_list(tasks, tasks.longest_tail_first())
    heard: list[int] = []
    found = squeeze_beside(tasks, worst, 1, 20, tasks.bound, seed, heard.append)
    assert found.makespan * tasks.tick == shortest_makespan(workload)
    assert tasks.fault(tasks.origin + found.start * tasks.tick, found.server) is None
    assert heard == sorted(set(heard), reverse=True) and (heard[-1:] or [worst.makespan]) == [found.makespan]


def test_squeezing_betters_a_list() -> None:
    """Two searches side by side, until within a tenth of the bound; a greedy list is far from that. Units need long floats."""
    tasks = tasks_of(setting_like_fig3(0))
    worst = schedule_list(tasks, tasks.longest_tail_first())
    assert overdraft_from(tasks, worst, 0).room.dtype == np.float64
    assert worst.makespan > 1.15 * tasks.bound
    target = int(1.1 * tasks.bound)
    found = squeeze_beside(tasks, worst, 2, 60, target)
    assert found.makespan <= target
    assert tasks.fault(found.start, found.server) is None


def test_demands_with_no_common_part_add_up_exactly() -> None:
    """Three thirds fill a server; a unit more, of three million, does not fit."""
    third, half = (1 / 3, 4), (0.5, 3)
    for size, shortest in ((1 / 3, 7), (0.3333337, 10)):
        workload = table((size, 4), third, third, half, half, servers=1)
        tasks = tasks_of(workload)
        worst = schedule_list(tasks, np.array([0, 3, 1, 4, 2]))
        found = squeeze_beside(tasks, worst, 1, 20, tasks.bound).makespan
        assert found == shortest_makespan(workload) == shortest < worst.makespan


def test_only_where_the_ticks_are_few() -> None:
    tasks = tasks_of(table((0.6, 3), (0.6, 4), servers=2))
    assert can_squeeze(tasks, MOST_TICKS // 2) and not can_squeeze(tasks, MOST_TICKS // 2 + 1)
    assert not can_squeeze(tasks_of(table((0.6, 3), servers=2)), 3)
