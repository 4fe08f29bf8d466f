"""An option is one line: a field of a dataclass, which is an argument of the library's function, and an option of the command."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import click
import pytest
from click.testing import CliRunner

import packenv
from packenv.cli.main import COMMANDS, cli, find_command, main
from packenv.cli.options.every_command import limited
from packenv.cli.options.of_fields import options_of
from packenv.cli.outputs import FEW
from packenv.errors import InputError
from packenv.options.fields import Count, PolicyName, option, options_in, takes
from packenv.options.shared import WorkloadOptions
from packenv.options.verbs import EvaluateOptions, LearningOptions, OptimumOptions, TrainingOptions


@dataclass(frozen=True)
class ToyOptions:
    """Two options of a verb."""

    speed: float = option(2.0, "How fast.")
    rounds: Count | None = option(None, "How often  [default: until it is done].", "--max-rounds", "-r")


@dataclass(frozen=True)
class MoreToyOptions(ToyOptions):
    """A third one, in one line."""

    patience: int = option(7, "How long it waits.")


def toy(kind: type[ToyOptions]):  # type: ignore[no-untyped-def]
    """A verb and its command, which name no option."""

    @takes(kind)
    def play(workload: str, *goals: str, options: ToyOptions, loud: bool = False, **changes: object) -> object:
        """Play.

        workload  a name
        options   fields
        loud      say so
        """
        return workload, goals, options, loud, changes

    @click.command()
    @options_of(kind)
    def command(options: ToyOptions) -> None:
        click.echo(repr(play("w", options=options)[2]))  # type: ignore[index]

    return play, command


@pytest.mark.parametrize("kind", [ToyOptions, MoreToyOptions])
def test_a_field_is_an_argument_an_option_and_a_line_of_help(kind: type[ToyOptions]) -> None:
    play, command = toy(kind)
    names = [item.name for item in fields(kind)]
    assert [*inspect.signature(play).parameters] == ["workload", "goals", *names, "loud", "changes"]
    assert play("w", "g", speed=3.0, other=1) == ("w", ("g",), kind(3.0), False, {"other": 1})
    assert play("w", options=kind(3.0), rounds=4, loud=True) == ("w", (), kind(3.0, 4), True, {})
    with pytest.raises(InputError, match="'max_rounds' is the command's name of the argument 'rounds'"):
        play("w", max_rounds=4)
    lines = play.__doc__.splitlines()
    assert [line.split()[0] for line in lines if line.strip()] == ["Play.", "workload", *names, "loud"]
    assert "speed     How fast." in lines
    help = CliRunner().invoke(command, ["--help"]).output
    for name in names:
        assert ("--max-rounds" if name == "rounds" else f"--{name}") in help
    assert "How fast.  [default: 2.0]" in help and "until it is done" in help
    assert CliRunner().invoke(command, ["--speed", "4", "-r", "5"]).output.strip() == repr(kind(4.0, 5))
    assert CliRunner().invoke(command, ["-r", "0"]).exit_code == 2


def test_the_patience_that_was_added() -> None:
    play, command = toy(MoreToyOptions)
    assert play("w", patience=9)[2].patience == 9
    assert "patience=9" in CliRunner().invoke(command, ["--patience", "9"]).output
    assert "patience  How long it waits." in play.__doc__
    with pytest.raises(TypeError):
        play()


def test_types_of_options() -> None:
    @dataclass(frozen=True)
    class Kinds:
        choice: Literal["a", "b"] = option("a", "One of them.")
        policies: tuple[PolicyName, ...] = option((), "Some.", "--policy", "-p")
        loud: bool = option(True, "Whether.", "--loud/--quiet")
        settings: dict[str, str] = option(dict, "Some.", "--set", typed=())
        seeds: int = option(8, "In Python 8.", typed=1)

    globals()["Kinds"] = Kinds

    @click.command()
    @options_of(Kinds)
    def command(options: Kinds) -> None:
        click.echo(repr(tuple(vars(options).values())))

    run = CliRunner().invoke
    assert run(command, []).output.strip() == "('a', (), True, (), 1)"
    assert run(command, ["--choice", "b", "-p", "bf-js", "-p", "vqs", "--quiet", "--set", "k=v"]).output.strip() == (
        "('b', ('bf-js', 'vqs'), False, ('k=v',), 1)"
    )
    assert run(command, ["--choice", "c"]).exit_code == 2


def test_evaluate_has_the_same_options_everywhere() -> None:
    of_command = {param.name for param in cli.get_command(click.Context(cli), "evaluate").params}  # type: ignore[union-attr]
    names = [item.name for item in fields(EvaluateOptions)]
    assert of_command >= {*names, *(item.name for item in fields(WorkloadOptions))}
    signature = inspect.signature(packenv.evaluate)
    docstring = str(packenv.evaluate.__doc__)
    for name in names:
        assert name in signature.parameters and f"\n{name} " in docstring


def test_errors_name_options_on_the_command_line_and_arguments_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "paper/fig4b", "--seed", "-1"])
    assert capsys.readouterr().err == "packenv: --seed must be a whole number of at least 0, not -1\n"
    with pytest.raises(packenv.InputError, match="`seed` must be a whole number of at least 0, not -1"):
        packenv.evaluate("paper/fig4b", ["bf-js"], seed=-1)


def test_arguments_of_another_name_than_their_option_are_on_the_page() -> None:
    page = (Path(packenv.__file__).parents[1] / "docs/how_to/commands_in_python.md").read_text(encoding="utf-8")
    for kind in (EvaluateOptions, OptimumOptions, LearningOptions, TrainingOptions):
        for name, (_, words) in options_in(kind).items():
            if words.flags and words.flags[0] not in (f"--{name.replace('_', '-')}", f"--{name}") and "/" not in words.flags[0]:
                assert f"`{words.flags[0]}`" in page and f"`{name}`" in page


def test_processes_are_an_executor_of_functions() -> None:
    with pytest.raises(InputError, match=r"executor=packenv.executor\(processes=…\)"):
        packenv.evaluate("paper/fig4b", ["bf-js"], processes=2)


def commands(name: str, command: click.Command) -> list[tuple[str, click.Command]]:
    inner = command.commands.items() if isinstance(command, click.Group) else ()
    return [pair for each, below in inner for pair in commands(f"{name} {each}", below)] or [(name, command)]


HELPED = [pair for name in COMMANDS if name not in ("reproduce", "bench") for pair in commands(name, limited(find_command(name)))]


@pytest.mark.parametrize(("name", "command"), HELPED, ids=[name for name, _ in HELPED])
def test_many_options_are_in_groups(name: str, command: click.Command) -> None:
    lines = command.get_help(click.Context(command, info_name=name)).splitlines()
    headings = [line.rstrip(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    sizes = {heading: sum(text.startswith("  -") for text in lines[lines.index(f"{heading}:") :]) for heading in headings}
    if sizes[headings[0]] <= FEW:
        assert headings == ["Options"]
    else:
        assert headings[0] == "Common" and "Output" not in headings[:-1] and "Other" not in headings
        assert 3 <= sizes["Common"] - sizes[headings[1]] <= FEW


def test_a_group_holds_until_the_next() -> None:
    words = {name: words.group for name, (_, words) in options_in(WorkloadOptions).items()}
    assert (words["servers"], words["rate"], words["slot_seconds"], words["partition"]) == (
        "Workload",
        "Workload",
        "Table",
        "Table",
    )
