"""Formats of recorded traces, one file each.

A new format is one new file in this folder. It defines `FORMATS`, a tuple of `TraceFormat`, each with a function
`read(path, wanted)` that returns a `Trace`. Files are found without a list. `swf.py` is an example.
"""

from __future__ import annotations

import functools
import pkgutil
from importlib import import_module

from packenv.workloads.traces.format import TraceFormat


@functools.cache
def trace_formats() -> tuple[TraceFormat, ...]:
    """Return all formats, in alphabetical order of their files."""
    files = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(format for file in files for format in import_module(f"{__name__}.{file}").FORMATS)
