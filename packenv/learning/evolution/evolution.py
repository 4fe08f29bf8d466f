"""Evolution as a learner: candidates schedule whole runs in the compiled loop, and those with short queues, or early jobs, win.

All candidates of a generation see the same jobs at the same loads. Only their order counts, so neither the randomness of
the arrivals, which they share, nor the different lengths of queues at different loads matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.envs.interfaces.sb3 import PackVecEnv
from packenv.executors.choose import PROCESSES, executor
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.evolution.cma_es import CmaEs
from packenv.learning.evolution.trials import Trial, TrialRunner
from packenv.learning.imitation.imitation import imitate_policy, scaled
from packenv.learning.learner import Learner
from packenv.learning.loads import workloads_at_loads
from packenv.learning.networks.network import Network, form_of
from packenv.learning.objective import objective
from packenv.learning.settings import Settings
from packenv.workloads.workload import Workload

LOADS = 4  # of every candidate, spread evenly over the interval
TABLES = 8  # of every candidate, where every seed has a table of its own: they differ by more than loads do
FLOOR = 0.1  # tasks: where a reference is known, shorter queues than this hardly differ


class Case(NamedTuple):
    """A run that every candidate of a generation makes."""

    label: str
    workload: Workload
    slots: int
    reference: float | None = None  # what a policy measures on the same jobs


class Evolution(Learner):
    """CMA-ES over the weights of the settings' network; candidates run on the executor `on`, as `packenv.executor` names it.

    `draw` gives a generation's cases from its seed; case n runs with seed + n. Without it all generations have the settings'
    workload, at several loads.
    """

    def __init__(
        self,
        settings: Settings,
        processes: int = 1,
        on: str = PROCESSES,
        draw: Callable[[int], list[Case]] | None = None,
    ) -> None:
        self.settings, self.processes, self.on = settings, processes, on
        env = PackVecEnv(settings.environment, 1, bare=True, **settings.env_options())
        self.network = Network(env.observation_space, 1, critic=False, **form_of(settings, env.core.layout))
        self.search = CmaEs(self.network, settings.learning_rate)
        self.module, self.optimizer, self.core = self.search, None, None
        self.population = settings.population or 2 * round(2 + 1.5 * math.log(len(self.search.path)))
        if draw is None:
            cases = [Case(*case, settings.horizon) for case in workloads_at_loads(settings, LOADS).items()]
            if settings.workload.draw is not None and len(cases) == 1:
                cases *= TABLES
        self.draw = draw or (lambda seed: cases)
        self.by = objective(settings.reward)
        self.about = agent_metadata(settings, "", 0, "last", {})
        self.started = 0
        self.said: dict[str, float] = {}

    def initialise(self, say: Callable[[str], None] = print) -> str | None:
        line = super().initialise(say)
        if self.settings.imitate is not None:
            line = imitate_policy(self.settings, self.network, say)
            scaled(self.network)  # the step size is relative to weights of order 1
        return line

    @property
    def samples(self) -> int:
        return self.started

    def learn(self, samples: int, between: Callable[[], None]) -> None:
        end = self.started + samples
        with executor(self.on, self.processes) as cluster:
            run = TrialRunner(cluster)
            while self.started < end:
                between()
                self._generation(run)

    def measured(self) -> dict[str, float]:
        found, self.said = self.said, {}
        return found

    def counters(self) -> dict[str, Any]:
        return {"num_timesteps": self.started}

    def resume(self, counters: dict[str, Any]) -> None:
        self.started = counters["num_timesteps"]

    def _generation(self, run: TrialRunner) -> None:
        seed = self.settings.seed_after(self.started)  # the same whether the run was interrupted or not
        candidates, draws = self.search.ask(self.population, seed)
        cases = self.draw(seed)
        trials = [
            Trial(self.about, self.search.weights_of(candidate), case.workload, case.slots, seed + n, self.by)
            for candidate in candidates
            for n, case in enumerate(cases)
        ]
        scores = run(trials)
        measured = np.array([score.measure for score in scores]).reshape(self.population, -1)
        merit = merits(measured, cases)
        ended = merit[np.isfinite(merit)]
        self.search.tell(draws, np.argsort(merit, kind="stable").tolist())
        self.started += max(sum(score.started for score in scores), 1)  # so that training ends where all pass for ever
        self.said = {
            f"train/median {str(self.by).removeprefix('mean ')} at {case.label}": float(np.median(measured[:, n]))
            for n, case in enumerate(cases)
        }
        self.said |= {
            "train/step size": float(self.search.step),
            "train/spread of the scores": float(ended.std()) if len(ended) else math.inf,
        }


def merits(measured: NDArray[np.float64], cases: Sequence[Case]) -> NDArray[np.float64]:
    """(P,) of each candidate, the lower the better, from what it measured in the cases, (P, N).

    The mean logarithm; where references are known, of the ratio to them, and ratios above 1 count double.
    """
    references = [case.reference for case in cases if case.reference is not None]
    if not references:
        return np.asarray(np.log(np.maximum(measured, 1e-9)).mean(axis=1))
    ratios = np.log((measured + FLOOR) / (np.array(references) + FLOOR))
    return np.asarray((ratios + np.maximum(ratios, 0.0)).mean(axis=1))
