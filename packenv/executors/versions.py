"""The versions that processes must share to share work."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import version

from packenv.compiled.cache import base
from packenv.compiled.sources import key_of_package

Versions = tuple[str, str, str]


@functools.cache
def local_versions() -> Versions:
    """Return the versions of packenv, its sources and Python."""
    return version("packenv"), key_of_package(base()), platform.python_version()
