"""Fitting a weighted sum to a policy's actions: a known rule is found again, and the optimum is the optimum."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces
from scipy.optimize import minimize

from packenv.learning.imitation import RIDGE, SPREAD, Demonstrations, fit
from packenv.learning.networks.network import Network, mask_of

N, A, F, C = 2000, 6, 5, 3


def shown_by(rule: np.ndarray, noise: float, seed: int) -> Demonstrations:
    """Decisions of ⟨rule, features⟩ plus Gumbel noise: conditional logit with the weights rule / noise, where it is not 0."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(N, A, F))
    valid = random.random((N, A)) < 0.7
    valid[:, :2] = True
    features[:, :, 0], features[:, :, 1] = 1.0, 0.0
    features *= valid[:, :, None]
    scores = np.where(valid, features @ rule + noise * random.gumbel(size=(N, A)), -np.inf)
    seen = {"actions": torch.from_numpy(features).float(), "context": torch.zeros(N, C)}
    return Demonstrations(seen, torch.from_numpy(scores.argmax(axis=1)))


def sum_network() -> Network:
    seen = {"actions": spaces.Box(-9, 9, (A, F)), "context": spaces.Box(-9, 9, (C,))}
    return Network(spaces.Dict(seen), A, "sum", 8, critic=False)


RULE = np.array([0.0, 0.0, 1.0, -0.5, 0.25])


def test_a_known_rule_is_found_again() -> None:
    """Without noise up to its length, and with noise its length too: the weights of a conditional logit."""
    net = sum_network()
    assert fit(net, shown_by(RULE, 0.0, 1), likeliest=True) > 0.99
    found = net.exported()["actor.of_action"][2:]
    assert np.allclose(found / found[0], RULE[2:], atol=0.02)
    assert fit(net, shown_by(RULE, 0.5, 2), likeliest=True) < 0.9
    assert np.allclose(net.exported()["actor.of_action"][2:], RULE[2:] / 0.5, atol=0.15)
    assert fit(net, shown_by(-RULE, 0.0, 1)) > 0.98


@pytest.mark.parametrize("likeliest", [True, False])
def test_the_fit_is_the_minimum_of_the_cross_entropy(likeliest: bool) -> None:
    """Spelled out in NumPy, and minimised by SciPy from another point."""
    shown, spread = shown_by(RULE, 0.3, 3), 0.0 if likeliest else SPREAD
    features, valid = shown.observations["actions"].double().numpy(), mask_of(shown.observations).numpy() > 0
    target = spread * valid / valid.sum(axis=1, keepdims=True)
    target[np.arange(N), shown.actions.numpy()] += 1 - spread

    def loss(weights: np.ndarray) -> float:
        scores = np.where(valid, features @ weights, -np.inf)
        logits = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return float(-(target * np.where(valid, logits, 0.0)).sum(axis=1).mean() + RIDGE / 2 * (weights**2).sum())

    net = sum_network()
    fit(net, shown, likeliest)
    found = net.exported()["actor.of_action"].astype(float)
    best = minimize(loss, np.ones(F))
    assert loss(found) == pytest.approx(best.fun, abs=1e-6)
    assert np.allclose(found[2:], best.x[2:], atol=0.01)


def test_decisions_of_an_agent_that_may_not_pass() -> None:
    """Where the policy passed, or there is only one other action, there is nothing to learn."""
    actions = torch.ones(3, 3, 2)
    actions[2, 1] = 0.0
    kept = Demonstrations({"actions": actions, "context": torch.zeros(3, 1)}, torch.tensor([1, 2, 0])).without_passing()
    assert kept.actions.tolist() == [1] and mask_of(kept.observations).tolist() == [[1.0, 1.0, 0.0]]
