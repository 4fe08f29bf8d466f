"""Conformance tests for environments."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env, data_equivalence

from packenv.cluster.state import NEVER
from packenv.envs.registration import ENVIRONMENTS, id_of
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.testing.named_tests import require, run_tests
from packenv.testing.replay import problem_of, waited

Steps = list[tuple[Any, ...]]
"""What `reset` has returned, and then what each step has."""

STEPS = 40  # of an episode that is compared with another
TRIED = 12  # valid actions that are tried at a decision, and as many that are not
DECISIONS = 8  # at which they are tried


class EnvironmentTests:
    """Promises of every environment, each a named test to inherit.

    environment   a name ("ServerFill", or the id of any environment in Gymnasium's registry), or a class that makes one; it must
                  use packenv's core, as in docs/tutorials/your_environment.md
    options       options of the environment
    seed          seed of the episodes
    horizon       slots of an episode; None for a workload that ends
    """

    environment: Any = None
    options: Mapping[str, Any] = MappingProxyType({})
    seed = 0
    horizon: int | None = 1000

    def test_gymnasium_checker_is_silent(self) -> None:
        """Gymnasium's own checker has no error and no warning."""
        _check_gymnasium(self.make(), self._name)

    def test_same_seed_same_episode(self) -> None:
        """Equal seeds give equal episodes, and equal later ones."""
        _check_seed(self.make(), self.make(), self.seed, self._name)

    def test_info_has_the_same_numbers_at_every_step(self) -> None:
        """`info` has the same keys at every step, numbers only."""
        _check_info(_play(self.make(), self.seed, STEPS, self._name), self._name)

    def test_mask_allows_what_is_carried_out(self) -> None:
        """The mask is true exactly for actions that are carried out."""
        _check_masks(self.make(), self.seed, self._name)

    def test_snapshots_and_copies_go_on_alike(self) -> None:
        """Snapshots, pickled copies and restored environments continue equally."""
        _check_snapshots(self.make, self.seed, self._name)

    def test_jobs_and_rewards(self) -> None:
        """Jobs match `packenv.simulate`, servers hold them, and rewards add up."""
        _check_jobs_and_rewards(self.make(), self.seed, self._name)

    def make(self) -> Any:
        require(self.environment is not None, f"{type(self).__name__}: set `environment` to a name or a class")
        return _environment(self.environment, {"horizon": self.horizon, "record_schedule": True, **self.options}, self._name)

    @property
    def _name(self) -> str:
        name = self.environment
        return name if isinstance(name, str) else getattr(name, "__name__", str(name))


def check_environment(env: str | Callable[..., Any], *, seed: int = 0, horizon: int | None = 1000, **options: Any) -> None:
    """Raise AssertionError, with one line, for a failed promise.

    env       a name, or a class or function that makes one
    seed      seed of the episodes
    horizon   slots of an episode; None for a workload that ends
    options   options of the environment
    """
    tests = EnvironmentTests()
    tests.environment, tests.seed, tests.horizon, tests.options = env, seed, horizon, options
    run_tests(tests)


def _environment(env: str | Callable[..., Any], options: dict[str, Any], name: str) -> Any:
    try:
        if isinstance(env, str):
            identifier = id_of(env) if env in ENVIRONMENTS else env
            built = gymnasium.make(identifier, disable_env_checker=True, **options).unwrapped
        else:
            built = env(**options).unwrapped
    except (InputError, gymnasium.error.Error) as problem:
        raise AssertionError(f"{name}: cannot be made: {str(problem).splitlines()[0]}") from problem
    parts = ("core", "get_state", "set_state", "action_masks", "schedule")
    missing = [part for part in parts if not hasattr(built, part)]
    require(not missing, f"{name}: has no {', '.join(missing)}: it is not over packenv's core")
    return built


def _check_gymnasium(env: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            check_env(env, skip_render_check=True)
        except Exception as problem:
            raise AssertionError(f"{name}: Gymnasium's checker: {str(problem).splitlines()[0]}") from problem


def _play(env: Any, seed: int | None, most: int, name: str) -> Steps:
    first = env.reset(seed=seed)
    return [first, *_follow(env, first[1], most, name)]


def _follow(env: Any, info: dict[str, Any], most: int, name: str) -> Steps:
    """Return the steps of random valid actions, determined by masks."""
    rng, steps = np.random.default_rng(1), []
    for _ in range(most):
        valid = np.flatnonzero(info["action_mask"])
        require(len(valid) > 0, f"{name}: at a decision in slot {info.get('slot')} no action is valid")
        steps.append(env.step(int(rng.choice(valid))))
        info = steps[-1][4]
        require(not info["invalid"], f"{name}: an action that the mask allows is invalid in slot {info['slot']}")
        if steps[-1][2] or steps[-1][3]:
            break
    return steps


def _check_info(steps: Steps, name: str) -> None:
    infos = [step[-1] for step in steps]
    for n, info in enumerate(infos):
        different = sorted(set(info) ^ set(infos[0]))
        require(not different, f"{name}: info has {', '.join(different)} at some steps only (step {n})")
        for key, value in info.items():
            number = isinstance(value, (int, float, np.number)) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")
            require(number, f"{name}: info[{key!r}] is not a number, but {value!r} (step {n})")


def _check_seed(first: Any, second: Any, seed: int, name: str) -> None:
    steps = _play(first, seed, STEPS, name)
    reported = steps[0][1].get("seed")
    require(reported == seed, f"{name}: info['seed'] is {reported} after reset(seed={seed})")
    same = data_equivalence(steps, _play(second, seed, STEPS, name), exact=True)
    require(same, f"{name}: not deterministic: two episodes of seed {seed} differ")
    same = data_equivalence(_play(first, None, STEPS, name), _play(second, None, STEPS, name), exact=True)
    require(same, f"{name}: not deterministic: the episodes that follow one of seed {seed} differ")


def _check_masks(env: Any, seed: int, name: str) -> None:
    """Check that exactly the allowed actions are carried out."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    for _ in range(DECISIONS):
        mask, state = np.asarray(info["action_mask"]), env.get_state()
        same = mask.shape == (env.action_space.n,) and (mask.astype(bool) == env.action_masks()).all()
        require(same, f"{name}: info['action_mask'] and action_masks() differ in slot {info['slot']}")
        # try allowed and forbidden actions, each from the same state
        for allowed in (True, False):
            actions = np.flatnonzero(mask.astype(bool) == allowed)
            for action in rng.permutation(actions)[:TRIED]:
                before = _started(env)
                *_, after = env.step(int(action))
                action_text = f"action {action} in slot {info['slot']}, which the mask {'allows' if allowed else 'forbids'}"
                require(bool(after["invalid"]) != allowed, f"{name}: {action_text}, is {'not ' * allowed}carried out")
                if not allowed and after["slot"] == info["slot"] and env.core.options.invalid != "nearest":
                    require(_started(env) == before, f"{name}: {action_text}, starts a task")
                env.set_state(state)
        *_, terminated, truncated, info = env.step(int(rng.choice(np.flatnonzero(mask))))
        if terminated or truncated:
            return


def _started(env: Any) -> int:
    return int(env.core.batch.c.head["started"][0])


def _check_snapshots(make: Callable[[], Any], seed: int, name: str) -> None:
    env = make()
    steps = _play(env, seed, STEPS // 2, name)
    if len(steps[-1]) == 5 and (steps[-1][2] or steps[-1][3]):
        _, info = env.reset()  # so short an episode: its successor
    state, info = env.get_state(), {**steps[-1][-1], "action_mask": env.action_masks()}
    copied = pickle.loads(pickle.dumps(env))
    fresh = make()
    fresh.reset(seed=seed + 1)
    fresh.set_state(state)
    after = [*_follow(env, info, STEPS, name), env.reset()]
    for copy, origin in ((copied, "a pickled copy"), (fresh, "a fresh environment in the same state")):
        same = data_equivalence(after, [*_follow(copy, info, STEPS, name), copy.reset()], exact=True)
        require(same, f"{name}: {origin} goes on differently")
    env.set_state(state)
    same = data_equivalence(after, [*_follow(env, info, STEPS, name), env.reset()], exact=True)
    require(same, f"{name}: set_state does not lead back to the state of get_state")


def _check_jobs_and_rewards(env: Any, seed: int, name: str) -> None:
    """Check an episode against drawn jobs, and rewards against its schedule."""
    core = env.core
    env.reset(seed=seed)
    begun_before = int((env.schedule()[0] >= 0).sum())  # by the first decision: no reward tells of it
    steps = _play(env, seed, 100_000, name)
    end = steps[-1][4]
    if core.warm is not None or len(core.initial) or core.guard is not None:
        return  # tasks that the agent did not start are in the schedule, or were never in the table
    start, server = env.schedule()
    slots = int(end["slot"])
    jobs = _jobs_of(core, seed, len(start))
    require(jobs.home is None, f"{name}: give a workload whose tasks stay as long on every server")
    # the schedule, and the queue by Little's law
    problem = problem_of(jobs, core.workload.servers.units, start, server, slots + 1)
    require(problem is None, f"{name}: with the jobs of seed {seed}: {problem}")
    leaves = np.where(start >= 0, start + jobs.service[: len(start)], -1)
    total = waited(jobs, start, leaves, slots)
    measured = round(end["mean_queue"] * slots)
    require(measured == total, f"{name}: the queue adds up to {measured}, and the waiting of the jobs of seed {seed} to {total}")
    started = np.flatnonzero(start >= 0)
    elapsed = sum(step[4]["elapsed"] for step in steps[1:])
    require(elapsed == slots - steps[0][1]["slot"], f"{name}: info['elapsed'] adds up to {elapsed} slots of {slots}")
    # the sum of the rewards
    delays = waited(jobs.first(len(start)), start, leaves, NEVER // 2) if len(started) == len(start) else None
    waited_before = round(steps[0][1]["mean_queue"] * steps[0][1]["slot"])
    stands_for = {
        "queue": waited_before - total,
        "delay": None if delays is None else waited_before - delays,
        "tasks": len(started) - begun_before - float(core.batch.turn["rate"][0]) * elapsed,
    }.get(str(core.options.reward))
    if stands_for is not None:
        rewards = sum(step[1] for step in steps[1:])
        close = abs(rewards - stands_for) <= 1e-6 * max(1.0, abs(stands_for))
        require(close, f"{name}: rewards add up to {rewards:.10g}, and {core.options.reward} is {stands_for:.10g}")


def _jobs_of(core: Any, seed: int, rows: int) -> Jobs:
    fixed = core.workload.at(seed)
    if fixed.jobs is not None:
        table: Jobs = fixed.jobs
        return table
    drawn: Jobs = fixed.with_(rate=core.rate_of(seed)).jobs_table(seed, rows + 1)
    return drawn
