"""CMA-ES finds what is known, and keeps what it knows in its state."""

from __future__ import annotations

import math

import numpy as np
import pytest

import packenv
from packenv.learning.agents.networks import TERMS
from packenv.learning.evolution import FLOOR, Case, CmaEs, Evolution, merits
from packenv.learning.settings import Settings
from packenv.learning.weighted_sums import as_vector, as_weights, first_weights
from tests.envs.playing import plain_env

N = 2 * TERMS


def search(step: float = 0.5) -> CmaEs:
    return CmaEs(np.zeros(N), step)


def generation(found: CmaEs, seed: int, target: np.ndarray, scale: np.ndarray) -> None:
    candidates, draws = found.ask(12, seed)
    found.tell(draws, np.argsort((((candidates - target) * scale) ** 2).sum(axis=1)).tolist())


@pytest.mark.slow
def test_the_minimum_of_an_ill_conditioned_bowl() -> None:
    """Axes a thousand times as steep as others: the covariance has to learn them."""
    target, scale = np.linspace(-2, 2, N), np.logspace(0, 1.5, N)
    found = search()
    for n in range(1500):
        generation(found, n, target, scale)
    assert np.allclose(found.mean, target, atol=1e-3)
    assert found.step < 0.05
    lengths = found.covariance.diagonal()
    assert lengths[0] > 30 * lengths[-1]


def test_without_a_better_half_the_mean_wanders_about_where_it_began() -> None:
    """Orders that say nothing: no drift, and the step size does not grow out of bounds."""
    found = search(0.1)
    begun = found.mean
    for n in range(100):
        _, draws = found.ask(12, n)
        found.tell(draws, np.random.default_rng(1000 + n).permutation(12).tolist())
    assert 0.02 < float(found.step) < 0.5
    assert float(np.abs(found.mean - begun).max()) < 3


def test_its_state_is_all_that_it_knows() -> None:
    one, other = search(), search()
    for n in range(20):
        generation(one, n, np.ones(N), np.ones(N))
    vars(other).update(vars(one))
    for n in range(20, 40):
        generation(one, n, np.ones(N), np.ones(N))
        generation(other, n, np.ones(N), np.ones(N))
    assert all(np.array_equal(vars(one)[name], vars(other)[name]) for name in vars(one))


@pytest.mark.parametrize("kind", ["linear", "sum", "varying"])
def test_weights_have_the_networks_names_and_order(kind: str) -> None:
    first = first_weights(kind, plain_env("ServerFill", observation="actions").unwrapped.core.layout)  # type: ignore[attr-defined]
    numbers = np.arange(as_vector(first).size, dtype=np.float64)
    weights = as_weights(numbers, first)
    assert {name: array.shape for name, array in weights.items()} == {name: array.shape for name, array in first.items()}
    assert np.array_equal(as_vector(weights), numbers)


def test_merits_by_hand() -> None:
    """Without references mean logarithms; with them ratios, where FLOOR is added to both, and those above 1 count double."""
    workload = packenv.workload("paper/fig4b", intensity=0.5)
    measured = np.array([[1.0, math.e], [1.0, 1.0]])
    assert merits(measured, [Case("", workload, 1)] * 2).tolist() == pytest.approx([0.5, 0.0])
    halved, doubled = 2 * measured + FLOOR, 0.5 * measured - 0.5 * FLOOR  # references
    assert merits(measured, [Case("", workload, 1, reference) for reference in halved[0]])[0] == pytest.approx(-math.log(2))
    assert merits(measured, [Case("", workload, 1, reference) for reference in doubled[0]])[0] == pytest.approx(2 * math.log(2))


def test_a_generation_plays_the_cases_that_are_drawn_for_it() -> None:
    """The first generation's seed draws them, once; started tasks are counted over all candidates."""
    workload, seeds = packenv.workload("paper/fig4b", intensity=0.5), []

    def draw(seed: int) -> list[Case]:
        seeds.append(seed)
        return [Case("one", workload, 300, 0.2), Case("other", workload.with_(servers=2), 300, 0.2)]

    settings = Settings(workload, network="linear", population=4)
    learner = Evolution(settings, draw=draw)
    learner.learn(1, lambda: None)
    assert seeds == [settings.seed_after(0)]
    assert {"train/median queue at one", "train/median queue at other"} < learner.measured().keys()
    assert learner.samples > 4 * 2
