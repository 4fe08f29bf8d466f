"""Every policy is compared with the simulator, memory does not grow, decisions of agents are fast, and others import nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from packenv import Scheduler
from packenv.errors import InputError
from packenv.policy_names import registered
from packenv.runs.leaderboard import shipped_agents
from tests.live import speed, test_equal
from tests.live.test_scheduler import CANNOT, OF_DEVICES, OF_FILES


def test_every_policy_and_agent_is_compared_with_the_simulator() -> None:
    lists = (test_equal.ONE, test_equal.SEVERAL, test_equal.DEVICES, test_equal.GANGS, test_equal.HOMES, test_equal.RANDOM)
    compared = {policy.partition(":")[0] for policies in lists for policy in policies}
    assert compared == {*registered()} - CANNOT - OF_DEVICES - OF_FILES
    for agent in {*shipped_agents()} - {f"agent:{name}" for name in test_equal.AGENTS}:
        with pytest.raises(InputError, match=r"must know all jobs before|one machine and one resource"):
            Scheduler(agent, servers=5)
    with pytest.raises(InputError, match="easy:order=sjf computes its order from the table of all jobs"):
        Scheduler("easy:order=sjf", servers=5)


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
@pytest.mark.parametrize("events", [30_000, pytest.param(1_000_000, marks=pytest.mark.minutes)])
def test_memory_does_not_grow_with_events(events: int) -> None:
    scheduler, pages, number = Scheduler("bf-js", servers=5), list[int](), 0
    for _ in range(4):
        for _ in range(events // 12):
            scheduler.submit(number, size=0.3, home=[number % 5], job=f"j{number}")
            for start in scheduler.decide():
                scheduler.complete(start.task)
            number += 1
        pages.append(memory())
    assert pages[-1] <= pages[0] + 2**10  # pages of 4 KiB
    assert scheduler._rows is not None and scheduler._rows.places == 1024


def test_agents_decide_about_as_fast_as_best_fit() -> None:
    """The medians of processor time, in alternation: an agent once took twelve times as long as best fit."""
    median = dict.fromkeys(("bf-js", "agent:fig4b"), np.inf)
    for _ in range(3):
        for policy in median:
            median[policy] = min(median[policy], float(np.median(speed.latencies(policy, 100, 100, 500))))
    assert median["agent:fig4b"] < 6 * median["bf-js"]


def test_speed_through_serve() -> None:
    processor, clock = speed.serve_rates(10, 20, 200, 4)
    assert processor > clock / 2 > 0
    assert speed.python_rate(10, 20, 200) > 0


def test_others_import_nothing() -> None:
    program = "import sys, packenv; packenv.simulate(packenv.workload('paper/fig4b'), 'bf-js', 100); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "packenv.simulation" in done.stdout and "packenv.live" not in done.stdout
