"""Batched environments: `gymnasium.vector.VectorEnv` in one compiled call."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from packenv.envs.core.definition import Definition
from packenv.envs.core.state import OF_EPISODE, OVER, WORK_DONE
from packenv.envs.episodes.core import NO_QUEUE, Core, Observation
from packenv.envs.episodes.seeds import MOST
from packenv.envs.observation.layout import action_space, observation_space
from packenv.envs.options import check_reset
from packenv.errors import InputError

Observations = Observation
Array = NDArray[Any]


class BatchEnv(VectorEnv[Observations, Array, Array]):
    """The base of batched environments, each with its `definition`.

    Arguments: `num_envs`, `autoreset_mode` (NEXT_STEP, SAME_STEP or DISABLED, or their values as text), and the arguments of the
    single environment. `reset(seed=s)` gives row i the seed s + i, with the episodes of the single environment with that seed.
    All returned arrays are new.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array", "ansi"],
        "render_fps": 30,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    definition: ClassVar[Definition]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(mode.value for mode in AutoresetMode)
            raise InputError(f"unknown autoreset_mode {autoreset_mode!r}; known: {modes}") from None
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise InputError(f"unknown render_mode {render_mode!r}; known: {', '.join(self.metadata['render_modes'])}")
        self.render_mode = render_mode
        self.metadata = self.metadata | {"autoreset_mode": mode}
        self.autoreset_mode = mode
        self.num_envs = num_envs
        self.core = Core(self.definition, num_envs, options)
        core = self.core
        self.single_action_space = action_space(core.layout)
        self.single_observation_space = observation_space(core.layout, core.sizes, core.options, core.workload)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._viewers: dict[int, Any] = {}
        self._over = np.ones(num_envs, np.bool_)
        self._terms: dict[str, Array] = {}  # of the rewards of the last step, each (num_envs,)
        self._no_terms()

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode in every row, or where masked.

        The mask is options["reset_mask"] (num_envs,) bool. {"intensity": X}, or load or rate, sets all later episodes: a number
        or (lowest, highest).
        """
        super().reset(seed=seed if isinstance(seed, int) else None)
        core, options = self.core, dict(options or {})
        chosen = np.arange(self.num_envs)
        rates = check_reset(options, "reset_mask")
        if (mask := options.get("reset_mask")) is not None:
            if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
                raise InputError(f"reset_mask must be a boolean array of shape ({self.num_envs},) with a True in it")
            chosen = np.flatnonzero(mask)
        core.set_rates(rates)
        self._seed(chosen, seed)
        self._restart(chosen)
        self._no_terms()
        rows = np.zeros(self.num_envs, np.bool_)
        rows[chosen] = True
        return core.observation(), self._info(rows=rows)

    def _seed(self, chosen: NDArray[np.int64], seed: int | list[int | None] | None) -> None:
        core = self.core
        if isinstance(seed, (int, np.integer)):
            core.seed_rows(chosen, [int(seed) + int(row) & MOST for row in chosen])
            return
        if seed is not None and len(seed) != self.num_envs:
            raise InputError(f"{len(seed)} seeds for {self.num_envs} environments")
        seeds = [None] * self.num_envs if seed is None else seed
        for row in chosen.tolist():
            if (row_seed := seeds[row]) is not None:
                core.seed_rows((row,), (row_seed,))
            elif core.episodes[row] < 0:
                core.seed_rows((row,), (int(self.np_random.integers(MOST)),))

    def _restart(self, rows: NDArray[np.int64]) -> None:
        if len(rows):
            self.core.begin(rows)
        self._over[rows] = False

    def step(self, actions: Array) -> tuple[Observations, Array, Array, Array, dict[str, Any]]:
        """Take an action in every row, to its next decision.

        Finished NEXT_STEP rows begin an episode instead. Raises InputError for actions that are not whole numbers, out of range
        or too few, ResetNeeded before `reset` and, with autoreset DISABLED, for finished rows.
        """
        core = self.core
        self._act(actions)
        began: NDArray[np.int64] | None = None
        if np.count_nonzero(self._over):  # several times as fast as `any`
            if self.autoreset_mode is not AutoresetMode.NEXT_STEP or (core.episodes < 0).any():
                raise ResetNeeded(f"row {int(np.argmax(self._over))} needs a reset() first")
            began = np.flatnonzero(self._over)
            core.restart(began)
        core.step()
        rewards, reasons = self._outcome(began)
        info = self._info(reasons)
        self._over = over = reasons.astype(np.bool_)
        if not np.count_nonzero(over):
            return core.observation(), rewards, over.copy(), over.copy(), info
        terminated = reasons == WORK_DONE
        truncated = over & ~terminated
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            return self._begin_again(rewards, terminated, truncated, info)
        return core.observation(), rewards, terminated, truncated, info

    def _act(self, actions: Array) -> None:
        chosen = np.asarray(actions)
        if chosen.dtype.kind not in "iu" or chosen.shape != (self.num_envs,):
            raise InputError(f"actions must be {self.num_envs} whole numbers, not {chosen.dtype} of shape {chosen.shape}")
        buffer = self.core.batch.action
        buffer[:] = chosen
        if buffer.view(np.uint64).max() >= self.core.layout.actions:  # negative ones are very large then
            row = int(np.argmax((buffer < 0) | (buffer >= self.core.layout.actions)))
            raise InputError(f"row {row}: action {chosen[row]} is out of range: 0 to {self.core.layout.actions - 1}")

    def _outcome(self, began: NDArray[np.int64] | None) -> tuple[Array, Array]:
        """Return rewards and end reasons (0: none) of the step."""
        core, passage = self.core, self.core.passage
        core.advance_baselines()
        rewards = np.asarray(core.reward(passage), np.float64)
        if rewards.base is not None or rewards.shape != (self.num_envs,):
            rewards = np.broadcast_to(rewards, (self.num_envs,)).copy()
        if core.options.invalid_penalty > 0:
            rewards -= core.options.invalid_penalty * passage.invalid
        reasons = core.batch.passage["reason"]
        if core.options.reward_terms:
            self._terms = {name: np.array(term, np.float64) for name, term in core.terms(passage).items()}
            for term in self._terms.values() if began is not None else ():
                term[began] = 0.0
        if began is not None:
            rewards[began] = 0.0
            reasons = reasons.copy()
            reasons[began] = 0
        return rewards, reasons

    def _no_terms(self) -> None:
        self._terms = {}
        if self.core.options.reward_terms:
            self._terms = {name: np.zeros(self.num_envs) for name in self.core.terms(self.core.passage)}

    def _begin_again(
        self, rewards: Array, terminated: Array, truncated: Array, info: dict[str, Any]
    ) -> tuple[Observations, Array, Array, Array, dict[str, Any]]:
        """Begin new episodes in the same step (SAME_STEP)."""
        over = self._over.copy()
        last = self.core.observation()
        final = np.full(self.num_envs, None, object)
        for row in np.flatnonzero(over):
            final[row] = {name: array[row].copy() for name, array in last.items()} if isinstance(last, dict) else last[row].copy()
        final_info = info | {key: over.copy() for key in info if key.startswith("_")}
        self._restart(np.flatnonzero(over))
        ended = {"final_obs": final, "_final_obs": over.copy(), "final_info": final_info, "_final_info": over.copy()}
        return self.core.observation(), rewards, terminated, truncated, self._info(info["reason"]) | ended

    def _info(self, reasons: Array | None = None, rows: Array | None = None) -> dict[str, Any]:
        """Return arrays (num_envs, …), always the same, with Gymnasium's masks `_key`."""
        passage = self.core.batch.passage
        info: dict[str, Any] = {
            "elapsed": passage["elapsed"].astype(np.int64),
            "slot": passage["slot"].copy(),
            "invalid": passage["invalid"].astype(np.bool_),
            "action_mask": self.core.batch.mask.copy(),
            "seed": self.core.seeds.copy(),
            "reason": np.zeros(self.num_envs, np.int64) if reasons is None else reasons.copy(),
        }
        info |= {name: passage[name].copy() for name in (*OF_EPISODE, *self.core.definition.measures)}
        info["mean_waiting_size"] *= self.core.workload.servers.size_unit
        if self.core.yardsticks:
            info |= {name: np.full(self.num_envs, NO_QUEUE) for name in self.core.of_yardstick}
            for row in np.flatnonzero(info["reason"]).tolist():
                for name, number in self.core.yardstick(row).items():
                    info[name][row] = number
        if self.core.options.reward_terms:
            info["reward_terms"] = {name: term.copy() for name, term in self._terms.items()}
        if self.core.guard is not None:
            info["guarded"] = passage["guarded"].astype(np.int64)
        meant = np.ones(self.num_envs, np.bool_) if rows is None else rows.copy()
        return info | {f"_{key}": meant for key in info}

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the valid actions now, (num_envs, A)."""
        return self.core.batch.mask.astype(np.bool_)

    def wake_at(self, slot: int, row: int) -> None:
        """Give row a decision in a later slot without events."""
        head = self.core.batch.c.head
        if head["now"][row] < slot < head["wake"][row]:
            head["wake"][row] = slot

    def get_state(self) -> dict[str, Any]:
        """Return a copy of everything that the future depends on."""
        return self.core.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state of `get_state` of equally many environments."""
        self.core.set_state(state)
        self._over = self.core.batch.turn["phase"] == OVER

    def render(self) -> tuple[Any, ...] | None:
        """Return the picture of each row (`human` shows row 0)."""
        from packenv.envs.rendering import Viewer

        if self.render_mode is None:
            return None
        rows = 1 if self.render_mode == "human" else self.num_envs
        for row in range(rows):
            if row not in self._viewers:
                self._viewers[row] = Viewer(self.render_mode)
        return tuple(self._viewers[row].show(self.core, row) for row in range(rows))

    def close_extras(self, **kwargs: Any) -> None:
        for viewer in self._viewers.values():
            viewer.close()
        self._viewers = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_viewers"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _viewers={})
