"""`packenv/Replica-v1`: admit or preempt, one decision at a time."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from packenv.extend import ArgumentError
from packenv_llm import engine
from packenv_llm.replica import Replica
from packenv_llm.requests import find_source
from packenv_llm.rules import find_rule
from packenv_llm.simulation import core_of
from packenv_llm.verbs import rate_bound

FEATURES = 3
REST = 4
MOST = 1000.0  # of every number in an observation
COSTS = {"waiting": 1, "response": 4}  # columns of the engine's bins


class ReplicaEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Admit or preempt requests of one replica.

    ## Decisions
    You decide when a waiting request fits, or when running requests need more blocks than are free.

    ## Actions
    `Discrete(1 + W + V)`. 0: wait for the next arrival, completion or lack of blocks. 1 to W: admit one of the first W waiting
    requests. W + 1 to W + V: preempt one of the last V admitted requests. `action_masks()` shows the valid actions. An invalid
    action counts as the first valid one. Waiting without memory preempts the last admitted request.

    ## Observation
    `Box((4 + 3 (W + V),))`. First: free share of the blocks, waiting and running requests over 100, whether memory is short. For
    each shown request: known tokens over 1,000, seconds since arrival over 10, outputs so far over 1,000.

    ## Reward
    Minus the seconds that requests waited since the last decision, summed over requests. A request waits until the step of its
    arrival ends, and in each step that gives it no token. With `reward="response"`, minus the seconds of all requests in the
    system: an episode's sum is minus the sum of their times to the last token. Most of it no decision can change, so agents
    learn slowly.

    ## Episode
    `count` requests, until all are done. The seed of `reset` draws them. Without a seed, each episode has other requests.

    requests     a source, as in `evaluate`
    replica      a Replica, by default Replica()
    load, count  arrivals as a share of the bound, and requests in an episode
    waiting, running  W and V
    reward       "waiting" or "response"
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(
        self,
        requests: Any = "llm/conv-like",
        load: float = 0.9,
        count: int = 1000,
        waiting: int = 8,
        running: int = 8,
        replica: Replica | None = None,
        reward: str = "waiting",
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            raise ArgumentError("`render_mode`: this environment has none")
        if min(waiting, running, count) < 1 or not load > 0:
            raise ArgumentError("`waiting`, `running` and `count` are at least 1, and `load` is above 0")
        if reward not in COSTS:
            raise ArgumentError(f"`reward` is one of {', '.join(COSTS)}, not {reward!r}")
        self.cost = COSTS[reward]
        self.source, self.replica = find_source(requests), replica or Replica()
        self.rate, self.size = load * rate_bound(self.source, self.replica).rate, count
        self.shown = waiting, running
        self.action_space = spaces.Discrete(1 + waiting + running)
        self.observation_space = spaces.Box(0.0, MOST, (REST + FEATURES * (waiting + running),), np.float32)
        self.render_mode = None
        self.core: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31))
        self.core = core_of(self.source.draw(drawn, self.size, self.rate), self.replica, find_rule("vllm:order=hrrn"))
        self.core.setting[0]["admission"] = engine.BY_ACTION
        self.preempted, self.passed = False, 0.0
        self._run(0)
        return self._observation(), self._info()

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        mask = self.action_masks()
        chosen = int(action) if mask[int(action)] else int(mask.argmax())
        if chosen <= self.shown[0]:
            if chosen > 0:
                r = self.core.request[self.first[chosen - 1]]
                engine.begin(self.core, int(self.places[chosen - 1]), int(r["prompt"] + r["produced"]))
            self._run(0 if chosen else 1)
        else:
            engine.preempt(self.core, int(self.victims[chosen - 1 - self.shown[0]]))
            self.preempted = True
            self._look()
        spent = float(self.core.bins[:, self.cost].sum() + self.core.count[0]["between"])
        reward, self.passed = self.passed - spent, spent
        return self._observation(), reward, self.done, False, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Mask actions, (1 + W + V,): admit if idle."""
        mask = np.zeros(1 + sum(self.shown), np.bool_)
        for n, i in enumerate(self.first):
            mask[1 + n] = not self.preempted and engine.may_enter(self.core, int(i), self.room)
        mask[1 + self.shown[0] : 1 + self.shown[0] + len(self.victims)] = self.short
        mask[0] = self.core.count[0]["running"] > 0 or not mask.any()
        return mask

    def _run(self, steps: int) -> None:
        """Run steps, then to the next decision."""
        self.preempted = self.preempted and steps == 0
        self.done = engine.run(self.core, np.inf, steps) == engine.FINISHED
        self._look()

    def _look(self) -> None:
        """Find the shown requests: first in queue, last admitted."""
        count, request = self.core.count[0], self.core.request
        queue = self.core.queue[: count["queued"]]
        # Order the queue as at admission: preempted requests first.
        front = np.lexsort((request["tie"][queue] * (request["rejoined"][queue] < 0), queue, request["rejoined"][queue] >= 0))
        self.places = front[: self.shown[0]]
        self.first, self.victims = queue[self.places], self.core.running[: count["running"]][::-1][: self.shown[1]]
        self.room = int(engine.room(self.core))
        self.short = self.room < 0 and count["running"] > 1

    def _observation(self) -> NDArray[np.float32]:
        count = self.core.count[0]
        parts: list[Any] = [
            [count["free"] / self.replica.usable, count["queued"] / 100, count["running"] / 100, float(self.short)]
        ]
        for shown, most in zip((self.first, self.victims), self.shown, strict=True):
            r = self.core.request[shown]
            columns = (r["prompt"] + r["produced"]) / 1000, (count["now"] - r["arrival"]) / 10, r["produced"] / 1000
            parts += [np.column_stack(columns).ravel(), np.zeros(FEATURES * (most - len(shown)))]
        return np.minimum(np.concatenate(parts), MOST).astype(np.float32)

    def _info(self) -> dict[str, Any]:
        count = self.core.count[0]
        return {"seconds": float(count["now"]), "done": int(count["done"]), "preempted": int(count["preempted"])}
