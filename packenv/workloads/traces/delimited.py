"""Text tables: cells between commas, semicolons, bars or tabs.

Quotation marks are letters if every line then has its cells, as in names from sacct and many exports. Otherwise they enclose
cells, as in RFC 4180. A cell of several lines that could also be rows between two stray marks is an error.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

from packenv.errors import InputError
from packenv.inputs.memory import Memory
from packenv.inputs.text_files import encoding_of, lines_of, open_binary

SEPARATORS = "\t|;,"
PER_CELL, PER_BYTE = 55, 4
"""Largest bytes of memory for a cell, and for a byte of a column, until they are a Jobs table (measured on five forms)."""
BLOCK = 2**22  # bytes; no row is longer
DECIMAL_COMMA = re.compile(r"(?<!\d)\d+,\d")
CAUSES = {True: "a cell may hold the separator {!r}", False: "a line may be cut short, or a cell may hold a line break"}
"""Possible faults of a row, with too many or too few values."""


def separator_of(path: Path) -> str:
    """Return the one of SEPARATORS that the first line has most."""
    first = re.sub(r'"[^"]*"', "", next((line for line in lines_of(path) if line.strip()), ""))
    if ";" in first and DECIMAL_COMMA.search(first):
        return ";"
    return max(SEPARATORS, key=first.count)


def header_of(path: Path) -> list[str]:
    """Return the cells of the first line, or raise InputError."""
    return [name.strip() for name in next(csv.reader(lines_of(path), delimiter=separator_of(path)), [])]


def read_delimited(path: Path, names: list[str], types: Mapping[str, pa.DataType], skip: int, separator: str) -> pa.Table:
    """Read the columns in `types` of a table `names`, below `skip` lines.

    Raises InputError for a row with more or fewer cells, and pa.ArrowInvalid for a cell of another type than its column.
    """
    encoding = encoding_of(path, "utf8")
    read = pc_csv.ReadOptions(use_threads=False, column_names=names, skip_rows=skip, block_size=BLOCK, encoding=encoding)
    convert = pc_csv.ConvertOptions(column_types=types, include_columns=[*types], null_values=[""], strings_can_be_null=False)

    def parse(quoted: bool) -> tuple[Any, list[pc_csv.InvalidRow], bool]:
        """Return the table, bad rows, and whether marks occur."""
        broken: list[pc_csv.InvalidRow] = []

        def keep(row: pc_csv.InvalidRow) -> str:
            broken.append(row)
            return "skip" if quoted or not file.quotes else "error"

        mark = '"' if quoted else False
        form = pc_csv.ParseOptions(delimiter=separator, quote_char=mark, newlines_in_values=quoted, invalid_row_handler=keep)
        with open_binary(path) as binary:
            file = _Watched(binary)
            try:
                with pc_csv.open_csv(file, read, form, convert) as batches:
                    return pa.Table.from_batches(counted(path, batches), batches.schema), broken, file.quotes
            except pa.ArrowInvalid:
                if quoted or not file.quotes:
                    raise
                return None, broken, True

    # First as if marks were letters. Where lines then have other numbers of cells, marks enclose cells.
    table, broken, quotes = parse(quoted=False)
    if quotes and (table is None or broken):
        bars = broken if separator in "|\t" else []
        try:
            table, broken, _ = parse(quoted=True)
        except pa.ArrowInvalid:
            _check_quotes(path, len(names), skip, separator)
            raise
        if len(table) + len(broken) < sum(bool(line.strip("\r\n")) for line in lines_of(path)) - skip:
            _check_quotes(path, len(names), skip, separator)
        broken = (bars or broken) if broken else []
    elif quotes and table is not None:
        table = _without_quotes(table)
    if broken:
        first = broken[0]
        cause = CAUSES[first.actual_columns > first.expected_columns].format(separator)
        row = f"row {first.number - skip}: {first.actual_columns} values for {first.expected_columns} columns"
        raise InputError(f"{path}: {row}: {cause}")
    return table


class _Watched:
    """Binary file that remembers whether it had quotation marks."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.quotes, self.closed = file, False, False

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.quotes = self.quotes or b'"' in data
        return data

    def close(self) -> None:
        self.closed = True


def _without_quotes(table: pa.Table) -> pa.Table:
    for n, (name, type_) in enumerate(zip(table.schema.names, table.schema.types, strict=True)):
        if not pa.types.is_string(type_):
            continue
        cells = table[name]
        quoted = pc.and_(pc.starts_with(cells, '"'), pc.and_(pc.ends_with(cells, '"'), pc.greater(pc.binary_length(cells), 1)))
        if pc.any(quoted).as_py():
            inside = pc.replace_substring(pc.utf8_slice_codeunits(cells, 1, -1), '""', '"')
            table = table.set_column(n, name, pc.if_else(quoted, inside, cells))
    return table


def _check_quotes(path: Path, columns: int, skip: int, separator: str) -> None:
    """Raise InputError for a quoted cell with the separators of several rows."""
    records = (record for record in csv.reader(lines_of(path), delimiter=separator) if record)
    for row, record in enumerate(records, 1 - skip):
        for cell in record:
            if "\n" in cell.rstrip("\n") and cell.count(separator) >= columns - 1:
                lines = cell.count("\n") + 1
                problem = f"a quotation mark opens a cell of {lines:,} lines, which may be rows: take the mark out, or close it"
                raise InputError(f"{path}: row {row}: {problem}")


def counted(path: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches while there is memory, else raise InputError."""
    memory = Memory(path)
    for batch in batches:
        memory.reserve(PER_CELL * batch.num_rows * batch.num_columns + PER_BYTE * batch.nbytes)
        yield batch


def rows_of(path: Path) -> list[list[str]]:
    """Return the rows of a short table, with any header."""
    names = [str(n) for n in range(len(header_of(path)))]
    if not names:
        return []
    table = read_delimited(path, names, dict.fromkeys(names, pa.string()), 0, separator_of(path))
    columns = [table[name].fill_null("").to_pylist() for name in names]
    return [[cell.strip() for cell in row] for row in zip(*columns, strict=True)]
