"""Columns of Parquet and CSV files as arrays.

Every error is one line with file, row and column. Row N is the N-th row of data in the file, from 1, without header and blank
lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import is_number, may_be_thousands, with_points
from packenv.inputs.text_files import reading
from packenv.jobs import MOST_KINDS
from packenv.workloads.traces.delimited import PER_CELL, counted, header_of, read_delimited, separator_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
WHOLE_BELOW = 2.0**53  # a float64 holds every whole number up to here
FIRST_TEXTS = 100
NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
INDEX = re.compile(r"__index_level_\d+__")  # of a frame of pandas, where it has no name
EXTENSION, OF_EXTENSION = b"ARROW:extension:name", b"ARROW:extension:metadata"
PERIODS = {
    "Y": "Y", "YE": "Y", "A": "Y", "M": "M", "ME": "M", "D": "D", "h": "h", "H": "h", "min": "m", "T": "m", "s": "s", "S": "s",
    "ms": "ms", "L": "ms", "us": "us", "U": "us", "ns": "ns", "N": "ns",
}  # fmt: skip
"""Units of NumPy by pandas' names for lengths of its Periods, which count from 1970."""
NOT_FINITE = ("nan", "inf", "+inf", "-inf", "infinity", "-infinity")
DATE, ZONE = re.compile(r"\d{4}-\d{2}-\d{2}"), re.compile(r"(Z|[+-]\d{2}:?\d{2})$")
SHORTEST_TIMES = re.compile(r"\.\d{7}")  # seconds with more digits than microseconds have

Written = Callable[[str], float | Fraction | None]
"""The number in a text, None without one."""


class Columns:
    """Columns of one file, whose errors show the place of bad values."""

    def __init__(self, path: Path, table: pa.Table, in_file: Mapping[str, str] | None = None) -> None:
        """Hold a table, and the file's names (`in_file`) of renamed columns."""
        self.path = path
        self.table = table
        self.in_file = in_file or {}

    @staticmethod
    def read(path: Path, names: Sequence[str] | None = None) -> Columns:
        """Read Parquet, or CSV with a header, perhaps only `names`."""
        return Columns(path, _table(path, names))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.table.column_names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __contains__(self, name: str) -> bool:
        return name in self.table.column_names

    def shown(self, column: str) -> str:
        """Return the name of a column in the file."""
        return self.in_file.get(column, column)

    def error(self, row: int, column: str, problem: str) -> InputError:
        """Return the error for a bad value in a row, from 0."""
        return InputError(f"{self.path}: row {row + 1}, column {self.shown(column)}: {problem}")

    def require(self, good: Bools, column: str, problem: str) -> None:
        """Raise InputError for the first bad row, with its value for "{}"."""
        if not good.all():
            row = int(np.argmin(good))
            raise self.error(row, column, problem.format(self.table[column][row].as_py()) if "{}" in problem else problem)

    def numbers(self, name: str, missing: float | None = None, written: Written | None = None, form: str = "a number") -> Floats:
        """Return finite floats (n,), `missing` or an error for empty cells.

        Texts may have decimal commas. `written` reads those that are no numbers, `form` describes valid cells.
        """
        column = self._numeric(name, written, form)
        if column.null_count and missing is None:
            self.require(np.asarray(pc.is_valid(column)), name, "is empty")
        values = np.asarray(column.fill_null(np.nan if missing is None else missing).to_numpy(), np.float64)
        self.require(np.isfinite(values) | np.asarray(pc.is_null(column)), name, "{} is not a finite number")
        return values

    def whole(self, name: str, missing: int | None = None) -> Ints:
        """Return a column of whole numbers (n,), exact for 64-bit integers.

        "3.0" counts as 3. Empty cells become `missing`, or are an error without it.
        """
        column = self._countable(name)
        try:
            integers = column.cast(pa.int64())
        except pa.ArrowException:
            values = self.numbers(name, None if missing is None else float(missing))
            self.require((values == np.floor(values)) & (np.abs(values) < WHOLE_BELOW), name, "{} is not a whole number")
            return values.astype(np.int64)
        if integers.null_count and missing is None:
            self.require(np.asarray(pc.is_valid(integers)), name, "is empty")
        return np.asarray(integers.fill_null(missing or 0).to_numpy(), np.int64)

    def instants(self, name: str, missing: int | None = None) -> tuple[Ints, bool] | None:
        """Return dates (n,) in µs since 1970, and whether with offsets.

        None if it holds no dates. Dates are of an Arrow type, or texts in ISO 8601 with up to nine digits of a second, all with
        an offset from UTC or all without one. Empty cells become `missing`, or are an error without it.
        """
        column = self.column(name)
        if pa.types.is_string(column.type) and (dated := _date_type(column)) is not None:
            try:
                column = column.cast(dated)
            except pa.ArrowException:
                row = _first_bad(column, dated)
                zone = "with" if dated.tz else "without"
                problem = f"{column[row].as_py()!r} is not a date such as 2026-01-31T12:00:00, {zone} an offset as in row 1"
                raise self.error(row, name, problem) from None
        if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
            return None
        offset = getattr(column.type, "tz", None)
        return self._microseconds(name, column.cast(pa.timestamp("us", offset), safe=False), missing), offset is not None

    def lengths(self, name: str, missing: int | None = None) -> Ints | None:
        """Return Arrow durations (n,) in µs, None for other types."""
        column = self.column(name)
        if not pa.types.is_duration(column.type):
            return None
        return self._microseconds(name, column.cast(pa.duration("us"), safe=False), missing)

    def names_numbered(self, name: str) -> Ints:
        """Return whole numbers ≥ 0 (n,), or names numbered by first appearance."""
        column = self.column(name)
        if pa.types.is_string(column.type) and not pc.all(pc.match_substring_regex(column, NUMBER)).as_py():
            self.require(np.asarray(pc.is_valid(column)), name, "is empty")
            return np.asarray(column.combine_chunks().dictionary_encode().indices.to_numpy(), np.int64)
        numbers = self.whole(name)
        self.require(numbers >= 0, name, "{} is negative")
        return numbers

    def texts(self, name: str) -> tuple[Ints, tuple[str, ...]]:
        """Return names, and their numbers (n,), -1 for empty cells."""
        encoded = self.column(name).cast(pa.string()).combine_chunks().dictionary_encode()
        return np.asarray(encoded.indices.fill_null(-1).to_numpy(), np.int64), tuple(encoded.dictionary.to_pylist())

    def kinds(self, name: str) -> tuple[Ints, tuple[str, ...]]:
        """Return sets "A|B" (n,) as bits, and the bits' names."""
        number, texts = self.texts(name)
        sets = [[kind for part in text.split("|") if (kind := part.strip())] for text in texts]
        kinds = tuple(dict.fromkeys(kind for names in sets for kind in names))
        if len(kinds) > MOST_KINDS:
            raise InputError(f"{self.path}: column {name}: {len(kinds)} kinds; at most {MOST_KINDS} are possible")
        bits = np.array([sum(1 << kinds.index(kind) for kind in set(names)) for names in sets] + [0], np.int64)
        return bits[number], kinds

    def repeated(self, *names: str) -> Bools:
        """Mark rows (n,) that equal an earlier one in these columns.

        None is marked for a missing first column, or an empty cell in it.
        """
        if names[0] not in self:
            return np.zeros(len(self), np.bool_)
        there = (self.column(name) for name in dict.fromkeys(names) if name in self)
        columns = (column.combine_chunks() for column in there if not pa.types.is_nested(column.type))
        numbers = [np.asarray(column.dictionary_encode().indices.fill_null(-1)) for column in columns]
        return repeated(numbers) & (numbers[0] >= 0)

    def truths(self, name: str) -> Bools:
        """Return truth values, or numbers with 0 for false (n,)."""
        if not pa.types.is_boolean(self.raw(name).type):
            return np.asarray(self.whole(name) != 0)
        self.require(np.asarray(pc.is_valid(self.raw(name))), name, "is empty")
        return np.asarray(self.raw(name).to_numpy(), np.bool_)

    def raw(self, name: str) -> pa.ChunkedArray:
        """Return the column as in the file, or raise InputError."""
        if name not in self:
            raise InputError(f"{self.path}: column {name} is missing")
        return self.table[name]

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column decoded and trimmed, with nulls for empty cells."""
        column = self.raw(name)
        if pa.types.is_dictionary(column.type):
            with reading_table(self.path):
                column = column.cast(column.type.value_type)
        if pa.types.is_large_string(column.type) or pa.types.is_string(column.type):
            text = pc.utf8_trim_whitespace(column.cast(pa.string()))
            column = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
        return column

    def _countable(self, name: str) -> pa.ChunkedArray:
        column = self.column(name)
        if pa.types.is_boolean(column.type) or pa.types.is_temporal(column.type):
            raise InputError(f"{self.path}: column {self.shown(name)} holds {column.type}, not numbers")
        return column

    def _microseconds(self, name: str, column: pa.ChunkedArray, missing: int | None) -> Ints:
        if column.null_count and missing is None:
            self.require(np.asarray(pc.is_valid(column)), name, "is empty")
        return np.asarray(column.cast(pa.int64()).fill_null(missing or 0).to_numpy(), np.int64)

    def _numeric(self, name: str, written: Written | None, form: str) -> pa.ChunkedArray:
        column = self._countable(name)
        if pa.types.is_integer(column.type):
            return column.cast(pa.float64(), safe=False)
        try:
            numbers = column.cast(pa.float64())
            if pa.types.is_string(column.type):
                self._check_points(name, column)
            return numbers
        except pa.ArrowException:
            if not pa.types.is_string(column.type):
                raise InputError(f"{self.path}: column {name} holds {column.type}, not numbers") from None
        # Read each distinct text once: plain numbers together, others one by one.
        encoded = column.combine_chunks().dictionary_encode()
        plain = pc.match_substring_regex(encoded.dictionary, NUMBER)
        values = np.zeros(len(encoded.dictionary))
        values[np.asarray(plain)] = encoded.dictionary.filter(plain).cast(pa.float64())
        others = np.flatnonzero(~np.asarray(plain))
        texts = encoded.dictionary.take(others).to_pylist()
        try:
            points = with_points(texts if not any("," in text for text in texts) else encoded.dictionary.to_pylist())
        except InputError as problem:
            raise InputError(f"{self.path}: column {self.shown(name)}: {problem}") from None
        # A decimal comma changes the reading of all texts.
        for place, text in enumerate(encoded.dictionary.to_pylist()) if points else zip(others.tolist(), texts, strict=True):
            point = points.get(text, text)
            finite = is_number(point) or point.lower() in NOT_FINITE
            value = float(point) if finite else None if written is None else written(point)
            if value is None:
                row = int(np.argmax(np.asarray(pc.equal(column, text).fill_null(False))))
                raise self.error(row, name, f"{text!r} is not {form}")
            values[place] = value
        if not points:
            self._check_points(name, column)
        return pa.chunked_array([pa.array(values).take(encoded.indices)])

    def _check_points(self, name: str, column: pa.ChunkedArray) -> None:
        """Raise InputError for 1.024 next to decimal commas: perhaps thousands."""
        if not pc.any(pc.match_substring_regex(column.slice(0, FIRST_TEXTS), r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$")).as_py():
            return
        text = may_be_thousands(column.unique().drop_null().to_pylist())
        if text is None:
            return
        for other in (other for other in self.names if other != name and pa.types.is_string(self.raw(other).type)):
            if pc.any(pc.match_substring_regex(self.raw(other), r"^ *[+-]?[0-9]+,[0-9]+ *$")).as_py():
                commas = f"column {self.shown(other)} has decimal commas"
                problem = f"{text!r} may have thousands or decimals behind the point, as {commas}: write it without"
                raise InputError(f"{self.path}: column {self.shown(name)}: {problem}")


def repeated(columns: Sequence[NDArray[Any]]) -> Bools:
    """Mark rows (n,) that equal an earlier one in all columns (n,)."""
    twice = np.zeros(len(columns[0]), np.bool_)
    rows, same = np.arange(len(twice)), np.zeros(len(twice), np.int64)
    # Compare column by column, only rows that are still equal to another.
    for column in columns:
        number = np.unique(column[rows], return_inverse=True)[1]
        same = np.unique(same * (number.max(initial=0) + 1) + number, return_inverse=True)[1]
        others = np.bincount(same)[same] > 1  # only rows with an equal one go on
        rows, same = rows[others], same[others]
    first = np.full(same.max(initial=-1) + 1, len(twice))
    np.minimum.at(first, same, rows)
    twice[rows[rows > first[same]]] = True
    return twice


def _date_type(column: pa.ChunkedArray) -> pa.DataType | None:
    """Return the timestamp type of texts, None without dates."""
    first = next((text for text in column.slice(0, FIRST_TEXTS).to_pylist() if text), "")
    if not DATE.match(first):
        return None
    unit = "ns" if pc.any(pc.match_substring_regex(column, SHORTEST_TIMES.pattern)).as_py() else "us"
    return pa.timestamp(unit, "UTC" if ZONE.search(first) else None)


def decimals(columns: Columns, name: str, written: Written | None = None) -> Floats:
    """Return a column of amounts ≥ 0 (n,), NaN for empty cells.

    `written` is as in `Columns.numbers`. A number in single precision is read as the shortest decimal that it prints as. So
    0.07446 is the same number, whether stored as text, in single or in double precision.
    """
    column = columns.raw(name).combine_chunks()
    if pa.types.is_float32(column.type):
        levels = column.dictionary_encode()
        exact = pc.cast(pc.cast(levels.dictionary, pa.string()), pa.float64()).take(levels.indices)
        columns = Columns(columns.path, pa.table({name: exact}))
    form = "a number" if written is None else "a number, nor an amount such as 500m, 8Gi or 8GB"
    amount = columns.numbers(name, np.nan, written, form)
    columns.require(~(amount < 0), name, "{} is negative")
    return amount


def is_csv(path: Path) -> bool:
    """Return whether a file is CSV, by its name."""
    return path.name.lower().endswith(CSV_ENDINGS)


def is_parquet(path: Path) -> bool:
    """Return whether a file, by name, or a folder holds Parquet."""
    return bool(_parts(path)) if path.is_dir() else path.name.lower().endswith(".parquet")


def _parts(path: Path) -> list[Path]:
    """Return the files of a Parquet table, of a folder by name."""
    if not path.is_dir():
        return [path]
    return sorted(part for part in path.glob("*.parquet") if part.is_file() and not part.name.startswith(("_", ".")))


def names_of(path: Path) -> list[str]:
    """Return the column names of a Parquet or CSV file."""
    with reading_table(path):
        if is_parquet(path):
            return list(pq.read_schema(_parts(path)[0]).names)
        return header_of(path)


def reading_table(path: Path) -> AbstractContextManager[None]:
    """Turn damage within the block into one InputError with the file."""
    return reading(path, pa.ArrowException)


def headless(path: Path, types: dict[str, pa.DataType], skip: Sequence[str] = ()) -> Columns:
    """Read a CSV file without a header, with columns `types`, except `skip`."""
    columns = [name for name in types if name not in skip]
    with reading_table(path):
        try:
            return Columns(path, read_delimited(path, [*types], {name: types[name] for name in columns}, 0, ","))
        except pa.ArrowInvalid:
            text = Columns(path, read_delimited(path, [*types], dict.fromkeys(columns, pa.string()), 0, ","))
            for name in (name for name in columns if not pa.types.is_string(types[name])):
                text.whole(name, missing=0) if pa.types.is_integer(types[name]) else text.numbers(name, missing=0.0)
            raise


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise InputError for two columns of one name."""
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{path}: column {twice[0]} occurs more than once")


def plain_types(path: Path, table: pa.Table) -> pa.Table:
    """Replace extension types by storage types, pandas' Periods by start dates.

    Raises InputError for Periods of other lengths, such as weeks.
    """
    for n, field in enumerate(table.schema):
        kind, length = (field.metadata or {}).get(EXTENSION), (field.metadata or {}).get(OF_EXTENSION, b"{}")
        column = table.column(n)
        if isinstance(field.type, pa.BaseExtensionType):
            kind, length = field.type.extension_name.encode(), field.type.__arrow_ext_serialize__()
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], field.type.storage_type)
        # A Period becomes the date when it begins.
        if kind == b"pandas.period":
            name = str(json.loads(length).get("freq")).partition("-")[0]
            if name not in PERIODS:
                raise InputError(f"{path}: column {field.name} holds Periods of {name!r}: turn them into dates (to_timestamp)")
            begins = column.to_numpy().astype(f"datetime64[{PERIODS[name]}]").astype("datetime64[us]")
            column = pa.chunked_array([pa.array(begins, mask=np.asarray(pc.is_null(column)))])
        if kind is not None:
            table = table.set_column(n, field.name, column)
    return table


def _table(path: Path, names: Sequence[str] | None) -> pa.Table:
    present = names_of(path)
    if not present:
        raise InputError(f"{path}: the file is empty")
    check_names(path, present)
    columns = present if names is None else [name for name in present if name in names]
    with reading_table(path):
        if is_parquet(path):
            return _read_parquet(path, columns)
        # Every cell is text, so that a bad one can be shown with its row.
        table = read_delimited(path, present, dict.fromkeys(columns, pa.string()), 1, separator_of(path))
    _check_one_header(path, table)
    return table


def _check_one_header(path: Path, table: pa.Table) -> None:
    """Raise InputError for a repeated header, as in concatenated files."""
    if not table.num_columns:
        return
    first, *others = table.column_names
    again = np.flatnonzero(np.asarray(pc.equal(table[first], first).fill_null(False)))
    for row in again.tolist():
        if all(table[name][row].as_py() == name for name in others):
            raise InputError(f"{path}: row {row + 1}: repeats the header: remove it")


def _read_parquet(path: Path, columns: list[str]) -> pa.Table:
    memory, tables = Memory(path), []
    first, *_ = parts = _parts(path)
    schema = pq.read_schema(first)
    for part in parts:
        with pq.ParquetFile(part) as file:
            memory.reserve(PER_CELL * file.metadata.num_rows * len(columns))
            _check_part(part, file.schema_arrow, first, schema)
            batches = (batch.select(columns) for batch in file.iter_batches(columns=columns, use_threads=False))
            table = pa.Table.from_batches(counted(path, batches), pa.schema([file.schema_arrow.field(name) for name in columns]))
            tables.append(plain_types(part, table))
            try:
                pa.concat_tables([tables[0].slice(0, 0), tables[-1].slice(0, 0)], promote_options="permissive")
            except pa.ArrowException:
                differ = next(name for name in columns if tables[0][name].type != tables[-1][name].type)
                types = f"{tables[-1][differ].type}, and {tables[0][differ].type} in {first.name}"
                raise InputError(f"{part}: column {differ} holds {types}") from None
    return pa.concat_tables(tables, promote_options="permissive")


def _check_part(part: Path, schema: pa.Schema, first: Path, of_first: pa.Schema) -> None:
    names, known = ({name for name in columns.names if not INDEX.fullmatch(name)} for columns in (schema, of_first))
    if absent := known - names:
        raise InputError(f"{part}: column {min(absent)} of {first.name} is missing")
    if more := names - known:
        raise InputError(f"{part}: column {min(more)} is not in {first.name}: all parts of a table have the same columns")


def _first_bad(column: pa.ChunkedArray, type_: pa.DataType) -> int:
    low, high = 0, len(column)  # rows below `low` convert; one of low .. high - 1 does not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column.slice(low, middle - low).cast(type_)
            low = middle
        except pa.ArrowException:
            high = middle
    return low
