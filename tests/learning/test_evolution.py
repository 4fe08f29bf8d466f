"""CMA-ES finds what is known, and keeps what it knows in its state."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from gymnasium import spaces

import packenv
from packenv import InputError
from packenv.envs.core.features import CONTEXT, FEATURES
from packenv.learning.agents.inference.linear import TERMS
from packenv.learning.evolution import FLOOR, Case, CmaEs, Evolution, merits
from packenv.learning.networks.network import Network
from packenv.learning.settings import Settings

SEEN = spaces.Dict({"actions": spaces.Box(0, 9, (1, FEATURES)), "context": spaces.Box(0, 9, (CONTEXT,))})
N = 2 * TERMS


def search(step: float = 0.5) -> CmaEs:
    return CmaEs(Network(SEEN, 1, "linear", 8, critic=False), step)


def generation(found: CmaEs, seed: int, target: torch.Tensor, scale: torch.Tensor) -> None:
    candidates, draws = found.ask(12, seed)
    found.tell(draws, torch.argsort((((candidates - target) * scale) ** 2).sum(dim=1)).tolist())


@pytest.mark.slow
def test_the_minimum_of_an_ill_conditioned_bowl() -> None:
    """Axes a thousand times as steep as others: the covariance has to learn them."""
    target = torch.linspace(-2, 2, N, dtype=torch.float64)
    scale = torch.logspace(0, 1.5, N, dtype=torch.float64)
    found = search()
    for n in range(1500):
        generation(found, n, target, scale)
    assert torch.allclose(found.mean, target, atol=1e-3)
    assert found.step < 0.05
    lengths = found.covariance.diagonal()
    assert lengths[0] > 30 * lengths[-1]


def test_without_a_better_half_the_mean_wanders_about_where_it_began() -> None:
    """Orders that say nothing: no drift, and the step size does not grow out of bounds."""
    found = search(0.1)
    begun = found.mean
    for n in range(100):
        _, draws = found.ask(12, n)
        found.tell(draws, torch.randperm(12, generator=torch.Generator().manual_seed(n)).tolist())
    assert 0.02 < float(found.step) < 0.5
    assert float((found.mean - begun).abs().max()) < 3


def test_its_state_is_all_that_it_knows() -> None:
    target, scale = torch.ones(N, dtype=torch.float64), torch.ones(N, dtype=torch.float64)
    one, other = search(), search()
    for n in range(20):
        generation(one, n, target, scale)
    other.load_state_dict(one.state_dict())
    for n in range(20, 40):
        generation(one, n, target, scale)
        generation(other, n, target, scale)
    assert all(torch.equal(one.state_dict()[name], other.state_dict()[name]) for name in one.state_dict())


def test_weights_have_the_networks_names_and_order() -> None:
    found = search()
    weights = found.weights_of(found.mean)
    assert {name: array.tolist() for name, array in weights.items()} == {
        name: array.tolist() for name, array in found.network.exported().items()
    }


def test_networks_that_are_too_large() -> None:
    with pytest.raises(InputError, match="at most 1,000 weights"):
        CmaEs(Network(SEEN, 1, "shared", 32), 0.1)


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

    settings = Settings(workload, algorithm="cma-es", network="linear", population=4)
    learner = Evolution(settings, draw=draw)
    learner.learn(1, lambda: None)
    assert seeds == [settings.seed_after(0)]
    assert {"train/median queue at one", "train/median queue at other"} < learner.measured().keys()
    assert learner.samples > 4 * 2
