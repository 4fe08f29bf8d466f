"""Tables on standard output, fitted to its width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from packenv.content.tables import Table

HOW_TO_SEE = "a wider terminal or COLUMNS=200 shows them"


def text_console() -> Console:
    """Return standard output for text, folded only on a terminal."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(soft_wrap=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print lines below tables, in colour if they have one."""
    from packenv.report.tables import coloured

    console = text_console()
    for note in notes:
        console.print(coloured(note), highlight=False)


def print_table(table: Table) -> list[str]:
    """Print a table that fits the terminal or COLUMNS, without cutting cells.

    A pipe or a file has 80 columns. Columns of `table.spare` are left out in order until the rest fits, and a line names them.
    Without `spare`, columns are divided into several tables. A table still too wide is printed whole. Returns the headings
    left out.
    """
    from rich.console import Console

    console, lines = Console(), text_console()
    if table.title:
        lines.print(table.title, style="italic", markup=False)
    omitted = []
    for heading in table.spare:
        if _width(table) <= console.width:
            break
        if heading in (column.heading for column in table.columns):
            table = table.without([heading])
            omitted.append(heading)
    for part in [table] if table.spare else parts_of(table, console.width):
        _print_whole(part, console)
    if omitted:
        lines.print(f"not shown: {', '.join(omitted)} ({HOW_TO_SEE}, --format csv and --json have them)", highlight=False)
    return omitted


def parts_of(table: Table, width: int) -> Iterator[Table]:
    """Yield parts of the table that fit the width, each with the first column."""
    places = [*range(1, len(table.columns))]
    while places:
        n = 1
        while n < len(places) and _width(table.part([0, *places[: n + 1]])) <= width:
            n += 1
        yield table.part([0, *places[:n]])
        places = places[n:]


def _width(table: Table) -> int:
    from rich.console import Console

    from packenv.report.tables import ENDLESS, rich_of

    return Console(width=ENDLESS).measure(rich_of(table, titled=False)).maximum


def _print_whole(table: Table, console: Console) -> None:
    """Print with colours on a terminal, else without trailing blanks."""
    from rich.console import Console

    from packenv.report.tables import rich_of

    wide, drawn = Console(width=max(console.width, _width(table))), rich_of(table, titled=False)
    if console.is_terminal:
        wide.print(drawn)
        return
    with wide.capture() as captured:
        wide.print(drawn)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
