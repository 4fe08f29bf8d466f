"""`packenv.evaluate_agent`: scores are those of whole episodes, beside the simulator's on the same jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import packenv
from packenv import InputError

SETTING: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.9, "slots": 3000}


def first(seen: Any, masks: Any) -> Any:
    return masks.argmax(axis=1)


class Model:
    """As Stable-Baselines3's models."""

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False) -> Any:
        return np.zeros(len(observation), np.int64), state


class Masked:
    """As sb3-contrib's: it wants masks."""

    def predict(self, observation: Any, state: Any = None, deterministic: bool = False, action_masks: Any = None) -> Any:
        assert action_masks.dtype == bool and deterministic
        return action_masks.argmax(axis=1), state


def test_largest_first_is_best_fit() -> None:
    """Always the first choice, server by server: what BF-S does, to the task."""
    score = packenv.evaluate_agent(first, "packenv/ServerFill-v1", against="bf-s", seeds=3, order="index", **SETTING)
    assert score.scores == pytest.approx(score.against) and score.measure == "mean queue"
    workload = packenv.workload("paper/fig4b", intensity=0.9)
    assert score.against[2] == packenv.simulate(workload, "bf-s", slots=3000, seed=1_000_002, warmup=0).mean_queue
    assert "times that of bf-s on the same jobs" in repr(score)
    assert score.first_actions == 1
    assert repr(score).endswith("3 seeds; it always took the first valid action, as the rule masks.argmax(axis=1) does")


@pytest.mark.parametrize("invalid", ["first", "nearest", "wait"])
def test_how_often_the_first_valid_action_was_taken(invalid: str) -> None:
    """Of the decisions with several valid ones; in place of one that is not valid counts what was carried out."""
    options: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.9, "horizon": 2000, "invalid": invalid}
    env, draw = gym.make("packenv/ServerFill-v1", **options), np.random.default_rng(0)
    played = draw.integers(0, 5, 10_000)
    taken: list[bool] = []
    _, info = env.reset(seed=3)
    for action in played.tolist():
        if info["reason"]:
            break
        valid = np.flatnonzero(info["action_mask"])
        nearest = min(valid, key=lambda n: (abs(n - action), n))
        done = action if action in valid else {"first": valid[0], "nearest": nearest, "wait": -1}[invalid]
        taken += [bool(done == valid[0])] if len(valid) > 1 else []
        *_, info = env.step(action)
    left = iter(played.tolist())
    score = packenv.evaluate_agent(lambda seen, masks: np.array([next(left)]), "ServerFill", seeds=[3], against=None, **options)
    assert score.first_actions == np.mean(taken) and 0 < score.first_actions < 0.9 and "first valid" not in repr(score)
    assert "the first valid action in 0.95 of its choices: compare it" in repr(replace(score, first_actions=0.95))


def test_the_horizon_of_training_is_the_length_if_nothing_else_is() -> None:
    options = {key: value for key, value in SETTING.items() if key != "slots"}
    how: dict[str, Any] = {"seeds": 2, "against": None}
    short = packenv.evaluate_agent(first, "packenv/ServerFill-v1", horizon=500, **how, **options)
    assert short.scores == packenv.evaluate_agent(first, "packenv/ServerFill-v1", slots=500, horizon=90, **how, **options).scores
    assert short.scores != packenv.evaluate_agent(first, "packenv/ServerFill-v1", slots=90, **how, **options).scores


def test_the_environment_s_baseline_is_compared_with() -> None:
    """Unless `against` names another policy: an option of training is not lost in silence."""
    how: dict[str, Any] = {**SETTING, "slots": 300, "seeds": 2}
    assert packenv.evaluate_agent(first, "ServerFill", baseline="fifo-ff", **how).policy == "fifo-ff"
    assert packenv.evaluate_agent(first, "ServerFill", baseline="fifo-ff", against="bf-j", **how).policy == "bf-j"
    assert packenv.evaluate_agent(first, "ServerFill", **how).policy == "bf-js"


def test_next_job_is_measured_by_what_it_is_rewarded_for() -> None:
    """One job waits at a time, so that every choice is the same."""
    jobs = packenv.Jobs.of([0, 1, 41, 60], [0.9, 0.5, 1.0, 1.0], [40, 5, 30, 9])
    how: dict[str, Any] = {"workload": packenv.Workload(jobs=jobs, servers=1, slot_seconds=1), "jobs": 4, "seeds": 1}
    waits = np.array([0, 39, 4, 15])
    score = packenv.evaluate_agent(first, "NextJob", against="fifo-ff", **how)
    assert score.measure == "mean slowdown" and score.scores == pytest.approx(score.against)
    assert score.scores[0] == pytest.approx(np.maximum((waits + jobs.service) / np.maximum(jobs.service, 10), 1).mean())
    rewarded = packenv.evaluate_agent(first, "NextJob", reward="wait", against=None, **how)
    assert rewarded.measure == "mean delay" and rewarded.scores[0] == pytest.approx(waits.mean())


def test_models_and_functions_are_agents() -> None:
    of_function, of_model, of_masked = (
        packenv.evaluate_agent(agent, "ServerFill", seeds=[5, 6], against=None, **SETTING) for agent in (first, Model(), Masked())
    )
    assert of_function.scores == of_model.scores == of_masked.scores and of_function.against == ()
    assert ", 2 seeds; it always took the first valid action" in repr(of_function)


class Alternating:
    """As RecurrentPPO: what it does depends on its state, (E,) decisions of the episode so far, which it is given back."""

    def predict(self, seen: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False) -> Any:
        counted = np.where(episode_start, 0, np.zeros(len(seen), np.int64) if state is None else state)
        return counted % 2, counted + 1


def test_the_state_of_a_recurrent_model_is_carried() -> None:
    how: dict[str, Any] = {"seeds": [5, 6], "against": None, **SETTING}
    score = packenv.evaluate_agent(Alternating(), "packenv/ServerFill-v1", **how)
    for seed, mean_queue in zip((5, 6), score.scores, strict=True):
        env = gym.make("packenv/ServerFill-v1", workload="paper/fig4b", intensity=0.9, horizon=3000)
        _, info = env.reset(seed=seed)
        decisions = 0
        while not info["reason"]:
            *_, info = env.step(decisions % 2)
            decisions += 1
        assert mean_queue == info["mean_queue"]
    assert score.scores != packenv.evaluate_agent(Model(), "packenv/ServerFill-v1", **how).scores


def test_whole_jobs_are_measured_by_completion() -> None:
    score = packenv.evaluate_agent(first, "JobFill", workload="price/fig8", seeds=2, against="srpt")
    assert score.measure == "mean completion"
    runs = packenv.simulate_many("price/fig8", ["srpt"], [1_000_000, 1_000_001])["srpt"]
    assert score.against == tuple(run.jobs.mean for run in runs if run.jobs is not None)
    env: Any = packenv.envs.registration.find_vector_class("JobFill")(1, workload="price/fig8", reward="completion", horizon=None)
    seen, info = env.reset(seed=[1_000_000])
    total, over = 0.0, False
    while not over:
        seen, reward, terminated, _, info = env.step(first(seen, info["action_mask"]))
        total, over = total - reward[0], bool(terminated[0])
    jobs = packenv.workload("price/fig8").at(1_000_000).jobs
    assert jobs is not None and jobs.job is not None
    assert score.scores[0] == pytest.approx(total / len(set(jobs.job.tolist())))


def test_a_table_without_jobs_that_is_done_early() -> None:
    """Two servers, all tasks at once: largest first is SRPT here, and the queue is measured over all slots by both."""
    table = packenv.Workload(jobs=packenv.Jobs.of([0] * 20, [0.4, 0.3] * 10, [5, 3] * 10), servers=2)
    score = packenv.evaluate_agent(first, "ServerFill", workload=table, against="bf-s", seeds=1, slots=500, order="index")
    assert score.scores == pytest.approx(score.against) and 0 < score.scores[0] < 1
    done = packenv.evaluate_agent(first, "ServerFill", workload=table, against="bf-s", seeds=1, order="index")
    assert done.measure == "mean delay" and done.scores == pytest.approx(done.against) and 1 < done.scores[0] < 20
    of_tasks = packenv.evaluate_agent(first, "JobFill", workload=table, against="srpt", seeds=1)
    assert of_tasks.scores == pytest.approx(of_tasks.against) and 5 < of_tasks.scores[0] < 20


TABLE = packenv.Workload(jobs=packenv.Jobs.of(range(60), [0.6, 0.3, 0.4] * 20, [9, 5, 7] * 20), servers=1)


class Drawing:
    """Likeliest actions, or drawn ones."""

    def __init__(self) -> None:
        self.random, self.asked = np.random.default_rng(0), 0

    def predict(self, seen: Any, deterministic: bool = False, action_masks: Any = None) -> Any:
        self.asked = max(self.asked, len(seen))
        chances = action_masks * (1 if deterministic else self.random.random(action_masks.shape))
        return chances.argmax(axis=1), None


def test_one_table_is_played_once() -> None:
    """Eight copies of an episode are no interval; where the first two differ there are six more."""
    agent = Drawing()
    score = packenv.evaluate_agent(agent, "ServerFill", workload=TABLE)
    assert agent.asked == 1 and len(score.scores) == len(score.against) == len(score.seeds) == 1
    assert score.mean.low is None and score.ratio.low is None and score.ratio.mean == score.scores[0] / score.against[0]
    assert repr(score).endswith("; no seed changes a whole table (jobs=N: windows of it, which seeds do)")
    assert packenv.evaluate_agent(first, "ServerFill", workload=TABLE, seeds=[3, 4]).scores == score.scores

    drawn = packenv.evaluate_agent(agent, "ServerFill", workload=TABLE, deterministic=False)
    assert agent.asked == 6 and len({*drawn.scores}) > 4 and drawn.ratio.low is not None and len(drawn.against) == 1
    assert repr(drawn).endswith(", 8 seeds")

    def at_random(seen: Any, masks: Any) -> Any:
        return agent.predict(seen, action_masks=masks)[0]

    assert len({*packenv.evaluate_agent(at_random, "ServerFill", workload=TABLE).scores}) > 4
    beside = packenv.evaluate_agent(first, "ServerFill", workload=TABLE, against="sparrow:ratio=1", seeds=3)
    assert (len(beside.scores), len(beside.against), beside.seeds) == (1, 3, (1_000_000, 1_000_001, 1_000_002))
    assert beside.mean.low is None and beside.ratio.low is not None


def test_windows_that_share_tasks_are_said() -> None:
    how: dict[str, Any] = {"workload": TABLE, "against": None}
    apart = next([0, seed] for seed in range(1, 99) if not TABLE.windows(20).draw.overlap([0, seed]))  # type: ignore[union-attr]
    assert "overlap" not in repr(packenv.evaluate_agent(first, "ServerFill", jobs=20, seeds=apart, **how))
    said = repr(packenv.evaluate_agent(first, "ServerFill", jobs=20, seeds=4, **how))  # 80 tasks of 60
    assert said.endswith("; their windows of the table overlap, so the interval is too narrow")


def test_jobs_that_start_before_the_first_decision_count() -> None:
    """A lone job of 40 slots starts without a question; the first one is asked in slot 50."""
    table = packenv.Workload(jobs=packenv.Jobs.of([0, 50, 50, 50], [0.6] * 4, [40, 5, 7, 9]), servers=1)
    score = packenv.evaluate_agent(first, "JobFill", workload=table, against="srpt", seeds=1)
    assert score.scores == score.against == ((40 + 5 + 12 + 21) / 4,)


def test_a_growing_queue_is_said() -> None:
    score = packenv.evaluate_agent(first, "ServerFill", workload="paper/fig4b", rate=5.0, slots=3000, seeds=1, waiting_limit=50)
    assert score.cut == (1_000_000,) and "one run; it stopped at the waiting limit: the queue grows;" in repr(score)


def test_bad_input() -> None:
    for options, problem in (
        ({"intensity": (0.5, 0.9)}, "intensity: one number"),
        ({"seeds": 0}, "`seeds` must be a whole number of at least 1"),
        ({"against": "bf-jss"}, "unknown policy 'bf-jss'"),
        ({"tpyes": 3}, "unexpected keyword argument 'tpyes'"),
        ({"slots": 0}, "slots must be a whole number from 1"),
    ):
        with pytest.raises(InputError, match=problem):
            packenv.evaluate_agent(first, "ServerFill", **{"workload": "paper/fig4b", "slots": 100, **options})
    with pytest.raises(InputError, match="unknown environment 'ServerFil'"):
        packenv.evaluate_agent(first, "ServerFil")
    with pytest.raises(InputError, match="slots: JobFill plays tables of jobs"):
        packenv.evaluate_agent(first, "JobFill", slots=100)
    for agent, problem in (
        (3, "not 3$"),
        (Model, "not <class"),
        (lambda seen: seen, "; <lambda> does not take these arguments: too many positional arguments"),
        (Module(), "; Module does not take these arguments"),
    ):
        with pytest.raises(InputError, match=f"an agent needs `predict`, or must be a function from observations .*{problem}"):
            packenv.evaluate_agent(agent, "ServerFill", slots=100, seeds=1)


class Module:
    """As torch's: it is called with anything, and `forward` says with what."""

    def __call__(self, *arguments: Any) -> Any: ...

    def forward(self, seen: Any) -> Any: ...


def test_an_environment_that_is_made() -> None:
    setting = {"workload": "paper/fig4b", "intensity": 0.9, "horizon": 3000}
    env = gym.make("packenv/ServerFill-v1", render_mode="rgb_array", **setting)
    by_id = packenv.evaluate_agent(first, "ServerFill", seeds=[5], against=None, **setting)
    assert packenv.evaluate_agent(first, env, seeds=[5], against=None).scores == by_id.scores
    for other in (type(env), object()):
        with pytest.raises(InputError, match="the environment is an id"):
            packenv.evaluate_agent(first, other, seeds=[5], against=None)
