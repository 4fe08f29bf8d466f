"""The base of test classes, without a test framework."""

from __future__ import annotations

from typing import Any


def require(holds: bool, problem: str) -> None:
    """Raise AssertionError with this line, under `python -O` too."""
    if not holds:
        raise AssertionError(problem)


def run_tests(tests: Any) -> None:
    """Call all `test_…` methods in the order of their definition."""
    classes = reversed(type(tests).__mro__)
    for name in dict.fromkeys(name for kind in classes for name in vars(kind) if name.startswith("test_")):
        getattr(tests, name)()
