"""packenv in 200 lines starts the tasks that the compiled simulator starts, when and where."""

from __future__ import annotations

import pytest

import packenv
from examples import mini
from tests.seeds import seeds


@pytest.mark.parametrize("seed", seeds(2, 20))
@pytest.mark.parametrize("name", mini.POLICIES)
def test_equal_to_the_compiled_simulator(name: str, seed: int) -> None:
    assert mini.differing(name, seed, servers=2 + seed % 4) == []


def test_that_it_could_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """A best fit that keeps the largest residual is another policy, and noticed."""
    monkeypatch.setitem(mini.POLICIES, "bf-js", mini.fifo_first_fit)
    assert len(mini.differing("bf-js", seed=0)) > 20


def test_it_fits_on_a_few_screens() -> None:
    source = mini.__loader__.get_source("examples.mini")  # type: ignore[union-attr]
    assert source is not None and source.count("\n") <= 200 and packenv.UNIT == mini.CAPACITY
