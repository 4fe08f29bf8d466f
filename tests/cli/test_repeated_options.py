"""An option that takes one value and is given twice is refused, in every command: no value is dropped without a word."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from packenv.cli.main import COMMANDS, find_command, main


def every_option() -> Iterator[tuple[list[str], click.Option]]:
    """The words of each command, and of each subcommand, with each option that takes one value."""
    commands = [([name], find_command(name)) for name in COMMANDS]
    commands += [([*words, name], inner) for words, group in commands for name, inner in getattr(group, "commands", {}).items()]
    for words, command in commands:
        for param in command.params:
            if isinstance(param, click.Option) and not param.multiple and param.opts[0] != "--help":
                yield words, param


@pytest.mark.parametrize("command", COMMANDS)
def test_given_twice(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, option in every_option():
        if words[0] != command:
            continue
        given = [option.opts[0]] if option.is_flag else [option.opts[0], "1"]
        with pytest.raises(SystemExit) as end:
            main([*words, *given, *given])
        assert end.value.code == 2
        assert f"{option.opts[0]}: given 2 times; give it once" in capsys.readouterr().err


def test_what_may_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    main(["evaluate", "paper/fig4b", "--slots", "100", "--seeds", "1", "-p", "bf-js", "-p", "fifo-ff"])
    assert "fifo-ff" in capsys.readouterr().out
