"""`packenv.evaluate_agent`: what a model of any library does in an environment, beside a policy on the same jobs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import whole
from packenv.envs.core.state import TOO_MANY_WAITING
from packenv.envs.options import LATEST
from packenv.envs.registration import find_definition, id_of, kind_of
from packenv.errors import InputError
from packenv.learning.agents.trained_in import normalizers_of
from packenv.learning.objective import COMPLETION, Objective, measure
from packenv.policy import name_of
from packenv.results.job_times import job_numbers
from packenv.results.result import Result
from packenv.runs.many import simulate_many
from packenv.runs.statistics import Interval, interval, ratio_of_means
from packenv.workloads.workload import INTENSITIES

SEEDS = range(1_000_000, 1_000_008)
"""Seeds that no training is likely to meet: jobs of training are of seeds from 0 on."""

SLOTS = 200_000

BASELINE = "baseline"  # what an agent is compared with: the environment's

SLOWDOWN = "mean slowdown"

Choose = Callable[[Any, NDArray[np.int8]], NDArray[np.int64]]
"""From the observations and masks (E, A) of all rows to their actions (E,)."""


@dataclass(frozen=True)
class AgentScore:
    """An agent beside a policy, seed by seed on the same jobs.

    measure   "mean queue", tasks; of a table "mean delay", slots, or "mean slowdown" if that is the reward, as of NextJob; where
              whole jobs are followed "mean completion", slots
    scores    the agent's, by seed
    against   those of `policy`; empty without one
    cut       seeds whose episode ended at the waiting limit: their queue grows, and the score says how long they went on
    """

    measure: str
    scores: tuple[float, ...]
    policy: str | None
    against: tuple[float, ...]
    seeds: tuple[int, ...]
    cut: tuple[int, ...] = field(default=())

    @property
    def mean(self) -> Interval:
        """The agent's mean over the seeds, with its 95 % interval."""
        return interval(self.scores)

    @property
    def ratio(self) -> Interval:
        """The agent's mean over the policy's, with its 95 % interval, paired seed by seed: below 1 the agent is better."""
        return ratio_of_means(self.scores, self.against)

    def __repr__(self) -> str:
        text = f"{self.measure} {self.mean}"
        if self.policy is not None:
            text += f", {self.ratio} times that of {self.policy} on the same jobs ({interval(self.against)})"
        text += f", {len(self.seeds)} seeds"
        return text + (f"; {len(self.cut)} of them stopped at the waiting limit: the queue grows" if self.cut else "")


def evaluate_agent(
    agent: Any,
    environment: str,
    *,
    slots: int | None = None,
    seeds: int | Sequence[int] = SEEDS,
    against: Any = BASELINE,
    deterministic: bool = True,
    waiting_limit: int = 100_000,
    **options: Any,
) -> AgentScore:
    """Let an agent play whole episodes of an environment, one for each seed, and a policy the same jobs in the simulator.

    agent        a model of Stable-Baselines3 or sb3-contrib, anything with `predict(observation, …)` that returns actions first
                 (with `action_masks=` it is given masks, with `state=` and `episode_start=` the state that it returned last, as
                 RecurrentPPO needs it), or a function from observations and masks, of all rows, to actions
    environment  its id, as in `gymnasium.make`; `options` are the environment's, as in training
    slots        over which the queue is measured, from an empty cluster: the environment's `horizon`, if it is among the options,
                 else 200,000. Without both a table is played until its work is done, and the delay is measured, or the slowdown
                 if that is the reward; in JobFill always, and completion: there it takes no `slots`
    seeds        how many, from 1,000,000 on, or which ones
    against      a policy or its name; "baseline": the environment's, if it is among the options, else bf-js; None: none

    A model that holds its environment sees what it saw in training: through its VecNormalize, if it has one. Raises InputError
    for what cannot be, a policy that whole jobs do not have, and a model that was trained with other options than the call's,
    or behind another wrapper that may change what it sees or does.
    """
    import gymnasium

    name = kind_of(environment)
    definition = find_definition(name)
    against = options.get("baseline", "bf-js") if isinstance(against, str) and against == BASELINE else against
    rows = [*SEEDS.start + np.arange(seeds)] if isinstance(seeds, int) else [*seeds]
    if not rows:
        raise InputError("seeds: at least one")
    for key in INTENSITIES:
        if isinstance(options.get(key), Sequence):
            raise InputError(f"{key}: one number, so that the policy has the same jobs, not {options[key]!r}")
    of_jobs = definition.follows_jobs
    if slots is not None:
        if of_jobs:
            raise InputError(f"slots: {name} plays tables of jobs until all are done, so it takes none")
        whole("slots", slots, 1, LATEST)
    slots = options.get("horizon") if slots is None and not of_jobs else slots
    fixed: dict[str, Any] = {"yardstick": False, "waiting_limit": waiting_limit, "start": "empty"}
    fixed |= {"horizon": None, "reward": "completion"} if of_jobs else {} if slots is None else {"horizon": slots}
    make = partial(gymnasium.make_vec, id_of(name), num_envs=len(rows), vectorization_mode="vector_entry_point")
    envs: Any = make(**options | fixed)
    workload = envs.unwrapped.core.workload
    if workload.jobs is None and slots is None:  # a stream has no end of its own
        slots = SLOTS
        envs = make(**options | fixed | {"horizon": slots})
    normalizers = normalizers_of(agent, envs.unwrapped.core)
    measured = "mean completion" if of_jobs else "mean delay" if slots is None else "mean queue"
    if slots is None and envs.unwrapped.core.options.reward == "slowdown":
        measured = SLOWDOWN
    scores, cut = played(envs, chooser(agent, deterministic, normalizers), rows, measured, slots)
    compared: list[float] = []
    if against is not None and of_jobs:
        compared = [measure(workload, against, None, seed, Objective(COMPLETION))[0] for seed in rows]
        if not np.isfinite(compared).all():
            raise InputError(f"{against} never ends some of the jobs")
    elif against is not None:
        ends: dict[str, Any] = {"slots": slots, "drain": slots is None, "warmup": 0}
        runs = next(iter(simulate_many(workload, [against], rows, **ends).values()))
        compared = [_compared(run, measured) for run in runs]
    return AgentScore(
        measure=measured,
        scores=tuple(float(score) for score in scores),
        policy=None if against is None else against if isinstance(against, str) else name_of(against),
        against=tuple(compared),
        seeds=tuple(int(seed) for seed in rows),
        cut=tuple(int(seed) for seed, over in zip(rows, cut, strict=True) if over),
    )


def _compared(run: Result, measured: str) -> float:
    """What is measured of a run of the policy."""
    if measured == SLOWDOWN:
        return run.response.mean_slowdown if run.response is not None else math.nan
    return float((run.mean_delay if measured == "mean delay" else run.mean_queue) or 0.0)


def chooser(agent: Any, deterministic: bool = True, normalizers: Sequence[Any] = ()) -> Choose:
    """A function from what is observed and masks to actions, for one run of `played`: it keeps a recurrent model's state.

    normalizers   the VecNormalize that a model sees the environment through

    Raises InputError for what is neither a model nor a function of two arguments.
    """
    predict = None if isinstance(agent, type) else getattr(agent, "predict", None)
    if predict is None:
        return _checked_function(agent)
    taken = inspect.signature(predict).parameters
    plain = {"deterministic": deterministic} if "deterministic" in taken else {}
    recurrent = {"state", "episode_start"} <= taken.keys()
    state: Any = None
    starts: NDArray[np.bool_] | None = None

    def choose(observation: Any, masks: NDArray[np.int8]) -> Any:
        nonlocal state, starts
        for each in normalizers:
            observation = each.normalize_obs(observation)
        arguments: dict[str, Any] = dict(plain)
        if "action_masks" in taken:
            arguments["action_masks"] = masks.astype(bool)
        if recurrent:
            arguments |= {"state": state, "episode_start": np.ones(len(masks), bool) if starts is None else starts}
        chosen = predict(observation, **arguments)
        if recurrent:  # only the first episode of a row counts: it begins once
            state, starts = chosen[1], np.zeros(len(masks), bool)
        return chosen[0]

    return choose


def _checked_function(agent: Any) -> Choose:
    """The agent itself. Raises InputError where it cannot be called with observations and masks."""
    wanted = "an agent has `predict`, or is a function from observations (E, …) and masks (E, A) to actions (E,)"
    if isinstance(agent, type) or not callable(agent):
        raise InputError(f"{wanted}, not {agent!r}")
    called = getattr(agent, "forward", agent)  # of a module of torch, which is called with anything
    try:
        inspect.signature(called).bind(None, None)
    except TypeError as error:
        name = getattr(agent, "__name__", type(agent).__name__)
        raise InputError(f"{wanted}; {name} does not take these two: {error}") from None
    except ValueError:  # compiled elsewhere, without a signature
        pass
    function: Choose = agent
    return function


def played(
    envs: Any, choose: Choose, seeds: Sequence[int], measured: str, slots: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(E,) what is measured of each row's first episode, the queue over `slots`; and which were cut at the waiting limit."""
    scores, cut = np.full(len(seeds), np.nan), np.zeros(len(seeds), bool)
    observation, info = envs.reset(seed=[int(seed) for seed in seeds])
    core = envs.unwrapped.core
    completion = np.array(core.passage.unfinished)  # up to the first decision, at which the sum of rewards begins
    while np.isnan(scores).any():
        observation, reward, terminated, truncated, info = envs.step(np.asarray(choose(observation, info["action_mask"])))
        completion -= reward
        first = (terminated | truncated) & np.isnan(scores)
        for row in np.flatnonzero(first):
            cut[row] = info["reason"][row] == TOO_MANY_WAITING
            if measured == "mean queue":  # of a table that is done nothing waits later
                scores[row] = info["mean_queue"][row] * (info["slot"][row] / slots if terminated[row] and slots else 1.0)
            elif measured in ("mean delay", SLOWDOWN):
                scores[row] = info[measured.replace(" ", "_")][row]
            else:
                scores[row] = completion[row] / (1 + job_numbers(core.played[row].jobs).max())
    return scores, cut
