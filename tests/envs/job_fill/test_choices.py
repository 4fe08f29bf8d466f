"""JobFill with `choices`: the best groups by the score of Tetris, and the reward that counts delays when they are decided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv.workloads.named.analytics import analytics
from tests.envs.conftest import Player
from tests.envs.job_fill.plain import Plain
from tests.envs.job_fill.test_features import environment
from tests.envs.playing import plain_env, play

CHOICES, ALL = 3, 20


def moment(core: Any, info: dict[str, Any]) -> Plain:
    """The plain reckoning of the present slot."""
    c, jobs = core.parts[0].c, core.workload.jobs
    record = (getattr(c.measures, name)[0, : len(jobs)].copy() for name in ("start", "end", "server"))
    racks = c.source.locality.rack if jobs.home is not None else None
    return Plain(core.workload, info["slot"], *record, racks=racks)


def score(plain: Plain, groups: list[list[int]], server: int) -> list[float]:
    """Alignment less twice the work left, each over its mean over the tasks; a tenth of the alignment is lost off the data."""

    def alignment(row: int) -> float:
        at_home = not plain.home(row) or server in plain.home(row)
        return float(plain.alignment(row, server)) * (1.0 if at_home else 0.9)

    tasks = sum(map(len, groups))
    aligned, works = ([of(group[0]) for group in groups] for of in (alignment, plain.work_left))
    means = (sum(x * len(group) for x, group in zip(of, groups, strict=True)) / tasks for of in (aligned, works))
    of_alignment, of_work = (mean or 1.0 for mean in means)
    return [a / of_alignment - 2 * p / of_work for a, p in zip(aligned, works, strict=True)]


@pytest.mark.parametrize(("seed", "placed"), [(0, None), (1, None), (2, None), (1, True)])
@pytest.mark.parametrize("passing", [False, True])
def test_offered_are_the_best_by_score_and_nothing_is_asked_without_a_choice(
    seed: int, placed: bool | None, passing: bool
) -> None:
    env, player = environment(seed, 1 + seed % 3, placed, passing=passing, choices=CHOICES, window=ALL), Player(seed)
    _, info = env.reset(seed=0)
    core, decisions, done = env.unwrapped.core, 0, False
    while not done:
        batch, plain = core.parts[0], moment(core, info)
        server = int(batch.turn["server"][0])
        if server < 0:  # all has started without a choice
            env.step(0)
            return
        groups = plain.offered(server)
        scores = score(plain, groups, server)
        offered = [g for g in batch.offered[0].tolist() if g >= 0]
        first_rows = [int(batch.jobs.book.ends["head"][g]) for g in offered]
        of_row = {group[0]: value for group, value in zip(groups, scores, strict=True)}
        values = [of_row[row] for row in first_rows]
        assert values == pytest.approx(sorted(scores, reverse=True)[: len(offered)], abs=1e-6)
        assert len(offered) == min(CHOICES, len(groups)) and (passing or len(groups) > 1)
        decisions += 1
        _, _, terminated, truncated, info = env.step(player(info))
        done = terminated or truncated
    assert decisions > 0


def test_the_first_of_all_is_tetris() -> None:
    """Task by task: the policy with the same weights, without fairness and barriers."""
    workload = analytics(jobs=12, servers=4)
    env = plain_env("JobFill", workload=workload, choices=2, window=500, record_schedule=True, passing=False)
    _, infos = play(env, seed=3, choose=lambda info: 0)
    start, server = env.unwrapped.schedule()
    table = workload.at(infos[0]["seed"])
    result = packenv.simulate(table, "tetris:f=0,b=1,m=2", seed=infos[0]["seed"], drain=True, schedule=True)
    np.testing.assert_array_equal(start, result.schedule.start)
    np.testing.assert_array_equal(server, result.schedule.server)


@pytest.mark.parametrize("seed", (1, 2, 3))
def test_overtaking(seed: int) -> None:
    """What starts delays the waiting jobs with less work left."""
    options: dict[str, Any] = {"passing": True, "choices": CHOICES, "window": ALL, "reward": "overtaking"}
    env, player = environment(seed, 1 + seed % 3, None, **options), Player(seed)
    _, info = env.reset(seed=0)
    core, done, total = env.unwrapped.core, False, 0.0
    capacity = core.workload.servers.units
    everything = sum(c / capacity[:, r].max() for r in range(capacity.shape[1]) for c in capacity[:, r])
    while not done:
        plain, offered = moment(core, info), core.parts[0].offered[0].tolist()
        action, cost = player(info), 0.0
        if action < CHOICES:
            row = int(core.parts[0].jobs.book.ends["head"][offered[action]])
            waiting = {plain.job(other): plain.work_left(other) for other in plain.rows if plain.waits(other)}
            less = sum(left < plain.work_left(row) for left in waiting.values())
            cost = less * plain.rate(row) / 2**20 * plain.expected(row) / everything
        _, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        assert reward == pytest.approx(-cost * len(capacity) / core.workload.mean_service, rel=1e-5, abs=1e-6)
        total += reward
    assert total < 0
