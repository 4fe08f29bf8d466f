"""Gymnasium environments over the simulator, imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.lazy_names import homes_of, lazy_names

if TYPE_CHECKING:
    from packenv.envs.core.state import REASONS as REASONS
    from packenv.envs.core.state import Passage as Passage
    from packenv.envs.interfaces.sb3 import PackVecEnv as PackVecEnv
    from packenv.envs.interfaces.sb3 import QueueRatio as QueueRatio
    from packenv.envs.options import Warm as Warm
    from packenv.envs.policy_agents.agent import PolicyAgent as PolicyAgent
    from packenv.runs.evaluate_ratio import EvaluateRatio as EvaluateRatio

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_names(__name__, homes_of(__file__))
