"""What the training scripts of this folder share: their options, the training with its evaluations, and the comparison."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from packenv.envs.registration import find_definition
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.agents.saved import load_agent, save_agent
from packenv.learning.evolution import Case, Evolution
from packenv.learning.settings import Settings
from packenv.learning.training.evaluation import LoadEvaluation
from packenv.learning.weighted_sums import as_vector

EVERY = 10  # generations from one agent that is kept to the next, where cases are drawn
FirstWeights = Mapping[str, float | tuple[float, float]]
"""By feature: its weight, or of a network that varies also what counts times the logarithm of the waiting tasks."""
UNSEEN = 2_000_000  # first seed of jobs that neither training nor the choice of the best agent has seen


def options_of(description: str | None, arguments: Sequence[str] | None, **more: Any) -> argparse.Namespace:
    """`--out`, `--quick` and `--seed`, and integers `more` by name with their defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", required=True, help="The agent: OUT.safetensors and OUT.json.")
    parser.add_argument("--quick", action="store_true", help="A first look.")
    parser.add_argument("--seed", type=int, default=0)
    for name, default in more.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args(arguments)


def evolve_on_jobs(
    main: Callable[..., None],
    arguments: Sequence[str] | None,
    settings: Settings,
    against: str,
    first_weights: FirstWeights | None = None,
    quick: int = 300_000,
) -> None:
    """The `main` of a script that evolves an agent for whole jobs: weights on JobFill's features.

    They begin as `first_weights`, by name, and the others as 0; without these as those of the agent `settings.start`.

    With --quick it has `quick` samples. The agent is compared with `against` on 16 tables that it has never seen, or 2.
    """
    given = options_of(main.__doc__, arguments, processes=2)  # candidates that run at a time
    settings = replace(settings, seed=given.seed or settings.seed)
    if given.quick:
        settings = replace(settings, population=6, samples=quick)
    evolve(settings, given.out, given.processes, first_weights)
    compare(settings, given.out, against, seeds=2 if given.quick else 16)


def evolve(settings: Settings, out: str, processes: int, first_weights: FirstWeights | None = None) -> None:
    """Evolve an agent and save it as it is after the last generation, and after every twentieth part of the samples."""
    learner = Evolution(settings, processes)
    print(learner.initialise() or "", end="")
    if first_weights:
        begin_with(learner, first_weights)
    due = 0

    def save() -> None:
        save_agent(out, agent_metadata(settings, command(), learner.samples, "last", {}), learner.weights)

    def between_generations() -> None:
        nonlocal due
        if learner.samples > due:
            due = learner.samples + settings.samples // 20
            measures = ", ".join(f"{name} {value:.4g}" for name, value in learner.measured().items())
            print(f"{learner.samples:,} tasks: {measures}", flush=True)
            save()

    learner.learn(settings.samples, between_generations)
    save()


def evolve_on_cases(
    settings: Settings,
    out: str,
    processes: int,
    draw: Callable[[int], list[Case]],
    first_weights: FirstWeights | None = None,
) -> None:
    """Evolve on the cases that `draw` gives for each generation; keep an agent every so many generations, and the last."""
    learner = Evolution(settings, processes, draw=draw)
    learner.initialise()
    if first_weights:
        begin_with(learner, first_weights)
    generation = 0

    def save(path: str) -> None:
        save_agent(path, agent_metadata(settings, command(), learner.samples, "last", {}), learner.weights)

    def between_generations() -> None:
        nonlocal generation
        if generation % EVERY == 0 and generation:
            save(f"{out}-{generation}")
        measured = [f"{value:.3g}" for name, value in learner.measured().items() if "median" not in name]
        print(f"generation {generation}, {learner.samples:,} tasks: step size and spread {', '.join(measured)}", flush=True)
        generation += 1

    learner.learn(settings.samples, between_generations)
    save(out)


def begin_with(learner: Evolution, first_weights: FirstWeights) -> None:
    """Set the weights of the environment's features that are named, and leave the others at 0."""
    features = find_definition(learner.settings.environment).features
    assert features is not None
    position, begun = {each.name: n for n, each in enumerate(features.of_action)}, learner.weights
    for name, weights in first_weights.items():
        both = weights if isinstance(weights, tuple) else (weights,)
        for key, weight in zip(("actor.of_action", "actor.per_waiting"), both, strict=False):
            begun[key][position[name]] = weight
    learner.search.mean = as_vector(begun)


def compare(settings: Settings, out: str, against: str, slots: int = 200_000, seeds: int = 4) -> None:
    """Print what counts in training of the saved agent, beside that of `against`, on jobs that it has never seen."""
    evaluation = LoadEvaluation(settings, against, slots, seeds, first_seed=UNSEEN)
    for each in evaluation(load_agent(out)):
        print(f"{each.label}: {evaluation.by} {each.agent:.2f}, {against} {each.other:.2f}, ratio {each.ratio:.3f}")


def command() -> str:
    """The command line of this run, for the agent's description."""
    return shlex.join(["python", *sys.argv])
