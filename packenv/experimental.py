"""A mark for parts that may change in any version."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", bound=Callable[..., object])

SENTENCE = "Experimental: it may change in any version."


def experimental(thing: T) -> T:
    """Mark a function or class as experimental, in help."""
    first, _, rest = (inspect.getdoc(thing) or "").partition("\n")
    if SENTENCE not in rest:
        thing.__doc__ = "\n\n".join(part for part in (first, SENTENCE, rest.strip("\n")) if part)
    return thing
