"""Rules for one replica of a language model. The import registers `packenv/Replica-v1` with Gymnasium."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gymnasium

from packenv.extend import homes_of, lazy_names

if TYPE_CHECKING:
    from packenv_llm.grading import score as score
    from packenv_llm.replica import Replica as Replica
    from packenv_llm.replica import StepTime as StepTime
    from packenv_llm.requests import Requests as Requests
    from packenv_llm.requests import Source as Source
    from packenv_llm.rules import Rule as Rule
    from packenv_llm.simulation import simulate as simulate
    from packenv_llm.verbs import bound as bound
    from packenv_llm.verbs import evaluate as evaluate
    from packenv_llm.verbs import judge as judge

gymnasium.register("packenv/Replica-v1", entry_point="packenv_llm.environment:ReplicaEnv")
if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_names(__name__, homes_of(__file__))
