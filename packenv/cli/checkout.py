"""`packenv reproduce` and `packenv bench`, available only in a checkout.

They run the folder `experiments`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from packenv.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
"""The checkout, if packenv is imported from one."""
MODULES = {"reproduce": "experiments.reproduce", "bench": "experiments.bench.command"}


def __getattr__(name: str) -> click.Command:
    """Import a command when it is called.

    Raises InputError unless packenv is imported from a checkout.
    """
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not ROOT.joinpath(*MODULES[name].split(".")).with_suffix(".py").is_file():
        raise InputError(
            f"{name} needs the folder experiments of a clone, and {ROOT} has none: clone packenv and run make install"
        )
    if sys.path[:1] != [str(ROOT)]:
        sys.path.insert(0, str(ROOT))  # before a folder of the user with the same name
    command: click.Command = getattr(import_module(MODULES[name]), name)
    return command
