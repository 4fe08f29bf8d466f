"""`packenv train`: train, log, resume and save an agent."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from packenv.cli.options.names import WORKLOAD
from packenv.cli.options.of_fields import options_of, workload_options
from packenv.cli.options.workload import workload_with_notes
from packenv.cli.outputs import check_files
from packenv.envs.registration import ENVIRONMENTS
from packenv.errors import InputError
from packenv.inputs.numbers import LARGEST_WHOLE, read_whole
from packenv.options.shared import OF_TRACES, WorkloadOptions
from packenv.options.verbs import ArrivalOptions, LearningOptions, TrainingOptions

if TYPE_CHECKING:
    from packenv.learning.training.train import Training

NONE = "none"
SPECIAL = {"true": True, "false": False}


@click.command("train")
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@options_of(ArrivalOptions, "arriving", intensity="Arrivals as a share of the area bound: X or LOW:HIGH  "
            "[default on paper/fig4b: 0.85:0.97].")  # fmt: skip
@workload_options("servers", "sizes", "service", "arrivals", "resources", *OF_TRACES)
@options_of(LearningOptions, "learning", environment=f"{', '.join(ENVIRONMENTS)}.")
@options_of(TrainingOptions)
def train_command(
    of_workload: WorkloadOptions, arriving: ArrivalOptions, learning: LearningOptions, options: TrainingOptions
) -> None:
    """Train an agent on a workload or a trace.

    The workload is a name, a .json file, or given by --sizes and --service.

    \b
    packenv train paper/fig4b --intensity 0.85:0.97
    packenv train paper/fig3b --rate 0.0306 --guard vqs --option passing=true
    packenv train tasks.csv --env JobFill --servers 4 --slot-seconds 1
    tensorboard --logdir runs
    """
    check_files(options.out)
    from rich.console import Console

    prepared = training_from(of_workload, arriving, learning, options)
    for notice in prepared.notices:
        Console(stderr=True, soft_wrap=True).print(notice, style="yellow", highlight=False)
    trained = prepared.run()
    Console(soft_wrap=True).print(repr(trained), highlight=False, markup=False)


def training_from(
    of_workload: WorkloadOptions, arriving: ArrivalOptions, learning: LearningOptions, options: TrainingOptions
) -> Training:
    """Return the training of these options.

    Raises InputError for contradicting options.
    """
    from packenv.learning.training.train import default_workload, training, usual_arrivals

    if of_workload.source is None and of_workload.sizes is None:
        of_workload = replace(of_workload, source=default_workload(learning.environment))
    learning = replace(
        learning,
        options=dict(own_option(text) for text in learning.options),
        guard=None if learning.guard == NONE else learning.guard,
    )
    command = shlex.join(["packenv", *(click.get_current_context().find_root().obj or ())])
    return training(
        workload_with_notes(of_workload), arriving.intervals() or usual_arrivals(of_workload.source), learning, options, command
    )


def own_option(text: str) -> tuple[str, Any]:
    """Return key and value of `KEY=VALUE`.

    The value is an integer, true, false or a word. Raises InputError.
    """
    key, equals, value = text.partition("=")
    if not key or not equals or not value:
        raise InputError(f"--option {text}: must be KEY=VALUE")
    if value.lower() in SPECIAL:
        return key, SPECIAL[value.lower()]
    return key, read_whole(value, -LARGEST_WHOLE) if value.lstrip("+-").isdigit() else value
