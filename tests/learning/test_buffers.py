"""Experience discounted by elapsed slots: worked by hand, against an obvious loop, and in the buffers themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from packenv.learning.reinforcement.buffers import AverageReward, ElapsedReplayBuffer, ElapsedRolloutBuffer, advantages

SPACE = spaces.Dict({"x": spaces.Box(-9, 9, (1,), np.float32)})
ACTIONS = spaces.Discrete(3)
HALVES = 1 / np.log(2)  # the timescale on which one slot halves


class Clusters:
    """Stands in for the environment: what it says of the last step."""

    def __init__(self, elapsed: list[int], ended: dict[int, tuple[bool, float]]) -> None:
        self.elapsed = np.array(elapsed)
        self.terminal_rows = np.array(sorted(ended), np.int64)
        self.terminal_truncated = np.array([ended[row][0] for row in sorted(ended)], np.bool_)
        last = [[ended[row][1]] for row in sorted(ended)]
        self.terminal_observations = {"x": np.array(last, np.float32)} if ended else {}


class Doubling:
    """A critic: the value is twice the observation."""

    def predict_values(self, seen: dict[str, torch.Tensor]) -> torch.Tensor:
        return 2 * seen["x"]


def fill(buffer: Any, steps: list[tuple[list[float], list[float], Clusters]]) -> None:
    """Rewards, values and what the environment says, step by step."""
    for rewards, values, clusters in steps:
        buffer.env = clusters
        n = len(rewards)
        seen = {"x": np.zeros((n, 1), np.float32)}
        more = torch.tensor(values).unsqueeze(1), torch.zeros(n)
        buffer.add(seen, np.zeros(n, np.int64), np.array(rewards, np.float32), np.zeros(n), *more, action_masks=None)


def rollout(steps: int, rows: int, **options: Any) -> ElapsedRolloutBuffer:
    chosen: Any = {"env": None, "timescale": HALVES} | options
    buffer = ElapsedRolloutBuffer(steps, SPACE, ACTIONS, "cpu", n_envs=rows, **chosen)
    buffer.policy = Doubling()
    return buffer


def test_by_hand() -> None:
    """Two rows, three steps; row 0 is cut short after step 1 (value 2 · 1.5 = 3), row 1 is done after step 0.

    Row 0: γ = ½, ¼, ½. δ2 = 1 + ½·6 − 2 = 2 and A2 = 2; δ1 = 4 + ¼·3 − 2 = 2.75 and A1 = 2.75 (nothing after the end);
    δ0 = 2 + ½·2 − 1 = 2 and A0 = 2 + ½·½·2.75 = 2.6875.
    Row 1: γ = 1, ½, 1. δ2 = 0 + 4 − 1 = 3, A2 = 3; δ1 = 1 + ½·1 − 3 = −1.5, A1 = −1.5 + ½·½·3 = −0.75;
    δ0 = 5 + 0 − 1 = 4 and A0 = 4: a finished episode has nothing to come.
    """
    buffer = rollout(3, 2, gae_lambda=0.5)
    fill(
        buffer,
        [
            ([2.0, 5.0], [1.0, 1.0], Clusters([1, 0], {1: (False, 7.0)})),
            ([4.0, 1.0], [2.0, 3.0], Clusters([2, 1], {0: (True, 1.5)})),
            ([1.0, 0.0], [2.0, 1.0], Clusters([1, 0], {})),
        ],
    )
    buffer.compute_returns_and_advantage(torch.tensor([[6.0], [4.0]]), np.zeros(2, np.bool_))
    assert buffer.advantages == pytest.approx(np.array([[2.6875, 4.0], [2.75, -0.75], [2.0, 3.0]]), rel=1e-5)
    assert buffer.returns == pytest.approx(buffer.advantages + buffer.values)


def test_average_reward_by_hand() -> None:
    """r̄ = (3 + 1) / (2 + 2) = 1. A1 = 1 − 2 + 5 − 2 = 2; δ0 = 3 − 2 + 2 − 1 = 2 and A0 = 2 + ½·2 = 3."""
    average = AverageReward()
    buffer = rollout(2, 1, gae_lambda=0.5, average=average)
    fill(buffer, [([3.0], [1.0], Clusters([2], {})), ([1.0], [2.0], Clusters([2], {}))])
    buffer.compute_returns_and_advantage(torch.tensor([[5.0]]), np.zeros(1, np.bool_))
    assert average.rate == 1.0
    assert buffer.advantages[:, 0] == pytest.approx([3.0, 2.0])
    assert average.update(np.array([4.0], np.float32), np.array([0.4], np.float32)) == pytest.approx(7.6 / 4.0)


def slowly(r: Any, g: Any, v: Any, last: Any, ended: Any, terminal: Any, lam: float) -> NDArray[np.float64]:
    """For each step, the sum Σ_k (Π γλ) δ_{t+k} up to the end of its episode, written out."""
    steps, rows = r.shape
    result = np.zeros((steps, rows))
    for row in range(rows):
        for t in range(steps):
            weight = 1.0
            for k in range(t, steps):
                following = terminal[k, row] if ended[k, row] else v[k + 1, row] if k + 1 < steps else last[row]
                result[t, row] += weight * (r[k, row] + g[k, row] * following - v[k, row])
                weight *= g[k, row] * lam
                if ended[k, row]:
                    break
    return result


@given(seed=st.integers(0, 10_000), lam=st.sampled_from([0.0, 0.5, 0.95, 1.0]))
@settings(max_examples=40, deadline=None)
def test_advantages_against_the_obvious_loop(seed: int, lam: float) -> None:
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    r, v, terminal = (rng.normal(size=shape).astype(np.float32) for _ in range(3))
    g = np.exp(-rng.integers(0, 200, shape) / 50).astype(np.float32)
    ended = rng.random(shape) < 0.3
    last = rng.normal(size=shape[1]).astype(np.float32)
    found = advantages(r, g, v, last, ended, terminal, lam)
    assert found == pytest.approx(slowly(r, g, v, last, ended, terminal, lam), rel=1e-4, abs=1e-4)


def test_batches_hold_every_step_once() -> None:
    buffer = rollout(4, 3)
    fill(buffer, [([float(t)] * 3, [0.0] * 3, Clusters([1] * 3, {})) for t in range(4)])
    buffer.observations["x"][:] = np.arange(12).reshape(4, 3, 1)
    buffer.returns[:] = np.arange(12).reshape(4, 3)
    batches = list(buffer.get(5))
    assert [len(batch.returns) for batch in batches] == [5, 5, 2]
    seen = torch.cat([batch.observations["x"][:, 0] for batch in batches])
    assert sorted(seen.tolist()) == list(range(12))
    assert (seen == torch.cat([batch.returns for batch in batches])).all()
    assert len(next(iter(buffer.get(None))).returns) == 12


def test_replay_has_a_discount_for_every_transition() -> None:
    buffer = ElapsedReplayBuffer(8, SPACE, ACTIONS, "cpu", n_envs=2, env=None, timescale=HALVES)  # type: ignore[arg-type]
    for t in range(4):
        ended = {1: (t == 1, 50.0 + t)} if t in (1, 2) else {}
        buffer.env = Clusters([t, 2 * t], ended)  # type: ignore[assignment]
        seen = {"x": np.full((2, 1), t, np.float32)}
        following = {"x": np.full((2, 1), t + 1, np.float32)}
        buffer.add(seen, following, np.zeros(2, np.int64), np.zeros(2), np.array([0, bool(ended)]), [])
    assert buffer.discounts == pytest.approx(np.array([[0.5**t, 0.25**t] for t in range(4)]))
    assert buffer.next_observations["x"][:, 1, 0].tolist() == [1.0, 51.0, 52.0, 4.0]
    torch.manual_seed(0)
    batch = buffer.sample(200)
    t, row = batch.observations["x"][:, 0], torch.log2(batch.discounts[:, 0])
    assert set(zip(t.tolist(), row.round().tolist(), strict=True)) >= {(1.0, -1.0), (1.0, -2.0), (3.0, -6.0)}
    # cut short (t = 1, row 1): there is a next state; done (t = 2, row 1): there is none
    done = batch.dones[:, 0] == 1
    assert (t[done] == 2).all() and done.any()
