"""Beam search: against plain sums and brute force, and never a schedule that the servers cannot run."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packenv.theory.makespan.annealing import schedule_list
from packenv.theory.makespan.beam import (
    NARROWEST,
    STEPS,
    beam_from,
    begin,
    can_search,
    extend_states,
    list_ready,
    offer_sets,
    search_in_parallel,
    searched,
)
from packenv.theory.makespan.tasks import tasks_of
from tests.theory.makespan.brute_force import shortest_makespan
from tests.theory.makespan.test_optimum import SERVERS, drawn, setting_like_fig3, table


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), fixed=st.booleans(), backward=st.booleans())
def test_a_schedule_keeps_to_the_rules(seed: int, n: int, fixed: bool, backward: bool) -> None:
    tasks = tasks_of(drawn(random.Random(seed), n, SERVERS[seed % len(SERVERS)]), fixed)
    end = schedule_list(tasks, tasks.longest_tail_first()).makespan
    found = searched(tasks, 50, end + 2, backward, np.random.default_rng(seed))
    assert found is not None  # so much time is easy
    assert tasks.fault(tasks.origin + found.start * tasks.tick, found.server) is None
    assert tasks.allowed[np.arange(n), found.server].all()
    assert found.makespan == (found.start + tasks.service).max() <= end + 2


@pytest.mark.parametrize("width", [5, 40, 1000])
def test_the_best_sets_are_kept(width: int) -> None:
    """The first two servers of the first tick, against all sets: what stays free costs, what starts gains."""
    for seed in range(20):
        tasks = tasks_of(drawn(random.Random(seed), 7, "1x1:0.5,1x0.6:1"))
        n, capacity = len(tasks), tasks.capacity
        beam = beam_from(tasks, width, 100, False, np.random.default_rng(seed))._replace(noise=0.0)
        begin(beam)
        ready = [i for i in range(n) if tasks.head[i] == 0 and tasks.release[i] == 0]
        kept: list[tuple[float, frozenset[int]]] = [(0.0, frozenset())]
        here, states = 0, 1
        for server in range(2):
            beam.sets[0], beam.salt[0] = 0, server + 1
            for state in range(states):
                count = list_ready(beam, beam.start[here, state], server, 0, 100)
                assert count >= 0
                offer_sets(beam, here, state, server, 0, count, 10**6)
            found = beam.sets[0]
            offered = []
            for cost, begun in kept:
                here_too = [i for i in ready if i not in begun and tasks.allowed[i, server]]
                for many in range(len(here_too) + 1):
                    for chosen in itertools.combinations(here_too, many):
                        free = capacity[server] - tasks.demand[list(chosen)].sum(axis=0)
                        if (free >= 0).all():
                            offered.append((cost + beam.price @ free - beam.gain[list(chosen)].sum(), begun | set(chosen)))
            kept = sorted(offered, key=lambda one: one[0])[:width]
            np.testing.assert_allclose(np.sort(beam.heap[:found]), [cost for cost, _ in kept])
            extend_states(beam, here, server, 0)
            here, states = 1 - here, found


@pytest.mark.parametrize("seed", range(12))
def test_beams_alone_are_optimal_on_small_tables(seed: int) -> None:
    workload = drawn(random.Random(300 + seed), 5, SERVERS[seed % len(SERVERS)])
    tasks = tasks_of(workload)
    worst = schedule_list(tasks, tasks.longest_tail_first())
    heard: list[int] = []
    found = search_in_parallel(tasks, worst, 1, 20, tasks.bound, seed, heard.append)
    assert found.makespan * tasks.tick == shortest_makespan(workload)
    assert tasks.fault(tasks.origin + found.start * tasks.tick, found.server) is None
    assert heard == sorted(set(heard), reverse=True) and (heard[-1:] or [worst.makespan]) == [found.makespan]


def test_beams_better_a_list() -> None:
    """Two searches side by side, until within 6 % of the bound; a greedy list is far from that."""
    tasks = tasks_of(setting_like_fig3(0))
    worst = schedule_list(tasks, tasks.longest_tail_first())
    assert worst.makespan > 1.15 * tasks.bound
    target = int(1.06 * tasks.bound)
    found = search_in_parallel(tasks, worst, 2, 60, target)
    assert found.makespan <= target
    assert tasks.fault(found.start, found.server) is None


def test_demands_with_no_common_part_add_up_exactly() -> None:
    """Three thirds fill a server; a unit more, of three million, does not fit."""
    third, half = (1 / 3, 4), (0.5, 3)
    for size, shortest in ((1 / 3, 7), (0.3333337, 10)):
        workload = table((size, 4), third, third, half, half, servers=1)
        tasks = tasks_of(workload)
        worst = schedule_list(tasks, np.array([0, 3, 1, 4, 2]))
        found = search_in_parallel(tasks, worst, 1, 20, tasks.bound).makespan
        assert found == shortest_makespan(workload) == shortest < worst.makespan


def test_only_where_beams_are_quick() -> None:
    tasks = tasks_of(table((0.6, 3), (0.6, 4), servers=2))
    longest = STEPS // (NARROWEST * 4)
    assert can_search(tasks, longest) and not can_search(tasks, longest + 1)
