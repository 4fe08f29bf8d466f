"""`packenv.evaluate_agent`: an agent compared with a policy on the same jobs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import check_integer
from packenv.envs.core.state import TOO_MANY_WAITING
from packenv.envs.options import LATEST, READING
from packenv.envs.registration import find_definition, id_of, kind_of
from packenv.errors import InputError
from packenv.learning.agents.library_models import normalizers_of
from packenv.learning.objective import COMPLETION, Objective, measure
from packenv.policy import name_of
from packenv.results.job_times import job_numbers
from packenv.results.result import Result
from packenv.runs.many import simulate_many
from packenv.runs.run import chosen_seeds, draws_by_chance, has_one_table, seeds_for
from packenv.runs.statistics import Interval, interval, paired_ratio
from packenv.workloads.windows import Windows
from packenv.workloads.workload import INTENSITIES, Workload

SEEDS = range(1_000_000, 1_000_008)
"""Seeds that training is unlikely to use: its seeds start at 0."""

SLOTS = 200_000

BASELINE = "baseline"  # compare with the environment's baseline

SLOWDOWN = "mean slowdown"

NEARLY_ALWAYS = 0.9
"""Share of first valid actions above which a score mentions it."""

OF_WORKLOAD = ("workload", "servers", *READING, *INTENSITIES)
"""Options that a finished workload already includes."""

Choose = Callable[[Any, NDArray[np.int8]], NDArray[np.int64]]
"""From the observations and masks (E, A) of all rows to their actions (E,)."""


@dataclass(frozen=True)
class AgentScore:
    """An agent and a policy on the same jobs, seed by seed.

    measure   "mean queue", tasks. Of a table "mean delay", slots, or "mean slowdown" if that is the reward (NextJob), or "mean
              completion", slots, if whole jobs are followed
    scores    of the agent, by seed. One if no seed changes its episode, such as for one table
    against   of `policy`, in the same form. Empty without one
    seeds     with different results. Only the first, without intervals, if nothing depends on it
    cut       seeds whose episode ended at the waiting limit: their queue grows, and the score depends on its length
    remark    about the seeds of a table
    first_actions  share of the decisions with several valid actions in which it took the first, None without any. From 0.9 on
                   the text mentions it. At 1 the agent is the rule that always takes the first
    """

    measure: str
    scores: tuple[float, ...]
    policy: str | None
    against: tuple[float, ...]
    seeds: tuple[int, ...]
    cut: tuple[int, ...] = field(default=())
    remark: str = ""
    first_actions: float | None = None

    @property
    def mean(self) -> Interval:
        """Mean of the agent over the seeds, with a 95 % interval."""
        return interval(self.scores)

    @property
    def ratio(self) -> Interval:
        """Ratio of means, agent to policy, with a 95 % interval.

        Paired by seed. Below 1 the agent is better.
        """
        return paired_ratio(self.scores, self.against)

    def __repr__(self) -> str:
        text = f"{self.measure} {self.mean}"
        if self.policy is not None:
            text += f", {self.ratio} times that of {self.policy} on the same jobs ({interval(self.against)})"
        text += ", one run" if len(self.seeds) == 1 else f", {len(self.seeds)} seeds"
        stopped = "it" if len(self.seeds) == 1 else f"{len(self.cut)} of them"
        text += f"; {stopped} stopped at the waiting limit: the queue grows" if self.cut else ""
        share = self.first_actions or 0.0
        if share == 1:
            text += "; it always took the first valid action, as the rule masks.argmax(axis=1) does"
        elif share >= NEARLY_ALWAYS:
            text += (
                f"; it took the first valid action in {share:.3g} of its choices: compare it with the rule masks.argmax(axis=1)"
            )
        return f"{text}; {self.remark}" if self.remark else text


def evaluate_agent(
    agent: Any,
    environment: Any,
    *,
    slots: int | None = None,
    seeds: int | Sequence[int] = SEEDS,
    against: Any = BASELINE,
    deterministic: bool = True,
    waiting_limit: int = 100_000,
    **options: Any,
) -> AgentScore:
    """Compare an agent with a policy on the same jobs.

    The agent plays one whole episode of the environment for each seed. The policy runs in the simulator.
    agent        a model of Stable-Baselines3 or sb3-contrib, any object with `predict(observation, …)` that returns actions
                 first (`action_masks=` receives masks, `state=` and `episode_start=` the last returned state, as for
                 RecurrentPPO), or a function from observations and masks of all rows to actions
    environment  id as in `gymnasium.make`, with its `options` as in training, or an environment made by `gymnasium.make`: its
                 id and options count
    slots        measured, from an empty cluster. Default: `horizon` if given, else 200,000. Without both, a table is played
                 until its work is done, and the measure is the delay, or the slowdown if that is the reward. JobFill always
                 plays so, measures completion, and takes no `slots`
    seeds        their number, from 1,000,000 on, or the seeds. A whole table is the same for each seed. It is played once,
                 without an interval, unless the agent is random (for a function, two episodes tell). With `jobs=N`, windows of
                 N tasks from a random one on, seeds differ
    against      a policy or its name. "baseline": the environment's, if given, else bf-js. None: no comparison
    A model that holds its environment sees the same as in training, through its VecNormalize. Raises InputError for invalid
    arguments, for a policy without whole jobs, and for a model trained with other options or behind a wrapper that may change
    observations or actions.
    """
    import gymnasium

    if not isinstance(environment, str):
        spec = getattr(environment, "spec", None)
        if spec is None or isinstance(environment, type):
            raise InputError('the environment is an id, "packenv/ServerFill-v1", with its options, or of gymnasium.make')
        environment, options = spec.id, {**spec.kwargs, **options}
        options.pop("render_mode", None)
    # Check the arguments.
    name = kind_of(environment)
    definition = find_definition(name)
    against = options.get("baseline", "bf-js") if isinstance(against, str) and against == BASELINE else against
    rows = chosen_seeds(seeds, SEEDS.start)
    for key in INTENSITIES:
        if isinstance(options.get(key), Sequence):
            raise InputError(f"{key}: one number, for the same jobs with the policy, not {options[key]!r}")
    of_jobs = definition.follows_jobs
    if slots is not None:
        if of_jobs:
            raise InputError(f"slots: {name} plays tables of jobs to their end, so leave it out")
        check_integer("slots", slots, 1, LATEST)
    slots = options.get("horizon") if slots is None and not of_jobs else slots
    # Make one environment for each seed.
    fixed: dict[str, Any] = {"yardstick": False, "waiting_limit": waiting_limit, "start": "empty"}
    fixed |= {"horizon": None, "reward": "completion"} if of_jobs else {} if slots is None else {"horizon": slots}
    make = partial(gymnasium.make_vec, id_of(name), num_envs=len(rows), vectorization_mode="vector_entry_point")
    envs: Any = make(**options | fixed)
    workload = envs.unwrapped.core.workload
    if workload.jobs is None and slots is None:  # a stream has no end of its own
        slots = SLOTS
        envs = make(**options | fixed | {"horizon": slots})
    normalizers = normalizers_of(agent, envs.unwrapped.core)
    # Choose the measure, then let the agent play.
    measured = "mean completion" if of_jobs else "mean delay" if slots is None else "mean queue"
    if slots is None and envs.unwrapped.core.options.reward == "slowdown":
        measured = SLOWDOWN
    guard = envs.unwrapped.core.options.guard
    one_table = has_one_table(workload) and (guard is None or not draws_by_chance(guard, workload))
    if not one_table:
        outcome = played(envs, chooser(agent, deterministic, normalizers), rows, measured, slots)
    else:
        read = {key: value for key, value in options.items() if key not in OF_WORKLOAD} | {"workload": workload, "jobs": None}

        def play(seeds: Sequence[int]) -> Played:
            envs = make(num_envs=len(seeds), **read | fixed)
            return played(envs, chooser(agent, deterministic, normalizers), seeds, measured, slots)

        outcome = _played_as_often_as_differs(play, rows, deterministic and _can_be_deterministic(agent))
    # Run the policy on the same jobs.
    compared: list[float] = []
    policy_seeds = rows if against is None else seeds_for(against, workload, rows)
    if against is not None and of_jobs:
        compared = [measure(workload, against, None, seed, Objective(COMPLETION))[0] for seed in policy_seeds]
        if not np.isfinite(compared).all():
            raise InputError(f"{against} never ends some of the jobs")
    elif against is not None:
        ends: dict[str, Any] = {"slots": slots, "drain": slots is None, "warmup": 0}
        runs = next(iter(simulate_many(workload, [against], policy_seeds, **ends).values()))
        compared = [_compared(run, measured) for run in runs]
    depends = rows[: max(len(outcome.scores), len(compared))]
    choices = int(outcome.choices.sum())
    return AgentScore(
        measure=measured,
        scores=tuple(float(score) for score in outcome.scores),
        policy=None if against is None else against if isinstance(against, str) else name_of(against),
        against=tuple(compared),
        seeds=tuple(int(seed) for seed in depends),
        cut=tuple(int(seed) for seed, over in zip(rows, outcome.cut, strict=False) if over),
        remark=_remark(workload, rows, depends),
        first_actions=int(outcome.first.sum()) / choices if choices else None,
    )


class Played(NamedTuple):
    """Results of the first episode of each row."""

    scores: NDArray[np.float64]  # (E,) what was measured
    cut: NDArray[np.bool_]  # (E,) whether it ended at the waiting limit
    choices: NDArray[np.int64]  # (E,) decisions with several valid actions,
    first: NDArray[np.int64]  # (E,) of these, decisions that took the first valid action


def _played_as_often_as_differs(play: Callable[[Sequence[int]], Played], rows: Sequence[int], deterministic: bool) -> Played:
    """Play once, or for all seeds if the first two scores differ."""
    outcome = play(rows[: 1 if deterministic else 2])
    if len(rows) == 1 or (outcome.scores == outcome.scores[0]).all():
        return Played._make(field[:1] for field in outcome)
    if len(rows) == 2:
        return outcome
    return Played._make(map(np.concatenate, zip(outcome, play(rows[2:]), strict=True)))


def _can_be_deterministic(agent: Any) -> bool:
    predict = getattr(agent, "predict", None)
    return predict is not None and "deterministic" in inspect.signature(predict).parameters


def _remark(workload: Workload, rows: Sequence[int], depends: Sequence[int]) -> str:
    """Return a remark on a table played once, or on overlapping windows."""
    if len(depends) < len(rows):
        table = workload.jobs
        single = table is not None and all(column is None for column in (table.job, table.predecessors, table.home))
        return f"no seed changes a whole table{' (jobs=N: windows of it, which seeds do)' if single else ''}"
    if len(rows) > 1 and isinstance(workload.draw, Windows) and workload.draw.overlap(rows):
        return "their windows of the table overlap, so the interval is too narrow"
    return ""


def _compared(run: Result, measured: str) -> float:
    """Return the measure of a run of the policy."""
    if measured == SLOWDOWN:
        return run.response.mean_slowdown if run.response is not None else math.nan
    return float((run.mean_delay if measured == "mean delay" else run.mean_queue) or 0.0)


def chooser(agent: Any, deterministic: bool = True, normalizers: Sequence[Any] = ()) -> Choose:
    """Return a function from observations and masks to actions.

    It holds a recurrent model's state, so use it for one run of `played`.
    normalizers   VecNormalize objects between environment and model
    Raises InputError for an agent that is neither a model nor a function of two arguments.
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
        for normalizer in normalizers:
            observation = normalizer.normalize_obs(observation)
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
    """Return the agent. Raises InputError if it cannot be called."""
    rule = "an agent needs `predict`, or must be a function from observations (E, …) and masks (E, A) to actions (E,)"
    if isinstance(agent, type) or not callable(agent):
        raise InputError(f"{rule}, not {agent!r}")
    called = getattr(agent, "forward", agent)  # of a module of torch, which is called with anything
    try:
        inspect.signature(called).bind(None, None)
    except TypeError as error:
        name = getattr(agent, "__name__", type(agent).__name__)
        raise InputError(f"{rule}; {name} does not take these arguments: {error}") from None
    except ValueError:  # compiled elsewhere, without a signature
        pass
    function: Choose = agent
    return function


def played(envs: Any, choose: Choose, seeds: Sequence[int], measured: str, slots: int | None = None) -> Played:
    """Play each row's first episode. The queue is measured over `slots`."""
    scores, cut = np.full(len(seeds), np.nan), np.zeros(len(seeds), bool)
    choices, firsts = np.zeros(len(seeds), np.int64), np.zeros(len(seeds), np.int64)
    observation, info = envs.reset(seed=[int(seed) for seed in seeds])
    core = envs.unwrapped.core
    completion = np.array(core.passage.unfinished)  # up to the first decision, at which the sum of rewards begins
    while (playing := np.isnan(scores)).any():
        masks = info["action_mask"]
        actions = np.asarray(choose(observation, masks))
        observation, reward, terminated, truncated, info = envs.step(actions)
        several = playing & (masks.sum(axis=1) > 1)
        choices += several
        firsts += several & _took_the_first(masks, actions, core.options.invalid)
        completion -= reward
        # Score the rows whose first episode has ended.
        first = (terminated | truncated) & playing
        for row in np.flatnonzero(first):
            cut[row] = info["reason"][row] == TOO_MANY_WAITING
            if measured == "mean queue":  # of a table that is done nothing waits later
                scores[row] = info["mean_queue"][row] * (info["slot"][row] / slots if terminated[row] and slots else 1.0)
            elif measured in ("mean delay", SLOWDOWN):
                scores[row] = info[measured.replace(" ", "_")][row]
            else:
                scores[row] = completion[row] / (1 + job_numbers(core.played[row].jobs).max())
    return Played(scores, cut, choices, firsts)


def _took_the_first(masks: NDArray[np.int8], actions: NDArray[np.int64], invalid: str) -> NDArray[np.bool_]:
    """Return whether the first valid action was executed, (E,)."""
    first = masks.argmax(axis=1)
    if invalid == "nearest":  # of two the lower one
        away = np.abs(np.arange(masks.shape[1]) - actions[:, None])
        actions = np.where(masks, away, masks.shape[1]).argmin(axis=1)
    replaced = masks[np.arange(len(masks)), actions] == 0 if invalid == "first" else False
    return (actions == first) | replaced
