"""Saved agents: what was learned in the environment is what plays in the compiled loop, and files are only read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import packenv
from agents.random_jobs import random_jobs
from packenv import InputError
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.networks import shared_network
from packenv.learning.agents.saved import load_agent, save_agent
from packenv.policies.throughput_optimal.kmw import KMaxWeightRule
from packenv.policy import find_policy, name_of, parameters_of
from packenv.runs.contest import contest
from packenv.runs.leaderboard import at_home
from packenv.simulation import setting_of
from packenv.workloads.laws import Fixed, Uniform
from tests.envs.playing import plain_env
from tests.reference.networks.network import Network, mask_of

SLOTS = 4000
FORMS = [
    ("ServerFill", "actions", "shared", {}),
    ("ServerFill", "actions", "shared", {"passing": False, "order": "index"}),
    ("ServerFill", "actions", "linear", {"types": 20}),
    ("ServerFill", "actions", "linear", {"passing": False}),
    ("ServerFill", "actions", "varying", {"passing": False}),
    ("ServerFill", "full", "mlp", {}),
    ("ServerFill", "full", "mlp", {"types": 12}),
    ("Placement", "actions", "shared", {}),
    ("Placement", "compact", "mlp", {"rule": "head"}),
    ("Configuration", "actions", "shared", {"rule": "vqs"}),
    ("Configuration", "full", "mlp", {}),
]


def random_agent(
    kind: str, observation: str, network: str, own: dict[str, Any], guard: Any = None, seed: int = 7
) -> tuple[Any, SavedAgent]:
    """A network with random weights, as PyTorch has it and as a policy."""
    env: Any = plain_env(kind, observation=observation, J=4, **own)
    torch.manual_seed(seed)
    waiting = env.unwrapped.core.layout.features.waiting
    made = Network(env.observation_space, int(env.action_space.n), network, 16, waiting=waiting)
    for layer in made.actor.parameters():
        torch.nn.init.normal_(layer, std=0.4)
    about = {
        "environment": {"kind": kind, "resources": 1, "options": {"observation": observation, "J": 4, **own}},
        "network": {"kind": network, "hidden": 16},
        "guard": guard,
    }
    return made, SavedAgent("agent:test", about, made.exported())


def marked(number: int) -> Any:
    """The first form of each kind of network for `make test`, the others for `make test-minutes`."""
    first = FORMS[number][2] not in [network for _, _, network, _ in FORMS[:number]]
    return pytest.param(*FORMS[number], marks=[] if first else [pytest.mark.minutes])


@pytest.mark.parametrize(("kind", "observation", "network", "own"), map(marked, range(len(FORMS))))
def test_compiled_inference_is_the_network_in_the_environment(kind: str, observation: str, network: str, own: Any) -> None:
    """Start slots and servers of every task."""
    made, agent = random_agent(kind, observation, network, own)
    workload = packenv.workload("paper/fig4b", intensity=0.8)
    env: Any = plain_env(kind, workload=workload, observation=observation, J=4, horizon=SLOTS, record_schedule=True, **own)
    seen, info = env.reset(seed=11)
    over = False
    while not over:
        mask = torch.from_numpy(info["action_mask"][None].astype(np.float32))
        batch = {name: torch.from_numpy(array[None]) for name, array in seen.items()}
        with torch.no_grad():
            scores = made.scores(made.read(batch, mask_of(batch, mask)), mask)[0]
        # Like servers have like scores, but PyTorch may round the rows of one product differently.
        seen, _, _, over, info = env.step(int((scores > scores.max() - 1e-5).nonzero()[0, 0]))
    start, server = env.unwrapped.schedule()
    run = packenv.simulate(workload, agent, SLOTS, 11, schedule=True)
    assert run.schedule is not None
    assert start.tolist() == run.schedule.start.tolist()
    assert server.tolist() == run.schedule.server.tolist()
    assert (start >= 0).sum() > 50


def test_an_agent_runs_where_the_pool_grows_and_on_more_servers() -> None:
    _, agent = random_agent("ServerFill", "actions", "shared", {"passing": False})
    for servers in (5, 60):
        workload = packenv.workload("paper/fig4b", intensity=1.1).with_(servers=servers)
        run = packenv.simulate(workload, agent, 20_000, 0)
        assert run.started + run.waiting == run.arrived
        assert run.max_queue is not None and run.max_queue > 50


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.minutes) for seed in (8, 9))])
def test_agents_that_never_pass_drive_environments_like_any_policy(seed: int) -> None:
    """Which servers have been passed is not to be seen in a cluster."""
    from packenv.envs.policy_agents.agent import PolicyAgent

    own = {"order": "index", "passing": False}
    _, agent = random_agent("ServerFill", "actions", "shared", own, seed=seed)
    env: Any = plain_env("ServerFill", **own, intensity=1.2, horizon=3000, record_schedule=True)
    player = PolicyAgent(agent, env)
    seen, _ = env.reset(seed=2)
    over = False
    while not over:
        action, _ = player.predict(seen)
        seen, _, _, over, _ = env.step(action)
    run = packenv.simulate(packenv.workload("paper/fig4b", intensity=1.2), agent, 3000, 2, schedule=True)
    assert run.schedule is not None
    assert env.unwrapped.schedule()[0].tolist() == run.schedule.start.tolist()


def test_saved_and_loaded(tmp_path: Path) -> None:
    _, agent = random_agent("ServerFill", "actions", "shared", {}, {"policy": "bf-js", "limit": 30})
    save_agent(tmp_path / "mine", agent.about | {"seed": 3}, agent.weights)
    for text in (f"{tmp_path}/mine", f"{tmp_path}/mine.json", f"{tmp_path}/mine.safetensors"):
        loaded = load_agent(text)
        assert loaded.about["seed"] == 3
        assert all((loaded.weights[name] == agent.weights[name]).all() for name in agent.weights)
    found = find_policy(f"agent:{tmp_path}/mine")
    assert name_of(found) == f"agent:{tmp_path}/mine"
    workload = packenv.workload("paper/fig4b", intensity=0.9)
    first, second = (packenv.simulate(workload, policy, 30_000, 5).mean_queue for policy in (agent, found))
    assert first == second
    assert found.guarantee(setting_of(workload)) == 0.5


def test_a_guard_of_nearly_all_of_rho() -> None:
    """Compiled code dispatches on its rule. It shares the agent's types: with other ones it is refused."""
    found, setting = load_agent("fig4b-kmw"), setting_of(packenv.workload("paper/fig4b", intensity=0.9))
    assert isinstance(parameters_of(found).guard, KMaxWeightRule)
    assert found.guarantee(setting) > 0.99
    coarser = {"environment": found.about["environment"] | {"options": found.about["environment"]["options"] | {"types": 40}}}
    with pytest.raises(InputError, match="the guard's types are not the agent's"):
        SavedAgent("x", found.about | coarser, found.weights).needs(setting)


def test_the_agent_for_any_workload() -> None:
    """BF-J/S's theorem goes with it; two resources are refused in a line; it is at home nowhere, and everywhere if named."""
    found, home = load_agent("any"), packenv.workload("paper/fig4b", intensity=0.9)
    assert [line.split(":")[0].strip() for line in repr(found).splitlines()] == [
        "Agent agent",
        "plays",
        "network",
        "guard",
        "learnt",
    ]
    assert found.guarantee(setting_of(home)) == 0.5
    assert found.guarantee(setting_of(home.with_(service=Fixed(100)))) == 0.0
    for servers in ("1x1", "3x1,2x0.4"):
        found.needs(setting_of(home.with_(servers=servers, sizes=Uniform(0.1, 0.4))))
    with pytest.raises(InputError, match="agent:any: learned with 1 resource, paper/fig4b has 2"):
        found.needs(setting_of(home.with_(servers="5x1:1", sizes=[Uniform(0.1, 0.4), Uniform(0.1, 0.4)])))
    assert not at_home("agent:any", contest("paper/fig4b@0.9", 1000))


def test_the_agent_for_any_jobs() -> None:
    """It takes tables of any number of resources, and says nothing of columns that a table lacks: it has learned without them."""
    found = load_agent("jobs")
    for mix in (0, 1):
        setting = setting_of(random_jobs("training", mix))
        found.needs(setting)
        assert found.notice(setting) is None
    assert {random_jobs("training", mix).D for mix in (0, 1)} == {1, 4}
    assert not at_home("agent:jobs", contest("analytics", 1000))


def test_files_are_only_read(tmp_path: Path) -> None:
    """Every file that is not what it should be is one clear line; one that would run code does not."""
    _, agent = random_agent("ServerFill", "actions", "shared", {})
    save_agent(tmp_path / "good", agent.about, agent.weights)
    told, weights = (tmp_path / "good.json").read_text(), (tmp_path / "good.safetensors").read_bytes()
    ran = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> Any:
            return ran.touch, ()

    def refused(why: str, told: str = told, weights: bytes = weights) -> None:
        (tmp_path / "bad.json").write_text(told)
        (tmp_path / "bad.safetensors").write_bytes(weights)
        with pytest.raises(InputError, match=why) as caught:
            load_agent(tmp_path / "bad")
        assert "\n" not in str(caught.value)

    refused("not the weights that", weights=pickle.dumps(Trap()))
    refused("not the weights that", weights=weights[:-3])
    refused("not JSON", told=told[:-5])
    refused("format 1", told="[]")
    refused("format 1", told=told.replace('"format": 1', '"format": 2'))
    refused("not known here", told=told.replace("ServerFill", "Checkers"))
    refused("unknown guard|unknown policy", told=json.dumps(json.loads(told) | {"guard": {"policy": "bf-jj", "limit": 3}}))
    refused("not the description", told=json.dumps({"format": 1, "weights": json.loads(told)["weights"]}))
    assert not ran.exists()
    with pytest.raises(InputError, match="no agent"):
        load_agent(tmp_path / "missing")
    with pytest.raises(InputError, match="agent needs a name or a path"):
        find_policy("agent")


def test_weights_that_do_not_fit() -> None:
    workload = packenv.workload("paper/fig4b", intensity=0.9)
    _, plain = random_agent("ServerFill", "full", "mlp", {})
    finer = {"environment": {"kind": "ServerFill", "resources": 1, "options": {"observation": "full", "J": 5}}}
    with pytest.raises(InputError, match="another cluster"):
        SavedAgent("x", plain.about | finer, plain.weights).initial_state(setting_of(workload), 0)
    _, shared = random_agent("ServerFill", "actions", "shared", {})
    broken = shared.weights | {"actor.last.weight": np.full((1, 16), np.nan, np.float32)}
    with pytest.raises(InputError, match="not finite"):
        SavedAgent("x", shared.about, broken).initial_state(setting_of(workload), 0)
    with pytest.raises(InputError, match="lack"):
        SavedAgent("x", shared.about, {}).initial_state(setting_of(workload), 0)


@pytest.mark.parametrize("guard", [None, {"policy": "bf-js", "limit": 30}])
def test_another_number_of_resources_is_refused(guard: Any) -> None:
    """Also by a network whose weights would fit any number."""
    _, agent = random_agent("ServerFill", "actions", "linear", {}, guard)
    with pytest.raises(InputError, match="learned with 1 resource, analytics has 4"):
        packenv.simulate(packenv.workload("analytics"), agent, 1000, 0)
    other = SavedAgent("agent:other", agent.about | {"environment": agent.about["environment"] | {"resources": 4}}, agent.weights)
    assert packenv.simulate(packenv.workload("analytics"), other, 1000, 0).started > 0
    with pytest.raises(InputError, match="learned with 4 resources, paper/fig4b has 1"):
        packenv.simulate(packenv.workload("paper/fig4b"), other, 1000, 0)


@pytest.mark.parametrize("missing", ["actor.first.weight", "actor.first.bias", "actor.last.weight"])
def test_weights_that_are_missing_are_named(missing: str) -> None:
    shipped = load_agent("fig4a")
    env = plain_env("ServerFill", observation="actions", types=40)
    kept = {name: value for name, value in shipped.weights.items() if name != missing}
    with pytest.raises(InputError, match=f"lack '{missing}'"):
        shared_network("agent:mine", kept, env.unwrapped.core.layout)  # type: ignore[attr-defined]
