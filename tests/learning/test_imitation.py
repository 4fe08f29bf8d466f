"""Fitting a weighted sum to a policy's actions: a known rule is found again, and the optimum is the optimum."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from packenv.learning.imitation import RIDGE, Demonstrations, fit

N, A, F, C = 2000, 6, 5, 3
LAYOUT: Any = SimpleNamespace()


def shown_by(rule: np.ndarray, noise: float, seed: int) -> Demonstrations:
    """Decisions of ⟨rule, features⟩ plus Gumbel noise: conditional logit with the weights rule / noise, where it is not 0."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(N, A, F))
    valid = random.random((N, A)) < 0.7
    valid[:, :2] = True
    features[:, :, 0], features[:, :, 1] = 1.0, 0.0
    features *= valid[:, :, None]
    scores = np.where(valid, features @ rule + noise * random.gumbel(size=(N, A)), -np.inf)
    return Demonstrations({"actions": features, "context": np.zeros((N, C))}, scores.argmax(axis=1))


RULE = np.array([0.0, 0.0, 1.0, -0.5, 0.25])


def test_a_known_rule_is_found_again() -> None:
    """Without noise up to its length, and with noise its length too: the weights of a conditional logit."""
    found, share = fit("sum", LAYOUT, shown_by(RULE, 0.0, 1))
    assert share > 0.99 and np.allclose(found[2:F] / found[2], RULE[2:], atol=0.02)
    found, share = fit("sum", LAYOUT, shown_by(RULE, 0.5, 2))
    assert share < 0.9 and np.allclose(found[2:F], RULE[2:] / 0.5, atol=0.15)


def test_the_fit_is_the_minimum_of_the_cross_entropy() -> None:
    """Spelled out in NumPy, and minimised by SciPy from another point without a gradient."""
    shown = shown_by(RULE, 0.3, 3)
    features, valid = shown.observations["actions"], shown.valid

    def loss(weights: np.ndarray) -> float:
        scores = np.where(valid, features @ weights, -np.inf)
        logits = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return float(-logits[np.arange(N), shown.actions].mean() + RIDGE / 2 * (weights**2).sum())

    found, _ = fit("sum", LAYOUT, shown)
    best = minimize(loss, np.ones(F))
    assert loss(found[:F]) == pytest.approx(best.fun, abs=1e-6)
    assert np.allclose(found[2:F], best.x[2:], atol=0.01)


def test_decisions_of_an_agent_that_may_not_pass() -> None:
    """Where the policy passed, or there is only one other action, there is nothing to learn."""
    actions = np.ones((3, 3, 2))
    actions[2, 1] = 0.0
    kept = Demonstrations({"actions": actions, "context": np.zeros((3, 1))}, np.array([1, 2, 0])).without_passing()
    assert kept.actions.tolist() == [1] and kept.valid.tolist() == [[True, True, False]]
