"""The command `packenv`: subcommands loaded on use, and errors in one line."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from threading import Timer
from typing import Any

import click
from click.shell_completion import CompletionItem

from packenv.cli.options.every_command import Context, limited
from packenv.errors import ArgumentError, CommandError, InputError, nearest
from packenv.plugins import COMMANDS as PLUGINS
from packenv.plugins import OURS, entries, first_line, install_line, loaded

GROUPS = {
    "Compare": {
        "evaluate": ("evaluate:evaluate", "Compare policies on a workload or a trace."),
        "compare": ("compare:compare_command", "Decide whether a policy or cluster is worse than another (exit status)."),
        "leaderboard": ("leaderboard:leaderboard", "Rank policies and agents on many workloads."),
        "plan": ("plan:plan", "Find how many servers meet your goals, and a lower bound."),
        "judge": ("judge:judge_command", "Find the fraction of ρ* that policies keep stable."),
        "verdict": ("verdict:verdict_command", "Decide from a log whether a system kept up with its arrivals."),
    },
    "Theory": {
        "capacity": ("theory.capacity:capacity", "Bound the maximum supportable workload ρ* from both sides, with proofs."),
        "bound": ("theory.bound:bound_command", "Bound from below the mean queue of policies that do not know durations."),
        "optimum": ("optimum:optimum", "Find the shortest schedule of a table of jobs, and compare policies with it."),
        "optimal-policy": (
            "theory.optimal_policy:optimal_policy",
            "Find the policy with the shortest queue (small workloads).",
        ),
        "reproduce": ("experiments.reproduce:reproduce", "Reproduce figures of the papers, and check the papers' claims."),
    },
    "Learn and serve": {
        "train": ("train:train_command", "Train an agent."),
        "record": ("record:record_command", "Record a policy's episodes as a dataset for offline learning."),
        "serve": ("serve:serve", "Answer your scheduler with decisions of a policy or an agent."),
    },
    "Data": {
        "trace": ("trace:trace", "Convert, describe and profile traces."),
        "list": ("listing:listing", "List the named policies and workloads."),
    },
    "This installation": {
        "warmup": ("warmup:warmup", "Compile policies and environments in advance."),
        "doctor": ("doctor:doctor", "Show what is installed, where machine code is cached, and what is missing."),
        "completion": ("completion:completion", "Print the line that makes your shell complete packenv's commands."),
        "bench": ("experiments.bench.command:bench", "Measure the speed of this installation."),
    },
}
"""By heading in `packenv --help` and name: module and function in packenv.cli or a checkout, and the line of help."""

CHECKOUT = Path(__file__).resolve().parents[2]
"""The folder of packenv, perhaps a checkout."""

COMMANDS = {name: command for commands in GROUPS.values() for name, command in commands.items()}

BAD_INPUT, INTERRUPTED, BROKEN_PIPE, TERMINATED = 2, 130, 141, 143


class Commands(click.Group):
    """Subcommands imported on use, so help and completion stay fast."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *of_plugins()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            return limited(find_command(cmd_name))
        except InputError:
            if ctx.resilient_parsing:  # a shell asks for completions
                return None
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        lines = {name: about for name, (_, about) in COMMANDS.items()} | of_plugins()
        commands = [CompletionItem(name, help=about) for name, about in lines.items() if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = {heading: {name: about for name, (_, about) in commands.items()} for heading, commands in GROUPS.items()}
        lines["Plug-ins"] = of_plugins()
        width = max(len(name) for commands in lines.values() for name in commands)
        for heading, commands in lines.items():
            if commands:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), about) for name, about in commands.items()])


def of_plugins() -> dict[str, str]:
    """Return the commands of plug-ins with their lines of help."""
    return {name: first_line(entry) for name, entry in entries(PLUGINS).items() if name not in COMMANDS}


def find_command(name: str) -> click.Command:
    """Return a command of packenv or of a plug-in.

    Raises InputError if it is unknown or cannot be imported.
    """
    if name in COMMANDS:
        module, _, function = COMMANDS[name][0].partition(":")
        if module.startswith("experiments."):
            check_checkout(name, module)
        else:
            module = f"packenv.cli.{module}"
        command: click.Command = getattr(import_module(module), function)
        return command
    if name not in (installed := entries(PLUGINS)):
        if name in OURS:
            raise InputError(f"{name} is the command of a plug-in that is not installed: {install_line(name)}")
        raise InputError(f"unknown command {name!r}{nearest(name, [*COMMANDS, *installed], alike=0.6)}")
    of_plugin: Any = loaded(installed[name])
    if not isinstance(of_plugin, click.Command):
        raise InputError(f"plug-in {installed[name].value}: is not a command of click's")
    return of_plugin


def check_checkout(name: str, module: str) -> None:
    """Let a command import the folder `experiments`, or raise InputError without a checkout."""
    if not CHECKOUT.joinpath(*module.split(".")).with_suffix(".py").is_file():
        line = f"{name} needs the folder experiments of a clone, and {CHECKOUT} has none"
        raise InputError(f"{line}: clone packenv, and make install")
    if sys.path[:1] != [str(CHECKOUT)]:
        sys.path.insert(0, str(CHECKOUT))  # before a folder of the user with the same name


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="packenv")
def cli() -> None:
    """Which job goes on which server, and when: simulate, compare and learn scheduling policies."""


@contextmanager
def terminated_in_order(signals: list[int]) -> Iterator[None]:
    """Raise SIGTERM like Ctrl-C, so that processes and files are cleaned up.

    Adds it to `signals`. Does nothing if SIGTERM has a handler, or outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def terminate(number: int, _: Any) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Raise Ctrl-C again if the compiler ignored it while calling Python.

    Exceptions of the compiler that follow become the interrupt too.
    """
    usual = sys.unraisablehook
    again: list[Timer] = []

    def hook(ignored: Any) -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            again.append(Timer(0.05, interrupt_main))  # later: now it would be raised in here
            again[-1].start()
        else:
            usual(ignored)

    sys.unraisablehook = hook
    try:
        yield
    except Exception:
        if again:
            raise KeyboardInterrupt from None
        raise
    finally:
        sys.unraisablehook = usual
        with suppress(KeyboardInterrupt):  # no second one, when the command has ended
            for timer in again:
                timer.cancel()
                timer.join()


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line.

    Bad input is one line on standard error and exit status 2. Ctrl-C exits with 130, SIGTERM with 143.
    """
    # Replace closed streams, and show "?" for letters that cannot be written.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - until the process ends
        elif isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="replace")  # a ρ on Windows, or the name of a file that is no UTF-8
    if os.environ.get("COLUMNS", "1").strip("0") == "":
        del os.environ["COLUMNS"]  # no width at all, in which no text would fit
    signals: list[int] = []
    try:
        words = sys.argv[1:] if arguments is None else arguments
        if "_PACKENV_COMPLETE" in os.environ:
            import_module("packenv.cli.completion").prepare_shell()
        with terminated_in_order(signals), deferred_interrupts():
            done = cli(words, prog_name="packenv", standalone_mode=False, obj=words)  # the words, for the outputs that quote them
        sys.stdout.flush()
        return done
    except click.exceptions.NoArgsIsHelpError as alone:  # `packenv`, or `packenv trace`
        print(alone.format_message())
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except (KeyboardInterrupt, click.Abort):
        print(f"packenv: {'terminated' if signals else 'interrupted'}", file=sys.stderr)
        sys.exit(TERMINATED if signals else INTERRUPTED)
    except MemoryError:
        print("packenv: out of memory", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except BrokenPipeError:  # the reader has closed the output
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is still buffered
        sys.exit(BROKEN_PIPE)
    except OSError as error:
        print(f"packenv: {error.filename or 'standard output'}: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(BAD_INPUT)
    except ImportError as error:  # of a library that packenv needs
        print(f"packenv: {' '.join(str(error).split())}; `packenv doctor` shows what is installed", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except (InputError, click.ClickException) as error:
        if isinstance(error, ArgumentError):
            message = error.of_options()
        else:
            message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        message = message if isinstance(error, CommandError) else " ".join(message.split())
        message = re.sub(r"\S*/packenv-input-\w+/standard-input\.\w+", "standard input", message)
        print(f"packenv: {message}", file=sys.stderr)
        sys.exit(BAD_INPUT)


if __name__ == "__main__":
    sys.exit(main())
