"""Options that several commands share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import click

from packenv.cli.options.names import FILE
from packenv.cli.options.of_fields import Decorator, options_of
from packenv.cli.outputs import JSON as JSON
from packenv.cli.outputs import output_option
from packenv.options.shared import SCHEDULE_FILES as SCHEDULE_FILES
from packenv.options.shared import ProcessOptions, WorkloadOptions

if TYPE_CHECKING:
    from packenv.runs.runner import RunOptions

option = functools.partial(click.option, show_default=True)

log = output_option("--log", type=FILE, help="Save finished runs in this file; later calls make only missing ones.")
tensorboard_option = output_option(
    "--tensorboard",
    metavar="DIR",
    help="Write runs for TensorBoard to DIR/WORKLOAD/POLICY; a taken name becomes POLICY-2.",
)


def workload_options(*names: str, **helps: str) -> Decorator:
    """Add options of `WorkloadOptions`, passed with `source` as `of_workload`.

    `helps`: other help, by name.
    """
    return options_of(WorkloadOptions, "of_workload", names, None, **helps)


process_options = options_of(ProcessOptions, "where")
"""Options for where runs are made, passed as `where`."""


def runs_in(where: ProcessOptions) -> RunOptions:
    """Return where a command's runs are made, until it ends."""
    from packenv.runs.runner import RunOptions

    return click.get_current_context().with_resource(RunOptions(where.processes, where.on, where.fail_fast))
