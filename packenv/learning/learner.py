"""What a training run asks of an algorithm, whichever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from packenv.envs.episodes.core import Core
from packenv.envs.registration import find_definition
from packenv.errors import InputError
from packenv.learning.agents.saved import load_agent
from packenv.learning.networks.network import Network
from packenv.learning.settings import Settings

Arrays = dict[str, NDArray[Any]]
WEIGHTS, MOMENTS = "weights/", "optimizer/"


class Learner(ABC):
    """An algorithm that improves `network`.

    A sample is a decision in an environment (Stable-Baselines3's algorithms) or a task that a candidate started
    (evolution). `module` holds everything that was learned, the network included.
    """

    settings: Settings
    network: Network
    module: torch.nn.Module
    optimizer: torch.optim.Optimizer | None
    core: Core | None  # of the training environments, for pictures; None where there are none

    @property
    @abstractmethod
    def samples(self) -> int:
        """Samples made so far."""

    def initialise(self, say: Callable[[str], None] = print) -> str | None:
        """Set the actor's first weights as the settings say; return a line on how that went, if there is one.

        `say` is told what goes on meanwhile.
        """
        if self.settings.start is not None:
            agent, kind = load_agent(self.settings.start), self.settings.environment
            if agent.definition.follows_jobs != find_definition(kind).follows_jobs:
                raise InputError(f"{agent.name}: it learned in {agent.kind}, whose features are not those of {kind}")
            self.network.start_from(agent)
        return None

    @abstractmethod
    def learn(self, samples: int, between: Callable[[], None]) -> None:
        """Make at least `samples` more samples and learn from them; `between` is called before each iteration."""

    def whole(self, samples: int) -> int:
        """The samples of a run that is to make at least `samples`, as far as that is known before it."""
        return samples

    @abstractmethod
    def measured(self) -> dict[str, float]:
        """The measures since the last call, by name (`group/name`)."""

    @abstractmethod
    def counters(self) -> dict[str, Any]:
        """Numbers that a checkpoint keeps beside the arrays."""

    @abstractmethod
    def resume(self, counters: dict[str, Any]) -> None:
        """Continue after a checkpoint with these counters, with fresh random draws."""

    def arrays(self) -> Arrays:
        """The arrays that a checkpoint keeps: weights, and the optimizer's moments."""
        arrays: Arrays = {WEIGHTS + name: value.numpy() for name, value in self.module.state_dict().items()}
        for index, state in self.optimizer.state_dict()["state"].items() if self.optimizer else ():
            arrays |= {f"{MOMENTS}{index}/{name}": np.asarray(value) for name, value in state.items()}
        return arrays

    def load_arrays(self, arrays: Arrays) -> None:
        """Set weights and moments. Raises RuntimeError, ValueError or KeyError if they are those of another network."""
        self.module.load_state_dict({name: torch.from_numpy(array) for name, array in named(WEIGHTS, arrays).items()})
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, array in named(MOMENTS, arrays).items():
            index, _, key = name.partition("/")
            state.setdefault(int(index), {})[key] = torch.from_numpy(array.copy())
        if state and self.optimizer is not None:
            self.optimizer.load_state_dict({"state": state, "param_groups": self.optimizer.state_dict()["param_groups"]})


def named(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
