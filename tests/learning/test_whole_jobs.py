"""Training on whole jobs: what the defaults are, that evolution and PPO learn there, and what cannot be."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import packenv
from packenv import InputError
from packenv.cluster import BY_QUEUE, Cluster, Needs, oldest, place
from packenv.learning.agents.saved import load_agent
from packenv.learning.objective import measure, objective
from packenv.learning.settings import Settings
from packenv.learning.training.plan import RunPlan
from packenv.learning.training.train import train
from packenv.workloads.named.analytics import analytics

SMALL = analytics(jobs=10, servers=4)


def test_defaults_of_environments_of_tasks_and_of_jobs() -> None:
    of_tasks, of_jobs = Settings(packenv.workload("paper/fig4b")), Settings(SMALL, environment="JobFill")
    assert (of_tasks.reward, of_tasks.window, of_tasks.guard) == ("size", 16, "bf-js")
    assert (of_jobs.reward, of_jobs.window, of_jobs.guard) == ("completion", 32, None)
    assert [objective(each.reward) for each in (of_tasks, of_jobs)] == ["mean queue", "mean completion"]


def test_measures_are_those_of_the_run() -> None:
    run = packenv.simulate(SMALL, "tetris:f=0", seed=3, drain=True)
    assert run.jobs is not None
    found = {by: measure(SMALL, "tetris:f=0", None, 3, by) for by in ("mean completion", "makespan")}
    assert found == {"mean completion": (run.jobs.mean, run.started), "makespan": (run.jobs.makespan, run.started)}
    values = np.arange(1.0, 4.0)
    table = packenv.Jobs.of([0, 0, 0], [0.9, 0.9, 0.9], [2, 2, 2], job=np.arange(3), value=values)
    by_value = measure(packenv.Workload(jobs=table, servers=1), "fifo-ff", None, 0, "mean completion by value")[0]
    assert by_value == (values * [2, 4, 6]).sum() / 6


def test_jobs_that_never_end_measure_infinity() -> None:
    """An agent that passes whatever is offered is worse than any that does not, and no mean of the jobs that did end."""
    table = packenv.Jobs.of([0, 0], [0.9, 0.9], [2, 2], job=np.arange(2))
    never = measure(packenv.Workload(jobs=table, servers=1), OneTask(), None, 0, "mean completion")
    assert never == (math.inf, 1)


class OneTask:
    """Starts the first task and no other."""

    def needs(self, setting: packenv.Setting) -> Needs:
        return Needs(orders=BY_QUEUE)

    def schedule(self, cluster: Cluster, state: object) -> None:
        if cluster.head[cluster.e]["started"] == 0:
            place(cluster, oldest(cluster), 0)


@pytest.mark.parametrize("algorithm", ["cma-es", "maskable-ppo"])
def test_a_run_leaves_an_agent_that_schedules_whole_jobs(tmp_path: Path, algorithm: str) -> None:
    few = {"samples": 3000, "envs": 4, "steps": 16, "batch": 32, "seed": 1, "window": 6}
    network = "sum" if algorithm == "cma-es" else "shared"
    settings = Settings(SMALL, environment="JobFill", algorithm=algorithm, network=network, hidden=8, population=4, **few)
    trained = train(settings, RunPlan(tmp_path / "run", against="tetris:f=0", evaluation_seeds=2))
    assert "mean completion ratio to tetris:f=0" in trained.measured
    agent = load_agent(trained.path)
    run = packenv.simulate(SMALL, agent, seed=5, drain=True)
    assert run.started == len(SMALL.at(5).jobs or ()) and run.jobs is not None and run.jobs.makespan


def test_the_linear_network_reads_other_features() -> None:
    from packenv.learning.evolution.evolution import Evolution

    with pytest.raises(InputError, match="choose --network sum or shared"):
        Evolution(Settings(SMALL, environment="JobFill", algorithm="cma-es", network="linear"))
