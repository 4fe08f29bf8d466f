"""Which policies draw by chance, and with how many seeds they are run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import Jobs, Workload
from packenv.runs.run import draws_by_chance, seeds_for

TABLE = Workload(jobs=Jobs.of(range(40), [1.0] * 40, [3] * 40, job=np.arange(40) // 2), servers=30)


class Generator:
    """A user's policy in Python with a random generator in its state."""

    def initial_state(self, setting: Any, seed: int) -> Any:
        return np.random.default_rng(seed)

    def schedule(self, cluster: Any, state: Any) -> None: ...


class OnItself(Generator):
    """And one that keeps it outside its state."""

    def initial_state(self, setting: Any, seed: int) -> Any:
        self.random = np.random.default_rng(seed)
        return ()


class Opaque(Generator):
    """And one whose state cannot be compared."""

    def initial_state(self, setting: Any, seed: int) -> Any:
        return lambda: seed


class Fixed(Generator):
    def initial_state(self, setting: Any, seed: int) -> Any:
        return np.zeros(3)


def name_of(policy: Any) -> str:
    return policy if isinstance(policy, str) else type(policy).__name__


@pytest.mark.parametrize("policy", ["sparrow", "hawk", "eagle", "sat", Generator(), OnItself(), Opaque()], ids=name_of)
def test_draws(policy: Any) -> None:
    assert draws_by_chance(policy, TABLE)
    assert seeds_for(policy, TABLE, range(2, 5)) == [2, 3, 4]


@pytest.mark.parametrize("policy", ["lwl", "yaq", "bf-js", "vqs", "tetris", "delay-dynamic", "price", Fixed()], ids=name_of)
def test_draws_nothing(policy: Any) -> None:
    assert not draws_by_chance(policy, TABLE)
    assert seeds_for(policy, TABLE, range(2, 5)) == [2]


def test_an_agent_s_weights_are_no_chance() -> None:
    """Its file is read for each seed, in whatever order that has them."""
    table = packenv.workload("paper/fig3a").tabulated(0, 50)
    assert not any(draws_by_chance("agent:fig3a", table) for _ in range(4))


def test_jobs_that_are_drawn() -> None:
    for drawn in ("paper/fig4b", "delay/facebook"):
        assert seeds_for("bf-js", packenv.workload(drawn), range(3)) == [0, 1, 2]
    assert seeds_for("fifo", packenv.workload("price/fig1"), range(3)) == [0]


def test_a_window_of_all_jobs_is_one_table(tmp_path: Path) -> None:
    """No seed changes it; of windows with room for two starts seeds do."""
    (tmp_path / "table.csv").write_text("arrival,size,service\n" + "".join(f"{row},0.5,3\n" for row in range(10)))
    table = packenv.workload(tmp_path / "table.csv", servers=1)
    assert seeds_for("bf-js", table.windows(5, between=(0.5, 1)), range(3)) == [0]
    assert seeds_for("bf-js", table.windows(4, between=(0.5, 1)), range(3)) == [0, 1, 2]
