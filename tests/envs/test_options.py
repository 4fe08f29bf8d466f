"""Rewards, starts, and limits of an episode."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import packenv
from packenv import UNIT, InputError
from packenv.cluster.state import NONE, TASK
from packenv.envs import PackVecEnv
from packenv.envs.configuration import maximal_of_partition
from packenv.envs.core.state import REASONS
from packenv.envs.options import Warm
from packenv.envs.rewards import REWARDS, Passage, find_reward, terms_of
from tests.envs.grid import KINDS, PAIR
from tests.envs.playing import make, plain_vec, play

# rewards


@pytest.mark.parametrize("kind", KINDS)
def test_rewards_agree_with_the_cluster(kind: str) -> None:
    """The same actions under every reward: sums over an episode are what the core has counted."""
    envs = {name: make(kind, reward=name, horizon=2000) for name in ("queue", "delay", "size", "work", "tasks")}
    sums = {name: sum(play(env)[0]) for name, env in envs.items()}
    core = envs["queue"].unwrapped.core
    head = core.batch.c.head[0]
    assert sums["queue"] == -head["queue_sum"] < 0
    assert sums["delay"] == -head["delay_sum"]
    first = envs["size"].reset(seed=0)[1]["slot"]
    waiting, placed = head["waiting_size"] / packenv.UNIT, 0.0
    rows = core.workload.jobs_table(0, int(head["arrived"]))
    placed = rows.demand.sum() / packenv.UNIT - waiting
    assert sums["size"] == pytest.approx(placed - core.workload.rate * 0.5 * (2000 - first))
    assert sums["tasks"] == pytest.approx(head["started"] - core.workload.rate * (2000 - first))
    served = core.batch.c.measures.used[0, 0] / packenv.UNIT / core.workload.mean_service
    assert sums["work"] == pytest.approx(served - core.workload.rate * 0.5 * (2000 - first))


@pytest.mark.parametrize("name", ["ServerFill", "Placement", "Configuration", "JobFill"])
def test_size_counts_each_task_that_starts(name: str) -> None:
    """All five tasks start after the first decision: 0.6 + 0.6 + 0.3 + 0.3 + 0.4."""
    jobs = packenv.Jobs.of([0, 0, 0, 0, 1], [0.6, 0.6, 0.3, 0.3, 0.4], [5, 7, 5, 3, 4])
    env = gym.make(f"packenv/{name}-v1", workload=packenv.Workload(jobs=jobs, servers=1), reward="size", reward_terms=True)
    info, placed, ended = env.reset(seed=0)[1], 0.0, False
    while not ended:
        _, reward, ended, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        placed += info["reward_terms"]["placed"]
        assert reward == pytest.approx(sum(info["reward_terms"].values()))
    assert placed == pytest.approx(2.2, abs=1e-6)


def test_work_of_two_resources_is_their_mean() -> None:
    env = make("ServerFill", workload=PAIR, reward="work", horizon=2000)
    first = env.reset(seed=0)[1]["slot"]
    total, core = sum(play(env)[0]), env.unwrapped.core
    served = core.batch.c.measures.used[0].mean() / packenv.UNIT / PAIR.mean_service
    assert total == pytest.approx(served - PAIR.rate * PAIR.mean_size.mean() * (2000 - first))


def test_the_mean_of_size_is_the_drift() -> None:
    """`size` is what the waiting size shrinks by, on average over the arrivals."""
    env = plain_vec("Placement", num_envs=200, reward="size", horizon=500)
    _, info = env.reset(seed=0)
    total, final, over = np.zeros(200), np.zeros(200), np.zeros(200, bool)
    while not over.all():
        _, rewards, _, truncated, info = env.step(info["action_mask"].argmax(axis=1))
        left = env.unwrapped.core.batch.c.head["waiting_size"] / packenv.UNIT
        final[truncated & ~over] = left[truncated & ~over]
        total += np.where(over, 0, rewards)
        over |= truncated
    error = np.std(total + final) / 200**0.5
    assert abs(np.mean(total + final)) < 4 * error + 0.2  # what is placed and what is left is what has arrived
    assert np.std(final) > 0


def test_advantage_over_oneself_is_nothing() -> None:
    from packenv.envs.policy_agents.agent import PolicyAgent

    env = make("ServerFill", order="index", reward="advantage", baseline="bf-s", horizon=2000)
    agent = PolicyAgent("bf-s", env)
    for seed in (1, 2):
        seen, _ = env.reset(seed=seed)
        while True:
            seen, reward, _, truncated, _ = env.step(agent.predict(seen)[0])
            assert reward == 0
            if truncated:
                break


def test_advantage_is_the_difference_of_the_queues() -> None:
    env = make(reward="advantage", baseline="fifo-ff", horizon=1500, start="warm")
    rewards, infos = play(env, seed=4)
    core = env.unwrapped.core
    twin = core.baselines[0].cluster.head[0]
    own = core.batch.c.head[0]
    assert twin["now"] == own["now"] == 2500
    first = infos[0]["slot"] - 1000  # what waited up to the first decision was the same for both
    assert 0 <= first < 50
    assert sum(rewards) == twin["queue_sum"] - own["queue_sum"] != 0


def test_a_reward_of_ones_own() -> None:
    def started(passage: Passage) -> Any:
        return 2 * passage.started

    rewards, _ = play(make(reward=started, horizon=500))
    assert set(rewards) == {0.0, 2.0}
    batch = plain_vec("Placement", num_envs=3, reward=started)
    _, info = batch.reset(seed=0)
    _, rewards, *_ = batch.step(np.array([np.flatnonzero(mask)[0] for mask in info["action_mask"]]))
    assert rewards.tolist() == [2.0, 2.0, 2.0]


# starts


@pytest.mark.parametrize("kind", KINDS)
def test_warm_start(kind: str) -> None:
    """The tasks of the run that came before, and from there on the same jobs."""
    slots = 3000
    env = make(kind, start=Warm("fifo-ff", slots), intensity=0.95, horizon=500)
    _, info = env.reset(seed=8)
    run = packenv.simulate(packenv.workload("paper/fig4b", intensity=0.95), "fifo-ff", slots=slots, seed=8, schedule=True)
    head = env.unwrapped.core.batch.c.head[0]
    assert slots <= info["slot"] < slots + 200
    assert run.waiting > 5
    in_service = run.started - run.completed
    if kind == "Placement":  # the first event is the first decision
        assert head["waiting"] == run.waiting + head["arrived"] - run.arrived
        assert head["in_service"] == in_service - head["completed"]
    _, infos = play(env, seed=8)
    assert infos[-1]["slot"] == slots + 500
    seen, _ = env.reset(seed=8)
    assert seen["queue"][0, 1] > 100  # the oldest has waited long


def test_given_start() -> None:
    env = make(start=[(0.5, 0, 30), (0.25, 1, 7)], horizon=500, rate=0.001)
    seen, info = env.reset(seed=0)
    assert info["slot"] == 7  # the first of them leaves
    assert seen["servers"][:2, 0].tolist() == [0.5, 1.0]
    for _ in range(2):
        seen, *_, info = env.step(40)
        if info["slot"] == 30:
            break
    assert (seen["servers"][:, 0] == 1).all()
    assert env.reset()[1]["slot"] == 7  # again


# limits and ends


def test_horizon_is_in_slots() -> None:
    for kind in KINDS:
        _, infos = play(make(kind, horizon=321))
        assert infos[-1]["slot"] == 321
        assert REASONS[infos[-1]["reason"]] == "horizon"
        assert infos[0]["slot"] + sum(info["elapsed"] for info in infos) == 321


def test_waiting_limit_truncates() -> None:
    env = make(waiting_limit=20, window=16)
    rewards, infos = play(env, choose=lambda info: 40)
    assert REASONS[infos[-1]["reason"]] == "waiting limit"
    assert env.unwrapped.core.batch.c.head["waiting"][0] == 20
    assert infos[-1]["slot"] < 10_000
    assert rewards[-1] < 0


def test_nothing_left_to_happen() -> None:
    workload = packenv.Workload(jobs=packenv.Jobs.of([0, 3], [0.5, 0.9], [2, 2]), servers=1)
    _, infos = play(make(workload=workload, horizon=None, J=2), choose=lambda info: len(info["action_mask"]) - 1)
    assert REASONS[infos[-1]["reason"]] == "nothing left to happen"


def test_no_decision_at_all() -> None:
    """An episode that ends before anything is asked says so at the first step, in both faces."""
    options: dict[str, Any] = {"rate": 1e-9, "horizon": 5}
    env = make("ServerFill", **options)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [0] * 8 + [1]
    assert env.step(8)[3]
    batch = plain_vec("ServerFill", num_envs=2, **options)
    batch.reset(seed=0)
    for _ in range(3):
        assert batch.step(np.array([8, 8]))[3].all()
        assert not batch.step(np.array([8, 8]))[3].any()


def test_an_invalid_action_counts_as_wait() -> None:
    patient, clumsy = (make(invalid_penalty=penalty, horizon=300, intensity=0.5) for penalty in (0.0, 3.0))
    _, info = patient.reset(seed=2)
    _, other = clumsy.reset(seed=2)
    while True:
        wrong = int(np.argmin(other["action_mask"]))
        assert other["action_mask"][wrong] == 0
        seen, reward, _, done, info = patient.step(40)
        own, got, _, _, other = clumsy.step(wrong)
        assert got == reward - 3
        assert other["invalid"] and not info["invalid"]
        assert all((seen[key] == own[key]).all() for key in seen)
        if done:
            break


def test_configurations() -> None:
    table = make("Configuration").unwrapped.core.layout.configurations[0]
    assert len(table) == 12
    for levels in (2, 3, 4):
        rows = maximal_of_partition(levels)
        assert rows.tolist() == sorted(rows.tolist(), reverse=True)
        supremum = np.array([size for m in range(levels) for size in (2.0**-m, 2.0**-m * 2 / 3)])
        left = 1 - rows @ supremum
        assert (left > -1e-9).all() and (left < supremum.min() - 1e-9).all()


@pytest.mark.parametrize("kind", ["ServerFill", "Placement"])
def test_types_of_equal_width(kind: str) -> None:
    """Ten virtual queues for sizes up to 0.1, 0.2, …: the largest first, on small servers only those that they can hold."""
    env = make(kind, workload="paper/fig4b", types=10, intensity=0.99, servers="3x1,2x0.5")
    core = env.unwrapped.core
    assert env.action_space.n == (11 if kind == "ServerFill" else 51)
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(300):
        mask = env.unwrapped.action_masks()
        env.step(rng.choice(np.flatnonzero(mask)))
    task = core.batch.c.task[0]
    waiting = (task["kind"] == TASK) & (task["server"] == NONE)
    wanted = np.minimum(10 - np.ceil(task["size"][waiting] / UNIT * 10), 9)
    assert waiting.sum() > 10
    counts = core.batch.c.types.queue["count"][0]
    for kind, own in enumerate((wanted, wanted[wanted >= 5])):
        assert counts[kind].tolist() == np.bincount(own.astype(int), minlength=10).tolist()


def test_counts_of_large_and_small_tasks_do_not_depend_on_the_types() -> None:
    """Context 2–4 and 6–8 are by ½ and ¼, whatever the virtual queues. Nothing is ever started."""
    seen = []
    for types in (None, 4, 12, 100):
        env = make("ServerFill", types=types, intensity=0.99, observation="actions")
        observation, _ = env.reset(seed=3)
        for _ in range(100):
            observation, *_ = env.step(env.action_space.n - 1)
        seen.append(observation["context"])
    assert (seen[0][2:5] > 0).all() and all(np.allclose(seen[0], other) for other in seen[1:])


@pytest.mark.parametrize("kind", ["ServerFill", "Placement"])
def test_what_could_share_a_server(kind: str) -> None:
    """Features 14 to 16 of every valid action, by looking at all that waits."""
    env = make(kind, types=10, intensity=0.99, observation="actions", servers="3x1,2x0.8")
    core, rng, looked = env.unwrapped.core, np.random.default_rng(0), 0
    observation, _ = env.reset(seed=2)
    for _ in range(400):
        task, turn = core.batch.c.task[0], core.batch.turn[0]
        waits = task["size"][(task["kind"] == TASK) & (task["server"] == NONE)]
        for action in np.flatnonzero(env.unwrapped.action_masks()[:-1]):
            server = turn["server"] if kind == "ServerFill" else action // 10
            capacity = core.batch.c.server[0, server]["capacity"]
            shown = round(float(observation["actions"][action, 2]) * UNIT)
            size = waits[np.abs(waits - shown).argmin()]  # sizes are shown in single precision
            rest = capacity - size
            fitting, near = (waits <= rest).sum(), ((waits <= rest) & (waits > rest - capacity // 32)).sum()
            excess = fitting + (waits <= size).sum() - len(waits)
            wanted = [np.log1p(near) / 5, np.log1p(fitting) / 5, np.sign(excess) * np.log1p(abs(excess)) / 5]
            assert observation["actions"][action, 14:17] == pytest.approx(wanted, abs=1e-5)
            looked += excess < 0 and near > 0
        observation, *_ = env.step(rng.choice(np.flatnonzero(env.unwrapped.action_masks())))
    assert looked > 20


# episodes and the yardstick


def test_a_loop_of_ones_own_reads_the_mean_queue_of_the_run() -> None:
    """What everyone writes: over `gymnasium.make`, with the actions of best fit, until the episode is over."""
    env = gym.make("packenv/ServerFill-v1", horizon=200_000, order="index", intensity=0.9)
    _, info = env.reset(seed=3)
    terminated = truncated = False
    while not (terminated or truncated):
        _, _, terminated, truncated, info = env.step(0)  # the largest task that fits
    assert truncated and REASONS[info["reason"]] == "horizon" and info["slot"] == 200_000
    workload = packenv.workload("paper/fig4b", intensity=0.9)
    assert info["mean_queue"] == packenv.simulate(workload, "bf-s", 200_000, 3, warmup=0).mean_queue > 20


@pytest.mark.parametrize("kind", KINDS)
def test_an_episode_is_its_horizon_in_every_interface(kind: str) -> None:
    options: dict[str, Any] = {"horizon": 1500, "yardstick": True}
    batch: Any = gym.make_vec(f"packenv/{kind}-v1", num_envs=2, **options)
    sb3, single = PackVecEnv(kind, 2, seed=7, **options), gym.make(f"packenv/{kind}-v1", **options)
    (_, info), steps = batch.reset(seed=7), 0
    sb3.reset()
    while not info["reason"].any():
        assert (info["slot"] < 1500).all()
        actions, steps = info["action_mask"].argmax(axis=1), steps + 1
        *_, info = batch.step(actions)
        *_, last = sb3.step(actions)
    row = int(info["reason"].argmax())
    assert info["slot"][row] == last[row]["slot"] == 1500 and last[row]["episode"]["l"] == steps
    _, alone = single.reset(seed=7 + row)
    for _ in range(steps):
        assert alone["reason"] == 0
        *_, alone = single.step(int(alone["action_mask"].argmax()))
    for key in ("reason", "slot", "mean_queue", "baseline_queue"):
        assert alone[key] == info[key][row] == last[row][key] > 0


@pytest.mark.parametrize("kind", ["ServerFill", "Placement", "JobFill"])
def test_a_table_lasts_until_its_work_is_done(kind: str) -> None:
    """A log whose jobs all wait at first, in slots of 0.1 s: more of them than an endless run lets wait, for longer."""
    jobs = packenv.Jobs.of([0] * 1200, [0.5, 0.25] * 600, [1000, 300] * 600)
    options: dict[str, Any] = {"workload": packenv.Workload(jobs=jobs, servers=8)}
    work = 600 * (0.5 * 1000 + 0.25 * 300) / 8  # slots in which eight full servers do it
    for more, reason, slots in (({}, "all work is done", (work, work + 1000)), ({"horizon": 5_000}, "horizon", (5_000, 5_000))):
        env = gym.make(f"packenv/{kind}-v1", **options, **more)
        _, info = env.reset(seed=0)
        while not info["reason"]:
            *_, info = env.step(int(info["action_mask"].argmax()))
        assert REASONS[info["reason"]] == reason and info["mean_queue"] > 100
        assert slots[0] <= info["slot"] <= slots[1]


def test_the_yardstick_is_the_baselines_run_on_the_same_jobs() -> None:
    env = gym.make("packenv/ServerFill-v1", horizon=1600, yardstick=True)
    _, info = env.reset(seed=5)
    while not info["reason"]:
        assert info["baseline_queue"] == -1
        _, _, _, _, info = env.step(0)
    expected = packenv.simulate(packenv.workload("paper/fig4b"), "bf-js", 1600, 5, warmup=0).mean_queue
    assert info["baseline_queue"] == expected


@pytest.mark.parametrize("horizon", [None, 300, 468])
def test_the_yardstick_of_a_table_is_the_baselines_own_run(horizon: int | None) -> None:
    """Whoever is done first, unless a horizon cuts both; and the advantage adds up to the difference of all that waited.

    BF-J/S is done in slot 469, with the first valid actions all is in 467 and with the last ones in 542.
    """
    draw = np.random.default_rng(2)
    rows = 60
    jobs = packenv.Jobs.of(np.sort(draw.integers(0, 100, rows)), draw.integers(1, 9, rows) / 10, draw.integers(5, 60, rows))
    workload = packenv.Workload(jobs=jobs, servers=2)
    own = packenv.simulate(workload, "bf-js", horizon, 0, drain=horizon is None, warmup=0)
    assert own.mean_queue is not None
    slots = []
    for choose in (0, -1):  # the first valid action, or the last
        options: dict[str, Any] = {"workload": workload, "horizon": horizon, "perf": True, "reward": "advantage"}
        env, total = gym.make("packenv/ServerFill-v1", **options), 0.0
        _, info = env.reset(seed=0)
        while not info["reason"]:
            _, reward, *_, info = env.step(int(np.flatnonzero(info["action_mask"])[choose]))
            total += reward
        slots.append(info["slot"])
        waited, of_baseline = info["mean_queue"] * info["slot"], own.mean_queue * own.slots
        assert (info["baseline_queue"], info["baseline_delay"]) == (own.mean_queue, own.mean_delay)
        assert total == pytest.approx(of_baseline - waited)
        measure = "delay" if REASONS[info["reason"]] == "all work is done" else "queue"
        assert info[f"mean_{measure}"] / info[f"baseline_{measure}"] == pytest.approx(waited / of_baseline)
        assert info["perf"] == pytest.approx(max(1 - waited / of_baseline / 2, 0))
    assert (own.slots, slots) == {None: (469, [467, 542]), 300: (300, [300, 300]), 468: (468, [467, 468])}[horizon]


@pytest.mark.parametrize("reward", sorted(set(REWARDS) - {"completion", "overtaking", "value", "slowdown", "wait"}))
def test_terms_add_up_to_the_reward(reward: str) -> None:
    """Of one environment and of a batch, the penalty for actions that are not valid included."""
    options: dict[str, Any] = {"reward": reward, "reward_terms": True, "invalid_penalty": 0.5, "horizon": 300}
    env, batch = gym.make("packenv/ServerFill-v1", **options), gym.make_vec("packenv/ServerFill-v1", num_envs=2, **options)
    (_, info), (_, infos) = env.reset(seed=4), batch.reset(seed=4)
    assert set(info["reward_terms"].values()) == {0.0} and info["reward_terms"].keys() == infos["reward_terms"].keys()
    for n in range(60):
        if info["reason"]:
            break
        _, gained, *_, info = env.step(n % 3)
        _, rewards, *_, infos = batch.step(np.full(2, n % 3))
        assert sum(info["reward_terms"].values()) == pytest.approx(gained)
        assert sum(infos["reward_terms"].values()) == pytest.approx(rewards)
        assert info["reward_terms"] == pytest.approx({name: term[0] for name, term in infos["reward_terms"].items()})


def test_terms_of_whole_jobs_and_of_a_function() -> None:
    passage = Passage._make(float(n + 1) for n in range(len(Passage._fields)))
    for reward in [*map(find_reward, REWARDS), find_reward("completion:unfairness=2"), lambda passage: passage.queue * 3]:
        assert sum(terms_of(reward, passage).values()) == reward(passage)


def test_perf_is_where_the_queue_lies_between_twice_the_baselines_and_the_bound() -> None:
    options: dict[str, Any] = {"workload": "small/fig3a", "horizon": 3000, "perf": True}
    env, batch = gym.make("packenv/ServerFill-v1", **options), gym.make_vec("packenv/ServerFill-v1", num_envs=1, **options)
    (_, info), (_, infos) = env.reset(seed=2), batch.reset(seed=2)
    while not info["reason"]:
        assert info["perf"] == infos["perf"][0] == -1
        *_, info = env.step(0)
        *_, infos = batch.step(np.zeros(1, np.int64))
    bound = packenv.queue_bound(packenv.workload("small/fig3a")).value
    worst = 2 * info["baseline_queue"]
    assert worst > bound > 0
    assert info["perf"] == infos["perf"][0] == pytest.approx(np.clip((worst - info["mean_queue"]) / (worst - bound), 0, 1))
    with pytest.raises(InputError, match="perf needs one intensity"):
        gym.make("packenv/ServerFill-v1", intensity=(0.5, 0.9), perf=True)
