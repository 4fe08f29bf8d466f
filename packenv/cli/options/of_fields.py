"""Options of click from the dataclasses of `packenv.options`."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from packenv.cli.options.names import FILE, PATH, POLICY, Seconds, Share
from packenv.cli.outputs import JSON as JSON
from packenv.cli.outputs import FileOf, Option, output_option
from packenv.options.fields import Form, Range, Words, options_in
from packenv.options.shared import SCHEDULE_FILES as SCHEDULE_FILES
from packenv.options.shared import ProcessOptions, WorkloadOptions

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FORMS: dict[Form, Any] = {
    Form.POLICY: POLICY,
    Form.FILE: FILE,
    Form.JSON: FileOf(".json"),
    Form.PATH: PATH,
    Form.FOLDER: click.Path(file_okay=False),
    Form.SECONDS: Seconds(),
    Form.SHARE: Share(),
}
PLAIN = {int: click.INT, float: click.FLOAT, str: click.STRING}


def options_of(
    kind: type[Any],
    name: str = "options",
    only: Iterable[str] | None = None,
    types: Mapping[str, click.ParamType[Any, Any]] | None = None,
    **helps: str,
) -> Decorator:
    """Add the fields of `kind` as options, passed as one value `name`.

    only   names of fields in the order of the help. Others keep their defaults
    types  other types of values, by field
    helps  other lines of help, by field
    Fields that are no options may be arguments of the command, and become part of the value.
    """
    hints, options = get_type_hints(kind, include_extras=True), options_in(kind)
    chosen = [*options] if only is None else [*only]
    arguments_of_command = {field for field in kind.__dataclass_fields__ if field not in options}

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(*args: Any, **arguments: Any) -> Any:
            values = {key: arguments.pop(key) for key in [*arguments] if key in arguments_of_command or key in chosen}
            return command(*args, **{name: kind(**values)}, **arguments)

        with_options: Callable[..., Any] = run
        for key in reversed(chosen):
            with_options = click_option(key, hints[key], options[key][1], helps.get(key), (types or {}).get(key))(with_options)
        return with_options

    return add


def click_option(
    name: str, hint: Any, words: Words, help: str | None = None, kind: click.ParamType[Any, Any] | None = None
) -> Decorator:
    """Return an option from a field's name, type and words. `kind`: another type of its value."""
    text = help or words.help
    multiple, type_ = (False, kind) if kind is not None else click_type(hint)
    settings: dict[str, Any] = {"is_flag": True} if type_ is click.BOOL else {"type": type_, "multiple": multiple}
    if type_ is not click.BOOL and words.metavar is not None:
        settings["metavar"] = words.metavar
    default = words.typed
    has_default = default not in (None, (), "") and "[default" not in text and (type_ is not click.BOOL or default)
    flags = words.flags or (f"--{name.replace('_', '-')}",)
    settings |= {"cls": Option, "group": words.group, "common": words.common}
    return click.option(*flags, name, default=default, show_default=bool(has_default), help=text, **settings)


def click_type(hint: Any) -> tuple[bool, Any]:
    """Return whether an option may be repeated, and its type.

    `int | None` counts as `int`.
    """
    if get_origin(hint) in (Union, types.UnionType):
        return click_type(next(part for part in get_args(hint) if part is not types.NoneType))
    if get_origin(hint) is Annotated:
        plain, (mark, *_) = get_args(hint)[0], hint.__metadata__
        if isinstance(mark, Range):
            return False, click.IntRange(mark.least, mark.most)
        return False, FORMS[mark] if isinstance(mark, Form) else click_type(plain)[1]
    if get_origin(hint) is Literal:
        return False, click.Choice(get_args(hint))
    if get_origin(hint) in (tuple, dict):  # a dictionary's are of the form KEY=VALUE
        return True, click_type(get_args(hint)[0])[1]
    return False, click.BOOL if hint is bool else PLAIN.get(hint, click.STRING)


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
