"""TorchRL: its GymEnv over our environments, its checks of specs, its collectors, its batches and its masks."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import pytest

from packenv.envs.registration import FORMER, id_of
from packenv.wrappers import MaskedObservation
from tests.envs.playing import plain_env

# Imported in the tests: it takes seven seconds, in each worker that collects them.
pytestmark = [
    pytest.mark.skipif(find_spec("torchrl") is None, reason="torchrl is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

KINDS = ("Placement", "ServerFill", "Configuration")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("former", [False, True])
def test_its_own_check(kind: str, former: bool) -> None:
    from torchrl.envs import GymEnv
    from torchrl.envs.utils import check_env_specs

    env = GymEnv(id_of(kind), horizon=300, **FORMER[kind] if former else {})
    check_env_specs(env)
    rollout = env.rollout(40, break_when_any_done=False)
    assert rollout.batch_size == (40,)
    assert rollout["next", "reward"].isfinite().all()


def test_a_collector_goes_on_over_the_ends_of_episodes() -> None:
    from torchrl.collectors import Collector
    from torchrl.envs import GymEnv

    env = GymEnv("packenv/ServerFill-v1", horizon=200, categorical_action_encoding=True)
    collector = Collector(env, None, frames_per_batch=128, total_frames=256)
    found = list(collector)
    assert [len(batch) for batch in found] == [128, 128]
    assert any(batch["next", "truncated"].any() for batch in found)
    assert not any(batch["next", "terminated"].any() for batch in found)
    collector.shutdown()


def test_batches_that_begin_again_in_the_same_step() -> None:
    from torchrl.envs import GymWrapper

    envs: Any = gym.make_vec(
        "packenv/ServerFill-v1",
        num_envs=3,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
        horizon=100,
    )
    env = GymWrapper(envs, categorical_action_encoding=True)
    rollout = env.rollout(80, break_when_any_done=False)
    assert rollout.batch_size == (3, 80)
    ended = rollout["next", "done"].squeeze(-1)
    assert ended.any()
    assert rollout["next", "elapsed"].shape == rollout["next", "seed"].shape == (3, 80)
    assert (rollout["seed"][:, -1] != rollout["seed"][:, 0])[ended[:, :-1].any(dim=1)].all()


def test_masks() -> None:
    from torchrl.envs import GymWrapper, TransformedEnv
    from torchrl.envs.transforms import ActionMask

    plain = MaskedObservation(plain_env("ServerFill", observation="normalized", horizon=200), "torchrl")
    env = TransformedEnv(GymWrapper(plain, categorical_action_encoding=True), ActionMask())
    rollout = env.rollout(60)
    valid = rollout["action_mask"].gather(-1, rollout["action"].unsqueeze(-1))
    assert valid.all() and not rollout["action_mask"].all()
