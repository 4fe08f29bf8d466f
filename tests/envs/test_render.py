"""Pictures, texts and films of every environment, without a screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from packenv.envs.rendering import HEIGHT, HISTORY_HEIGHT, MARGIN, MARK, QUEUES_WIDTH, WIDTH, colour_of
from tests.envs.conftest import Player
from tests.envs.grid import KINDS, PAIR, TABLE
from tests.envs.playing import plain_env, plain_vec


def played(kind: str, mode: str, steps: int = 30, **options: Any) -> Any:
    env = plain_env(kind, render_mode=mode, **options)
    _, info = env.reset(seed=3)
    choose = Player(0)
    for _ in range(steps):
        *_, info = env.step(choose(info))
    return env


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options", [{}, {"workload": PAIR}, {"servers": 300}, {"workload": TABLE}], ids=["", "two", "many", "table"]
)
def test_pictures(kind: str, options: dict[str, Any]) -> None:
    env = played(kind, "rgb_array", steps=12, **options)
    picture = env.render()
    assert picture.shape == (HEIGHT, WIDTH, 3)
    assert picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 5


def test_a_bar_is_as_high_as_its_job() -> None:
    """One job of ½ on one of two servers: half of one bar in the colour of its type."""
    env = plain_env("Placement", render_mode="rgb_array", servers=2, start=[(0.5, 1, 1000)], rate=1e-6, horizon=None)
    env.reset(seed=0)
    env.unwrapped.core.restart((0,))  # type: ignore[attr-defined]  # before the first event, when the job leaves
    picture: Any = env.render()
    picture = picture[:, : WIDTH - QUEUES_WIDTH - 2 * MARGIN]
    job = (picture == colour_of(2, 8)).all(axis=2)
    rows, columns = np.flatnonzero(job.any(axis=1)), np.flatnonzero(job.any(axis=0))
    pale = (picture == (226, 227, 231)).all(axis=2)
    bar = np.flatnonzero(pale[:, columns[0] + 20])
    bar = bar[bar < rows[-1] + 2]
    assert (rows[-1] - rows[0]) == pytest.approx((rows[-1] - bar[0]) / 2, abs=3)
    assert columns[0] > WIDTH / 4  # the second bar


def test_one_picture_shows_the_queue_of_all_decisions_before() -> None:
    """Nothing ever starts: a line from the empty queue up to the last decision, also if nobody looked before."""
    env = plain_env("Placement", render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(40):
        env.step(env.action_space.n - 1)  # type: ignore[attr-defined]
    picture: Any = env.render()
    line = np.flatnonzero((picture[-MARGIN - HISTORY_HEIGHT :] == MARK).all(axis=2).any(axis=0))
    assert (line[0], line[-1]) == (pytest.approx(MARGIN, abs=2), pytest.approx(WIDTH - MARGIN, abs=2))
    env.reset(seed=0)
    assert not (np.asarray(env.render())[-MARGIN - HISTORY_HEIGHT :] == MARK).all(axis=2).any()


def test_text() -> None:
    env = played("Placement", "ansi", steps=0, workload=TABLE, horizon=None)
    text = env.render()
    first = int(TABLE.jobs.arrival[0])  # type: ignore[union-attr]
    assert text.startswith(f"slot {first}: 1 waiting\n")
    assert "virtual queues: 0:" in text
    assert text.count("jobs") == 3


def test_window() -> None:
    pygame = pytest.importorskip("pygame")
    env = played("Placement", "human", steps=3, start=[(1.0, server, 500) for server in range(5)])
    surface = pygame.display.get_surface()
    assert surface.get_size() == (WIDTH, HEIGHT)
    assert len({tuple(surface.get_at((x, 200))) for x in range(0, WIDTH, 3)}) > 1
    env.close()
    assert not pygame.display.get_init()
    env.close()


@pytest.mark.parametrize("kind", KINDS)
def test_checker_with_pictures(kind: str) -> None:
    check_env(plain_env(kind, render_mode="rgb_array").unwrapped)


def test_film(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env = plain_env("Placement", render_mode="rgb_array", horizon=120)
    film = gym.wrappers.RecordVideo(env, str(tmp_path), episode_trigger=lambda episode: True, disable_logger=True)
    _, info = film.reset(seed=0)
    choose, truncated = Player(0), False
    while not truncated:
        _, _, _, truncated, info = film.step(choose(info))
    film.close()
    files = list(tmp_path.glob("*.mp4"))
    assert len(files) == 1
    assert files[0].stat().st_size > 2000


def test_batches() -> None:
    env = plain_vec("ServerFill", num_envs=2, render_mode="rgb_array")
    env.reset(seed=0)
    pictures = env.render()
    assert pictures is not None and len(pictures) == 2
    assert not (pictures[0] == pictures[1]).all()
    env.close()
