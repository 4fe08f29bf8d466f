"""The command `packenv`: its subcommands, loaded when they are called, and one line for whatever goes wrong."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from packenv.errors import InputError, nearest

COMMANDS = {
    "evaluate": ("packenv.cli.evaluate", "Compare policies on a workload or a trace."),
    "capacity": ("packenv.cli.capacity", "Bracket the maximum supportable workload ρ*, with proof."),
    "judge": ("packenv.cli.judge", "Find the fraction of ρ* that policies support, against their guarantees."),
    "optimum": ("packenv.cli.optimum", "Find the shortest schedule of a table of jobs, and how far policies are from it."),
    "train": ("packenv.cli.train", "Let an agent learn a policy."),
    "worst-case": ("packenv.cli.worst_case", "Look for the workload on which a policy supports the least."),
    "leaderboard": ("packenv.cli.leaderboard", "Rank policies and agents on the same jobs of many workloads."),
    "reproduce": ("packenv.cli.reproduce", "Draw the paper's figures again, and say which of its claims they show."),
    "trace": ("packenv.cli.trace", "Convert, describe and profile traces."),
    "list": ("packenv.cli.listing", "Show the policies and workloads that are known by name."),
    "bench": ("packenv.cli.bench.main", "Measure the speed of this installation."),
}
ATTRIBUTES = {
    "list": "listing",
    "judge": "judge_command",
    "train": "train_command",
    "worst-case": "worst_case_command",
}  # names that mean something else in their modules
BAD_INPUT, INTERRUPTED = 2, 130


class Commands(click.Group):
    """Subcommands by name, imported only when needed: help stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            raise InputError(f"unknown command {cmd_name!r}{nearest(cmd_name, list(COMMANDS))}")
        module, _ = COMMANDS[cmd_name]
        return getattr(import_module(module), ATTRIBUTES.get(cmd_name, cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="packenv")
def cli() -> None:
    """Which job goes on which server, and when: simulate, compare and learn scheduling policies."""


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; bad input is one line on standard error and exit status 2, Ctrl-C is 130."""
    sys.path.append(str(Path.cwd()))  # policies in modules of the user's folder
    try:
        words = sys.argv[1:] if arguments is None else arguments
        return cli(words, prog_name="packenv", standalone_mode=False, obj=words)  # what was said, for those who keep it
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except (KeyboardInterrupt, click.Abort):
        print("packenv: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except (InputError, click.ClickException) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        print(f"packenv: {' '.join(message.split())}", file=sys.stderr)
        sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
