"""A training run around a learner's iterations."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from packenv.errors import InputError
from packenv.learning.agents.agent import UNFINISHED, SavedAgent
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.agents.saved import save_agent
from packenv.learning.agents.weights import Weights
from packenv.learning.evolution import Evolution
from packenv.learning.settings import Settings
from packenv.learning.training.evaluation import LoadEvaluation, as_measured, overall, supported
from packenv.learning.training.plan import CurvePoint, RunPlan, TrainedAgent
from packenv.learning.training.run_folder import AGENT, CHECKPOINT, restore_checkpoint, write_checkpoint
from packenv.learning.training.training_log import GUARANTEES, TrainingLog, TrainingProgress

LOGS = 500  # in a whole run
FIRST = 50  # the first evaluation is after this part of the run, so that its curve begins soon
PROVEN = ("bf-js", "vqs-bf")  # the better of these is shown beside the agent's supported fraction


class TrainingRun:
    """Drives a learner: logs, evaluations and checkpoints between its iterations."""

    def __init__(self, settings: Settings, plan: RunPlan, learner: Evolution) -> None:
        self.settings, self.plan, self.learner = settings, plan, learner
        self.best: Weights = {}
        self.best_score, self.best_at = float("inf"), 0
        self.measured: dict[str, float] = {}
        self.best_measured: dict[str, float] = {}
        self.curve: list[CurvePoint] = []
        self.references: dict[str, float] = {}  # lines beside the supported fraction
        self.saved = 0  # samples of the last checkpoint

    def resume(self, path: Path) -> None:
        checkpoint = restore_checkpoint(path, self.learner)
        counters = checkpoint.counters
        self.best, self.saved = checkpoint.best, self.learner.samples
        self.best_score = counters["best_score"] if counters["best_score"] is not None else float("inf")
        self.best_at, self.measured, self.best_measured = counters["best_at"], counters["measured"], counters["best_measured"]
        self.curve = [CurvePoint(*row) for row in counters.get("curve", ())]  # checkpoints before version 0.10 have none

    def run(self, progress: TrainingProgress) -> TrainedAgent:
        """Learn the settings' number of samples, evaluate, and save."""
        samples, done = self.settings.samples, self.learner.samples
        self.progress = progress
        self.log = TrainingLog(self.plan.folder, done, progress.say)
        if done == 0:
            self.log.settings(self.settings.record(), self.plan.command)
        self.evaluation = LoadEvaluation(self.settings, self.plan.against, self.plan.evaluation_slots, self.plan.evaluation_seeds)
        self.every = {
            self.write_scalars: max(samples // LOGS, 1),
            self.evaluate: self.plan.evaluate_every or max(samples // 10, 1),
            self.judge: self.plan.judge_every,
            self.checkpoint: self.plan.checkpoint_every or max(samples // 20, 1),
        }
        self.next = {act: (done // every + 1) * every for act, every in self.every.items() if every}
        if not self.plan.evaluate_every and done < samples // FIRST:
            self.next[self.evaluate] = samples // FIRST
        if done < samples:
            self.learner.learn(samples - done, self.between_iterations)
        return self.finish()

    def between_iterations(self) -> None:
        """Evaluate, judge or save, whatever is due."""
        samples = self.learner.samples
        self.progress.reach(samples)
        for act, moment in self.next.items():
            if samples >= moment:
                began = time.monotonic()
                act()
                self.progress.pause(time.monotonic() - began)
                every = self.every[act]
                self.next[act] = (samples // every + 1) * every

    def finish(self) -> TrainedAgent:
        """Write a checkpoint, evaluate, and save the final agent."""
        done = self.learner.samples
        self.progress.reach(done)
        speed = self.progress.speed()
        if self.saved < done:
            self.checkpoint()
        self.progress.end(f"{done:,} samples: evaluating" + (" and judging" if self.plan.judge_every else ""))
        self.evaluate()
        if self.plan.judge_every:
            self.judge()
        self.checkpoint()
        # choose the last agent or the best
        weights, at, measured = self.learner.weights, done, self.measured
        if self.plan.keep == "best" and self.best:
            weights, at, measured = self.best, self.best_at, self.best_measured
        agent = self.plan.out or self.plan.folder / AGENT
        # try both places before an error is raised
        failed = []
        for path in dict.fromkeys((self.plan.folder / AGENT, agent)):
            try:
                save_agent(path, self.about(at, self.plan.keep, measured), weights)
            except InputError as error:
                failed.append(error)
        self.log.hyperparameters(self.settings.record(), measured, done)
        self.log.close()
        if failed:
            raise failed[0]
        curve, by = tuple(self.curve), self.evaluation.by
        return TrainedAgent(agent, done, speed, measured, at, self.plan.keep, str(by), self.plan.against, curve)

    def write_scalars(self) -> None:
        scalars = self.learner.measured() | {"speed/samples per second": self.progress.speed()}
        self.log.scalars(scalars, self.learner.samples)

    def evaluate(self) -> None:
        """Compare agent and policy on equal jobs, remembering the best."""
        samples, weights = self.learner.samples, self.learner.weights
        compared = self.evaluation(self.agent(weights))
        score, by = overall(compared), self.evaluation.by
        self.curve = [point for point in self.curve if point.samples != samples]  # the last one may be done twice
        for comparison in compared:
            values = [value if math.isfinite(value) else None for value in (comparison.agent, comparison.other, comparison.ratio)]
            self.curve.append(CurvePoint(samples, comparison.label, *values))
        self.measured = as_measured(compared, by, self.plan.against)
        if score < self.best_score:
            self.best, self.best_score, self.best_at, self.best_measured = weights, score, samples, self.measured
        shown_values = self.measured | self.evaluation.bounds()
        self.log.scalars({f"evaluation/{name}": value for name, value in shown_values.items()}, samples)
        self.log.flush()
        text = ", ".join(f"{comparison.agent:.3g} ({comparison.ratio:.3f}) at {comparison.label}" for comparison in compared)
        self.progress.say(f"{samples:,} samples: {by} (ratio to {self.plan.against}) {text}")

    def judge(self) -> None:
        """Find and show the supported fraction of ρ*, coarsely."""
        samples = self.learner.samples
        workload = next(iter(self.evaluation.workloads.values()))
        report = lambda: self.progress.reach(samples)  # noqa: E731
        low, high = supported(workload, self.agent(self.learner.weights), report)
        if not self.references:
            fractions = {name: supported(workload, name, report)[0] for name in PROVEN}
            best = max(fractions, key=lambda name: fractions[name])
            self.references = {f"judge/{best}, lower end": fractions[best]} | GUARANTEES
            self.log.supported_fraction_chart([f"judge/{best}, lower end"])
        self.log.scalars({"judge/agent, lower end": low, "judge/agent, upper end": high} | self.references, samples)
        self.progress.say(f"{samples:,} samples: supports between {low:.3g} and {high:.3g} of ρ*")

    def checkpoint(self) -> None:
        """Write everything that a resumed run needs."""
        counters = {
            "best_score": self.best_score if self.best else None,
            "best_at": self.best_at,
            "measured": self.measured,
            "best_measured": self.best_measured,
            "curve": self.curve,
        }
        about = self.about(self.learner.samples, "last", self.measured)
        try:
            save_agent(self.plan.folder / AGENT, about | {UNFINISHED: True}, self.learner.weights)
            write_checkpoint(self.plan.folder / CHECKPOINT, self.learner, counters, self.best)
            self.saved = self.learner.samples
        except InputError as error:  # a full disk may have room again at the next one
            self.progress.say(f"no checkpoint: {error}")
        self.log.flush()

    def about(self, samples: int, rule: str, measured: dict[str, float]) -> dict[str, Any]:
        return agent_metadata(self.settings, self.plan.command, samples, rule, measured)

    def agent(self, weights: Weights) -> SavedAgent:
        return SavedAgent(self.plan.folder.name, self.about(self.learner.samples, "last", {}), weights)
