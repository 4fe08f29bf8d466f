"""`packenv completion`: completion in a shell, in bash also with colons."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import BashComplete, add_completion_class, split_arg_string

from packenv.errors import InputError

SHELLS = ("bash", "zsh")
VARIABLE = "_PACKENV_COMPLETE"
"""Environment variable that requests completions."""

BASH = r"""
%(complete_func)s() {
    local IFS=$'\n' breaks="" before="" response completion type value
    local line="${COMP_LINE:0:COMP_POINT}"
    local word="${line##*[[:space:]]}"
    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=:
    [[ $COMP_WORDBREAKS == *=* ]] && breaks+==
    [[ -n $breaks ]] && before="${word%%"${word##*[$breaks]}"}"
    response=$(env COMP_WORDS="$line" %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == dir ]]; then
            compopt -o dirnames
        elif [[ $type == file ]]; then
            compopt -o default
        elif [[ $type == plain ]]; then
            COMPREPLY+=("${value#"$before"}")
            [[ $value == *[:=] ]] && compopt -o nospace
        fi
    done
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    """Completion for bash that keeps `agent:fig4b` and `vqs:J=4` whole.

    Bash divides words at `:` and `=`, so the line is divided here.
    """

    source_template = BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        arguments = split_arg_string(line)
        incomplete = arguments.pop() if arguments and not line[-1:].isspace() else ""
        return arguments[1:], incomplete


def prepare_shell() -> None:
    """Make click use `Bash` for bash."""
    add_completion_class(Bash)


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Print the line that makes your shell complete packenv's words: commands, options, policies, workloads.

    It belongs at the end of your shell's file; zsh needs `compinit` before it.

    \b
    packenv completion bash >> ~/.bashrc
    packenv completion zsh >> ~/.zshrc
    """
    chosen = shell or Path(os.environ.get("SHELL", "")).name
    if chosen not in SHELLS:
        raise InputError(f"name a shell: packenv completion {' or '.join(SHELLS)}")
    click.echo(f'eval "$({VARIABLE}={chosen}_source packenv)"')
