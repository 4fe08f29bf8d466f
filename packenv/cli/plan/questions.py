"""Which question `packenv plan` is asked, and which options go with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from packenv.errors import InputError


class Question(NamedTuple):
    """One of the things that can be planned. `options`: those of `ASKED_BY_SOME` that go with it."""

    said: str
    options: frozenset[str]


ASKED_BY_SOME = {
    "wanted": "--goal",
    "types": "--types",
    "without": "--without",
    "add": "--add",
    "durations": "--durations",
    "no_preemption": "--no-preemption",
    "draws": "--draws",
    "max_demand": "--max-demand",
    "growth": "--growth",
    "slots": "--slots",
    "seeds": "--seeds",
    "log": "--log",
    "plot": "--plot",
    "report": "--report",
}
"""Parameters of the command that do not go with every question."""


def _question(said: str, *options: str) -> Question:
    return Question(said, frozenset(options))


PLANNED = "wanted", "growth", "slots", "seeds", "log", "report"
NUMBER = _question("a number of equal servers", *PLANNED, "draws", "max_demand", "plot")
MIX = _question("--types, the cheapest mix", *PLANNED, "types", "plot")
FAILURE = _question("--without, a cluster whose servers fail", *PLANNED, "without")
WHEN = _question("--when, which says when pods start", "durations", "no_preemption", "draws", "slots")
OF_CLUSTER = "wanted", "durations", "no_preemption", "seeds", "report"
NODES = _question("a plan of a cluster as it is", *OF_CLUSTER, "add")
FAILED_NODES = _question("--without, nodes of a cluster that fail", *OF_CLUSTER, "without")


def asked_question(given: Mapping[str, Any], is_cluster: bool) -> Question:
    """The question that these parameters ask. Raises InputError for an option that does not go with it.

    given  value of each parameter; None, or empty, for those that were not given
    """
    if given["asks_when"]:
        question = WHEN
    elif is_cluster:
        question = FAILED_NODES if given["without"] is not None else NODES
    elif given["types"] is not None:
        question = MIX
    else:
        question = FAILURE if given["without"] is not None else NUMBER
    for name, option in ASKED_BY_SOME.items():
        if given[name] not in (None, ()) and name not in question.options:
            raise InputError(f"{option} does not go with {question.said}")
    return question
