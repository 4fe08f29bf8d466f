"""Tables on standard output: as wide as there is room, as CSV, or as Markdown."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from packenv.cli.outputs import standard_output, take_standard_output

if TYPE_CHECKING:
    from rich.console import Console

    from packenv.report.tables import Table

TABLE, CSV, MARKDOWN = FORMATS = "table", "csv", "markdown"
FORMAT_HELP = "How tables are printed; csv has the fields of --json. With csv and markdown, notes go to standard error."
HOW_TO_SEE = "a wider terminal or COLUMNS=200 shows them"


class Format(click.Choice):  # type: ignore[type-arg]  # generic in some versions of click only
    """The type of `--format`: any but `table` has standard output for itself."""

    def __init__(self) -> None:
        super().__init__(FORMATS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        chosen = str(super().convert(value, param, ctx))
        if chosen != TABLE and ctx is not None and not ctx.resilient_parsing:
            take_standard_output(ctx, f"--format {chosen}")
        return chosen


format_option = click.option("--format", "form", type=Format(), default=TABLE, show_default=True, help=FORMAT_HELP)


def text_console() -> Console:
    """Standard output for lines of text: folded on a terminal, each in one piece to a pipe."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(soft_wrap=True)


def show(form: str, tables: Sequence[Table], records: Sequence[Mapping[str, Any]], spare: Sequence[str] = ()) -> None:
    """Print tables, or what `--format` asks for instead. `records`: their lines, as in JSON; `spare` as in `print_table`."""
    if form == CSV:
        write_csv(records)
    elif form == MARKDOWN:
        print("\n\n".join(table.markdown() for table in tables), file=standard_output())
    else:
        for table in tables:
            print_table(table, spare)


def print_table(table: Table, spare: Sequence[str] = ()) -> None:
    """Print a table that fits the terminal, or COLUMNS; 80 columns to a pipe or a file. No cell is cut or folded.

    Columns of `spare` are left out, the first ones first, until the rest fits; a line says which. Without `spare` the columns
    are divided into several tables. A table that is too wide even so is printed as wide as it is.
    """
    from rich.console import Console

    console, lines = Console(), text_console()
    if table.title:
        lines.print(table.title, style="italic", markup=False)
    left_out = []
    for heading in spare:
        if _width(table) <= console.width:
            break
        if heading in (column.heading for column in table.columns):
            table = table.without([heading])
            left_out.append(heading)
    for part in [table] if spare else parts_of(table, console.width):
        _print_whole(part, console)
    if left_out:
        lines.print(f"not shown: {', '.join(left_out)} ({HOW_TO_SEE}, --format csv and --json have them)", highlight=False)


def parts_of(table: Table, width: int) -> Iterator[Table]:
    """The table's columns in as many tables as it takes to fit the width, each with the first column."""
    places = [*range(1, len(table.columns))]
    while places:
        n = 1
        while n < len(places) and _width(table.part([0, *places[: n + 1]])) <= width:
            n += 1
        yield table.part([0, *places[:n]])
        places = places[n:]


def write_csv(records: Sequence[Mapping[str, Any]]) -> None:
    """A line for each record, a column for each field; `utilisation.0`, `interval.mean_queue` for what is inside of fields.

    Lists of records have no column; None is an empty cell.
    """
    from packenv.runs.measures import flat

    rows = [dict(flat(record)) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(standard_output(), [*names], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _width(table: Table) -> int:
    from rich.console import Console

    from packenv.report.tables import ENDLESS

    return Console(width=ENDLESS).measure(table.rich(titled=False)).maximum


def _print_whole(table: Table, console: Console) -> None:
    """Colours for a terminal; elsewhere no blanks at the ends of lines."""
    from rich.console import Console

    wide, drawn = Console(width=max(console.width, _width(table))), table.rich(titled=False)
    if console.is_terminal:
        wide.print(drawn)
        return
    with wide.capture() as captured:
        wide.print(drawn)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
