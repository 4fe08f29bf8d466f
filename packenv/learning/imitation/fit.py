"""Fits an actor to a policy's actions by cross-entropy: a weighted sum to the optimum, a network with hidden layers by steps."""

from __future__ import annotations

import torch
from torch import Tensor

from packenv.learning.imitation.demonstrations import Demonstrations
from packenv.learning.networks.layers import LinearActor, SumActor
from packenv.learning.networks.network import Network, mask_of

SPREAD = 0.1  # of the target's probability is spread evenly over all valid actions
EPOCHS, BATCH, RATE = 8, 1024, 3e-3
RIDGE = 1e-3
"""Times half the squared length of the weights: where a sum takes all of the policy's actions, none are likeliest."""
ITERATIONS = 200  # of L-BFGS


def fit(network: Network, shown: Demonstrations, likeliest: bool = False) -> float:
    """Fit the actor; return the share of decisions in which it then takes the policy's action.

    If `likeliest`, a weighted sum gets the weights under which the policy's actions are likeliest (conditional logit);
    otherwise the target has SPREAD.
    """
    if isinstance(network.actor, SumActor | LinearActor):
        _fit_sum(network, shown, 0.0 if likeliest else SPREAD)
    else:
        _fit_by_steps(network, shown)
    with torch.no_grad():
        mask = mask_of(shown.seen)
        said = network.scores(network.read(shown.seen, mask), mask).argmax(dim=1)
    return float((said == shown.actions).float().mean())


def _fit_sum(network: Network, shown: Demonstrations, spread: float) -> None:
    """Minimise the mean cross-entropy, which is convex in the weights, from weights of 0, with 64-bit floats."""
    mask = mask_of(shown.seen).double()
    rows = network.read({name: array.double() for name, array in shown.seen.items()}, mask)
    target = _target(mask, shown.actions, spread)
    actor = network.actor.double()
    weights = list(actor.parameters())
    for each in weights:
        each.data.zero_()
    optimizer = torch.optim.LBFGS(weights, max_iter=ITERATIONS, history_size=20, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        found = _cross_entropy(network.scores(rows, mask), mask, target)
        found = found + RIDGE / 2 * torch.stack([(each**2).sum() for each in weights]).sum()
        found.backward()  # type: ignore[no-untyped-call]
        return found

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    actor.float()


def _fit_by_steps(network: Network, shown: Demonstrations) -> None:
    optimizer = torch.optim.Adam(network.actor.parameters(), lr=RATE)
    count = len(shown.actions)
    for _ in range(EPOCHS):
        order = torch.randperm(count)
        for first in range(0, count, BATCH):
            chosen = order[first : first + BATCH]
            batch = {name: array[chosen] for name, array in shown.seen.items()}
            mask = mask_of(batch)
            scores = network.scores(network.read(batch, mask), mask)
            loss = _cross_entropy(scores, mask, _target(mask, shown.actions[chosen], SPREAD))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()


def _target(mask: Tensor, actions: Tensor, spread: float) -> Tensor:
    """(N, A) probabilities: 1 - spread of the policy's action, and spread over all valid ones."""
    target = spread * mask / mask.sum(dim=1, keepdim=True)
    return target.scatter_add_(1, actions.unsqueeze(1), torch.full_like(target[:, :1], 1 - spread))


def _cross_entropy(scores: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    logits = torch.log_softmax(scores, dim=1)
    return -(target * logits.masked_fill(mask == 0, 0.0)).sum(dim=1).mean()
