"""Training on whole jobs: what the defaults are, that evolution and PPO learn there, and what cannot be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

import packenv
from packenv import InputError
from packenv.cluster import BY_QUEUE, Cluster, Needs, oldest, place
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.agents.saved import load_agent, save_agent
from packenv.learning.evolution import Evolution
from packenv.learning.objective import Objective, measure, objective
from packenv.learning.settings import Settings
from packenv.learning.training.plan import RunPlan
from packenv.learning.training.train import Training
from packenv.workloads.named.analytics import analytics
from tests.envs.playing import plain_env
from tests.reference.networks.network import Network, mask_of

SMALL = analytics(jobs=10, servers=4)


def test_defaults_of_environments_of_tasks_and_of_jobs() -> None:
    of_tasks, of_jobs = Settings(packenv.workload("paper/fig4b")), Settings(SMALL, environment="JobFill")
    assert (of_tasks.reward, of_tasks.window, of_tasks.guard) == ("size", 16, "bf-js")
    assert (of_jobs.reward, of_jobs.window, of_jobs.guard) == ("completion", 32, None)
    assert [str(objective(each.reward)) for each in (of_tasks, of_jobs)] == ["mean queue", "mean completion"]
    assert str(objective("value:unfairness=0.5")) == "mean completion by value with unfairness at 0.5"


def test_measures_are_those_of_the_run() -> None:
    run = packenv.simulate(SMALL, "tetris:f=0", seed=3, drain=True)
    assert run.jobs is not None
    found = {by: measure(SMALL, "tetris:f=0", None, 3, Objective(by)) for by in ("mean completion", "makespan")}
    assert found == {"mean completion": (run.jobs.mean, run.started), "makespan": (run.jobs.makespan, run.started)}
    values = np.arange(1.0, 4.0)
    table = packenv.Jobs.of([0, 0, 0], [0.9, 0.9, 0.9], [2, 2, 2], job=np.arange(3), value=values)
    by_value = measure(packenv.Workload(jobs=table, servers=1), "fifo-ff", None, 0, Objective("mean completion by value"))[0]
    assert by_value == (values * [2, 4, 6]).sum() / 6


def test_jobs_that_never_end_measure_infinity() -> None:
    """An agent that passes whatever is offered is worse than any that does not, and no mean of the jobs that did end."""
    table = packenv.Jobs.of([0, 0], [0.9, 0.9], [2, 2], job=np.arange(2))
    never = measure(packenv.Workload(jobs=table, servers=1), OneTask(), None, 0, Objective("mean completion"))
    assert never == (math.inf, 1)


class OneTask:
    """Starts the first task and no other."""

    def needs(self, setting: packenv.Setting) -> Needs:
        return Needs(orders=BY_QUEUE)

    def schedule(self, cluster: Cluster, state: object) -> None:
        if cluster.head[cluster.e]["started"] == 0:
            place(cluster, oldest(cluster), 0)


def form_of(kind: str, layout: Any) -> dict[str, Any]:
    return {"kind": kind, "hidden": 4, "waiting": layout.features.waiting}


def varying_agent(per_waiting: float, of_waiting: float = -2.0) -> tuple[Network, SavedAgent]:
    """A network with random weights, as PyTorch has it and as a policy."""
    settings = Settings(SMALL, environment="JobFill", network="varying", window=8)
    env = plain_env("JobFill", workload=SMALL, window=8)
    layout = env.unwrapped.core.layout  # type: ignore[attr-defined]
    torch.manual_seed(3)
    made = Network(env.observation_space, 1, critic=False, **form_of("varying", layout))
    for name, weights in made.actor.named_parameters():
        torch.nn.init.normal_(weights, std=per_waiting if name == "per_waiting" else 1.0)
    made.actor.get_parameter("of_action").data[1] = of_waiting
    return made, SavedAgent("tried", agent_metadata(settings, "", 0, "last", {}), made.exported())


def test_a_varying_network_does_in_the_loop_what_it_does_in_the_environment() -> None:
    """One that hardly passes, and one that passes so often that it comes to a halt."""
    started, passed = 0, 0
    for of_waiting in (-2.0, 5.0):
        made, agent = varying_agent(4.0, of_waiting)
        env: Any = plain_env("JobFill", workload=SMALL, window=8, record_schedule=True)
        seen, info = env.reset(seed=4)
        over = False
        while not over:
            mask = torch.from_numpy(info["action_mask"][None].astype(np.float32))
            batch = {name: torch.from_numpy(array[None]) for name, array in seen.items()}
            with torch.no_grad():
                scores = made.scores(made.read(batch, mask_of(batch, mask)), mask)[0]
            action = int((scores > scores.max() - 1e-5).nonzero()[0, 0])
            passed += action == 8
            seen, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        start, server = env.unwrapped.schedule()
        started += (start >= 0).sum()
        run = packenv.simulate(SMALL, agent, seed=info["seed"], schedule=True, drain=True)
        assert run.schedule is not None
        assert start.tolist() == run.schedule.start.tolist() and server.tolist() == run.schedule.server.tolist()
    assert started > 100 and passed


def test_a_varying_network_that_does_not_vary_is_a_sum() -> None:
    """And with other weights it is not."""
    _, agent = varying_agent(0.0)
    as_sum = SavedAgent(
        "sum",
        agent.about | {"network": agent.about["network"] | {"kind": "sum"}},
        {name: array for name, array in agent.weights.items() if name != "actor.per_waiting"},
    )
    runs = [packenv.simulate(SMALL, a, seed=4, schedule=True, drain=True) for a in (as_sum, agent, varying_agent(4.0)[1])]
    start = [run.schedule.start.tolist() for run in runs if run.schedule is not None]
    assert start[0] == start[1] != start[2]


@pytest.mark.parametrize("network", ["sum", "varying", "shared"])
def test_an_agent_that_knew_fewer_features_plays_on(network: str) -> None:
    """With zeros for those that came later, of actions and of the context; one saved by 0.7 says nothing of their number."""
    settings = Settings(SMALL, environment="JobFill", network="sum", window=8)
    layout = plain_env("JobFill", workload=SMALL, window=8).unwrapped.core.layout  # type: ignore[attr-defined]
    features, context = layout.observed["actions"][1], layout.observed["context"][0]
    about = agent_metadata(settings, "", 0, "last", {})
    assert about["network"]["context"] == context
    about["network"] = {"kind": network, "hidden": 4, "context": context}
    fewer = {"actions": spaces.Box(-9, 9, (9, 20)), "context": spaces.Box(-9, 9, (7,))}
    torch.manual_seed(1)
    before = Network(spaces.Dict(fewer), 9, critic=False, **form_of(network, layout))
    for weights in before.actor.parameters():
        torch.nn.init.normal_(weights)
    for said in ({"kind": network, "hidden": 4, "context": 7}, {"kind": network, "hidden": 4}):
        old = SavedAgent("old", about | {"network": said}, before.exported())
        wide = {"actions": spaces.Box(-9, 9, (9, features)), "context": spaces.Box(-9, 9, (context,))}
        after = Network(spaces.Dict(wide), 9, critic=False, **form_of(network, layout))
        after.start_from(old)
        new = SavedAgent("new", about, after.exported())
        runs = [packenv.simulate(SMALL, agent, seed=2, schedule=True, drain=True).schedule for agent in (old, new)]
        assert runs[0] is not None and runs[1] is not None and runs[0].start.tolist() == runs[1].start.tolist()


def test_agents_of_other_environments_are_no_beginning() -> None:
    with pytest.raises(InputError, match="learned in ServerFill, which has other features than JobFill"):
        Evolution(Settings(SMALL, environment="JobFill", network="sum", start="fig4a")).initialise()


@pytest.mark.slow
def test_a_run_leaves_an_agent_that_schedules_whole_jobs(tmp_path: Path) -> None:
    learnt = {"network": "varying", "population": 4, "options": {"passing": False}}
    settings = Settings(SMALL, environment="JobFill", samples=3000, seed=1, window=6, **learnt)
    trained = Training(settings, RunPlan(tmp_path / "run", against="tetris:f=0", evaluation_seeds=2)).run()
    assert "mean completion ratio to tetris:f=0" in trained.measured
    agent = load_agent(trained.path)
    run = packenv.simulate(SMALL, agent, seed=5, drain=True)
    assert run.started == len(SMALL.at(5).jobs or ()) and run.jobs is not None and run.jobs.makespan


@pytest.mark.minutes
def test_an_agent_that_never_ends_its_jobs_is_saved_all_the_same(tmp_path: Path) -> None:
    """JSON has no infinity: what was measured is left out."""
    _, passes = varying_agent(0.0, 1e4)
    save_agent(tmp_path / "passes", passes.about, passes.weights)
    few: dict[str, Any] = {"samples": 1, "population": 4, "learning_rate": 1e-9, "window": 8, "options": {"ask": "always"}}
    few["start"] = str(tmp_path / "passes")
    settings = Settings(SMALL, environment="JobFill", network="varying", **few)
    trained = Training(settings, RunPlan(tmp_path / "run", against="tetris:f=0", evaluation_seeds=1)).run()
    assert trained.measured == {} and load_agent(trained.path).about["measured"] == {}


def test_an_agent_imitates_tetris_before_it_evolves() -> None:
    """A weighted sum of JobFill's features can do what Tetris does, but for ties: its jobs end within 5 % of the time."""
    said: list[str] = []
    settings = Settings(SMALL, environment="JobFill", network="sum", imitate="tetris:f=0", imitation_steps=300)
    learner = Evolution(settings)
    line = learner.initialise(said.append)
    assert line is not None and "imitates tetris:f=0: the same action in" in line
    weights = learner.weights
    assert max(abs(array).max() for array in weights.values()) == 1.0
    about = agent_metadata(settings, "", 0, "last", {})
    means = []
    for policy in (
        SavedAgent("clone", about, weights),
        SavedAgent("zero", about, {k: 0 * w for k, w in weights.items()}),
        "tetris:f=0",
    ):
        runs = [packenv.simulate(SMALL, policy, seed=seed, drain=True).jobs for seed in range(8)]
        means.append(np.mean([run.mean for run in runs if run is not None]))
    assert 0.95 < means[0] / means[2] < 1.05


def test_the_linear_network_reads_other_features() -> None:
    from packenv.learning.evolution import Evolution

    with pytest.raises(InputError, match="choose `network` sum or varying"):
        Evolution(Settings(SMALL, environment="JobFill", network="linear"))
