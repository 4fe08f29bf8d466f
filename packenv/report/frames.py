"""Columns as an Arrow table, or as a frame of another library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packenv.errors import InputError

LIBRARIES = ("arrow", "pandas", "polars")


def frame_of(table: Any, library: str = "arrow") -> Any:
    """Return a `pyarrow.Table`, or its columns, as a frame of LIBRARIES.

    Raises InputError.
    """
    import pyarrow as pa

    if library not in LIBRARIES:
        raise InputError(f"frames are of {', '.join(LIBRARIES)}, not {library!r}")
    arrow = pa.table(table) if isinstance(table, Mapping) else table
    if library == "arrow":
        return arrow
    try:
        if library == "pandas":
            return arrow.to_pandas()
        import polars

        return polars.from_arrow(arrow)
    except ModuleNotFoundError as error:
        raise InputError(f"a frame of {library} needs {error.name}, which is not installed: pip install {library}") from None
