"""Functions of your rule file: checked, never executed as Python.

def order(request, replica):   the smallest value is admitted first
def victim(request, replica):  the largest value is preempted
def admit(request, replica):   above 0: the first request in the queue is admitted
"""

from __future__ import annotations

import ast
import functools
from typing import Any

import numpy as np

from packenv.extend import InputError, Vocabulary, checked, rule_address
from packenv_llm.engine import Seen, seen_replica, seen_request
from packenv_llm.rules import FUNCTIONS

LANGUAGE = Vocabulary(
    ("request", "replica"), {"request": tuple(seen_request.names or ()), "replica": tuple(seen_replica.names or ())}
)
FIXED = {f"request.{name}" for name in ("prompt", "known", "produced", "limit", "priority", "preemptions")}
"""Names with constant values while a request waits."""


@functools.cache
def functions_in(source: str, file: str) -> dict[str, Any]:
    """Return a file's checked functions. Raises InputError with its line."""
    try:
        names = {node.name for node in ast.parse(source, file).body if isinstance(node, ast.FunctionDef)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        names = {FUNCTIONS[0]}  # `checked` has the message
    rules = {name: checked(source, file, name, LANGUAGE) for name in FUNCTIONS if name in names}
    if not rules:
        raise InputError(f"{file}: no function order, victim or admit in it, with the arguments request, replica")
    for name, rule in rules.items():
        if rule.parameters:
            raise InputError(f"{file}: {name} has arguments behind replica; use constants above the function")
    return rules


@functools.cache
def compiled_functions(source: str, file: str) -> dict[str, tuple[int, bool]]:
    """Return addresses, and whether values change while a request waits."""
    seen = Seen(request=np.zeros(1, seen_request), replica=np.zeros(1, seen_replica), parameters=np.zeros(0))
    arguments = (seen.request, seen.replica, seen)
    rules = functions_in(source, file)
    return {name: (rule_address(rule, file, name, arguments), not rule.reads <= FIXED) for name, rule in rules.items()}
