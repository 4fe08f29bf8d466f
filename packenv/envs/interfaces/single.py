"""One environment: `gymnasium.Env` over a batch of one."""

from __future__ import annotations

import operator
import warnings
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from packenv.cluster.state import NONE
from packenv.envs.core.definition import Definition
from packenv.envs.core.state import OF_EPISODE, OVER, WORK_DONE, Passage
from packenv.envs.episodes.core import NO_QUEUE, Core, Observation
from packenv.envs.episodes.seeds import MOST
from packenv.envs.observation.layout import action_space, observation_space
from packenv.envs.options import check_reset
from packenv.errors import InputError

FIRST_ROW = np.zeros(1, np.int64)
NOTHING_YET = dict.fromkeys(set(Passage._fields) - {"slot", "mean_slowdown", *OF_EPISODE}, 0)
"""What a passage is at the beginning of an episode, and after going to a state of `get_state`."""


class SingleEnv(gymnasium.Env[Observation, np.int64]):
    """The base of all environments, each with its `definition`."""

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 30}  # noqa: RUF012
    definition: ClassVar[Definition]

    def __init__(self, *, render_mode: str | None = None, **options: Any) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise InputError(f"unknown render_mode {render_mode!r}; known: {', '.join(self.metadata['render_modes'])}")
        self.render_mode = render_mode
        self.core = Core(self.definition, 1, options)
        self.action_space = action_space(self.core.layout)
        space: Any = observation_space(self.core.layout, self.core.sizes, self.core.options, self.core.workload)
        self.observation_space = space
        self._viewer: Any = None
        self._bind()

    def _bind(self) -> None:
        """Look up what every step reads, after the batch grew."""
        core = self.core
        batch = self._batch = core.parts[0] if core.tables else core.batch
        self._step, self._rules, self._last = core.step_rows, core.layout.rules, core.layout.actions - 1
        self._action, self._passage, self._mask = batch.action, batch.passage, batch.mask[0]
        self._observed = [(name, getattr(batch, name)[0]) for name in core.layout.observed]
        self._over = bool(batch.turn["phase"][0] == OVER)
        self._seed = int(core.seeds[0])

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an action and go to the next decision.

        Raises InputError for an action that is not a whole number or out of range, ResetNeeded after the end of an episode.
        """
        try:
            chosen = operator.index(action)
        except TypeError:
            chosen = self._integer(action)
        if not 0 <= chosen <= self._last:
            raise InputError(f"action {chosen} is out of range: 0 to {self._last}")
        if self._over:
            raise ResetNeeded("no episode is running: call reset() first")
        self._action[0] = chosen
        if (row := self._step(self._rules, self._batch)) != NONE:
            self.core.help(row)
            self.core.step()
            self._bind()
        core = self.core
        core.advance_baselines()
        passage = Passage._make(self._passage.item())
        reward = core.reward(passage)
        info = self._info(passage)
        if core.options.reward_terms:
            info["reward_terms"] = {name: float(term) for name, term in core.terms(passage).items()}
        if passage.invalid:
            reward -= core.options.invalid_penalty
        terminated = truncated = False
        if passage.reason:
            self._over = True
            terminated = bool(passage.reason == WORK_DONE)
            truncated = not terminated
        if self.render_mode is not None:
            self._watch()
        return self._observation(), float(reward), terminated, truncated, info

    def _info(self, passage: Passage) -> dict[str, Any]:
        """Return info on the last step and the episode."""
        core = self.core
        info = {
            "elapsed": int(passage.elapsed),
            "slot": passage.slot,
            "invalid": passage.invalid == 1,
            "action_mask": self._mask.copy(),
            "seed": self._seed,
            "reason": passage.reason,
            "mean_queue": passage.mean_queue,
            "mean_delay": passage.mean_delay,
            "mean_waiting_size": passage.mean_waiting_size * core.workload.servers.size_unit,
            "utilisation": passage.utilisation,
        }
        info |= {name: getattr(passage, name) for name in core.definition.measures}
        if core.yardsticks:
            info |= core.yardstick(0) if passage.reason else dict.fromkeys(core.of_yardstick, NO_QUEUE)
        if core.guard is not None:
            info["guarded"] = int(passage.guarded)
        return info

    def _observation(self) -> Observation:
        if self.core.flat is not None:
            return self.core.flat(self._batch.actions[0], self._batch.context[0])
        observed = {name: array.copy() for name, array in self._observed}
        if self.core.options.mask_in_observation:
            observed["action_mask"] = self._mask.astype(np.float32)
        return observed

    @staticmethod
    def _integer(action: Any) -> int:
        if isinstance(action, np.ndarray) and action.size == 1 and action.dtype.kind in "iu":
            return int(action.item())
        raise InputError(f"action must be a whole number, not {action!r}")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin the first episode of `seed`, or the next one.

        `packenv.simulate` draws the same jobs with `info["seed"]`.

        options   {"intensity": X}, or load or rate, of this and later episodes: a number or (lowest, highest);
                  {"state": S} goes to a state of `get_state` instead. Raises InputError for other options
        """
        super().reset(seed=seed)
        core = self.core
        core.set_rates(check_reset(options or {}, "state"))
        if seed is not None:
            core.seed_rows((0,), (seed & MOST,))
        elif core.episodes[0] < 0:
            core.seed_rows((0,), (int(self.np_random.integers(MOST)),))
        if options and "state" in options:
            self.set_state(options["state"])
        else:
            core.begin(FIRST_ROW)
            self._bind()
            self._over = False  # also of an episode without a decision: its first step ends it
        if self.render_mode is not None:
            self._watch(restarted=True)
        info = self._info(Passage._make(self._passage.item())._replace(**NOTHING_YET))
        if core.options.reward_terms:
            info["reward_terms"] = dict.fromkeys(core.terms(core.passage), 0.0)
        return self._observation(), info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the valid actions, (A,), for sb3-contrib."""
        return self._mask.astype(np.bool_)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return a name for each number of "normalized"."""
        if self.core.flat is None:
            raise InputError("only the observation 'normalized' has one name for each number")
        return self.core.flat.names(self.core.layout.actions)

    def wake_at(self, slot: int) -> None:
        """Add a decision in a later slot, even without events."""
        head = self.core.batch.c.head
        if head["now"][0] < slot < head["wake"][0]:
            head["wake"][0] = slot

    def schedule(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return start slots (or -1) and servers, (rows,). Needs `record_schedule`."""
        c = self.core.batch.c
        if c.measures.start.shape[1] == 0:
            raise InputError("the schedule is not recorded: pass record_schedule=True")
        rows = int(c.head["next_row"][0])
        return c.measures.start[0, :rows].copy(), c.measures.server[0, :rows].copy()

    def get_state(self) -> dict[str, Any]:
        """Return a copy of everything that the future depends on."""
        return self.core.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state of `get_state` with the same arguments."""
        self.core.set_state(state)
        self._bind()

    def render(self) -> Any:
        """Return an (H, W, 3) uint8 picture or a text.

        `rgb_array` returns the picture, `ansi` the text, and `human` opens a window.
        """
        if self.render_mode is None:
            warnings.warn("render() does nothing without a render_mode", stacklevel=2)
            return None
        return self._watching().show(self.core, 0)

    def _watch(self, restarted: bool = False) -> None:
        viewer = self._watching()
        if restarted:
            viewer.forget()
        if self.render_mode == "human":
            viewer.show(self.core, 0)
        else:
            viewer.look(self.core, 0)

    def _watching(self) -> Any:
        if self._viewer is None:
            from packenv.envs.rendering import Viewer

            assert self.render_mode is not None
            self._viewer = Viewer(self.render_mode)
        return self._viewer

    def close(self) -> None:
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None

    def __getstate__(self) -> dict[str, Any]:
        bound = ("_batch", "_step", "_rules", "_action", "_passage", "_mask", "_observed", "_viewer")
        return {name: value for name, value in self.__dict__.items() if name not in bound}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._viewer = None
        self._bind()
