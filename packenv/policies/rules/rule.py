"""Policies that follow a rule `priority(task, server, cluster)`.

A rule compares the waiting tasks that fit, one of each size: the one that waits longest. The highest number starts.
"""

from __future__ import annotations

import functools
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from packenv.cluster import BY_DEMAND, BY_INDEX, BY_SIZE, Cluster, Needs
from packenv.cluster.sorted_keys import WIDTH
from packenv.errors import InputError
from packenv.inputs.numbers import read_number
from packenv.policies.rules import pairing
from packenv.policies.rules.language import Rule, checked, read_rule
from packenv.policies.rules.loop import JobsView, jobs_view
from packenv.policies.rules.machine_code import ByAddress, OfJobs, by_address, falls_with_age
from packenv.policies.rules.view import OF_ESTIMATES, OF_JOBS, View, new_view
from packenv.policy import Setting
from packenv.policy_names import RuleFile, check_parameters

YOUNGEST_FIRST = (
    "the priority falls with task.age, but of tasks with equal demands a rule compares only the one that waits longest: "
    "for the youngest first, write a policy as a class"
)


class PriorityRule(NamedTuple):
    """Start the task with a rule's highest number first."""

    source: str  # the text of the file
    file: str = "priority.py"  # what errors and tables call it
    function: str = "priority"
    parameters: tuple[float, ...] = ()  # of the function, behind `cluster`; empty: their defaults

    @property
    def rule(self) -> ByAddress | OfJobs:
        return by_address(self.source, self.file, self.function)

    @property
    def name(self) -> str:
        """FILE:FUNCTION, and the parameters that differ from their defaults."""
        defaults = self.checked.parameters.items() if self.parameters else ()
        changed = [f"{key}={new:g}" for (key, old), new in zip(defaults, self.parameters, strict=True) if new != old]
        return ":".join([self.file, self.function, *([",".join(changed)] if changed else [])])

    def needs(self, setting: Setting) -> Needs:
        """Return its needs. InputError if the workload lacks a fact it uses."""
        vectors, jobs = setting.capacity.shape[1] > 1, setting.workload.jobs
        sizes = BY_SIZE if self.rule.reads_sizes else 0
        if not isinstance(self.rule, OfJobs):
            return Needs(orders=(BY_DEMAND | sizes) if vectors else BY_SIZE | BY_INDEX, vectors=vectors, devices=vectors)
        attribute = next(f"task.{name}" for name in OF_JOBS if f"task.{name}" in self.checked.reads)
        name = setting.workload.name
        if "task.estimate" in self.checked.reads and (jobs is None or jobs.estimate is None):
            where = "a table has them in a column estimate, or estimate_s in seconds"
            raise InputError(f"{self.file}: task.estimate: {name} has no estimates of how long its tasks take; {where}")
        if jobs is None:
            raise InputError(f"{self.file}: {attribute} needs a table, and {name} is a stream of random tasks")
        estimated = jobs.estimate is not None and any(f"task.{name}" in self.checked.reads for name in OF_ESTIMATES)
        return Needs(orders=sizes, vectors=vectors, devices=vectors, table=True, durations=estimated)

    def initial_state(self, setting: Setting, seed: int) -> View | JobsView:
        values = self.parameters or tuple(self.checked.parameters.values())
        view = new_view(setting.capacity.shape[1], np.array(values, np.float64))
        return jobs_view(view, setting) if isinstance(self.rule, OfJobs) else view

    def remark(self, state: View | JobsView) -> str | None:
        """Return a line if the priority falls with age, as only the oldest task of a size is compared."""
        values = self.parameters or tuple(self.checked.parameters.values())
        if isinstance(state, JobsView) or "task.age" not in self.checked.reads:
            return None
        return YOUNGEST_FIRST if falls_with_age(self.checked, self.function, values) else None

    def attach(self, cluster: Cluster, state: View | JobsView) -> View | JobsView:
        """Return the state with room for the sizes of all places."""
        if isinstance(state, JobsView):
            return state.replace(seen=self.attach(cluster, state.seen))
        totals = cluster.capacity.sum(axis=0).astype(np.float64)
        return state.replace(sizes=np.zeros(cluster.task.shape[1] + WIDTH, np.int32), totals=totals)

    @property
    def checked(self) -> Rule:
        return checked(self.source, self.file, self.function)


def find_rule(named: RuleFile, text: str) -> PriorityRule:
    """Return a file's rule, with the parameters in the text (InputError)."""
    source, rule = read_rule(named.file, named.function)
    values = dict(rule.parameters)
    for part in filter(None, named.parameters.split(",")):
        key, _, value = part.partition("=")
        check_parameters(text, key, [*values])
        try:
            values[key] = read_number(value)
        except ValueError:
            raise InputError(f"policy {text!r}: {key} must be a number, not {value!r}") from None
    return PriorityRule(source, named.file, named.function, tuple(values.values()) if named.parameters else ())


class Pairing(NamedTuple):
    """Look ahead for tasks that fill a server together.

    While less waits than fills all servers twice, this is BF-J/S. Beyond that it prefers sizes of which many wait, and sizes
    with many partners that fill a server with them.
    """

    @property
    def rule(self) -> ByAddress | OfJobs:
        return of_module(pairing).rule

    def needs(self, setting: Setting) -> Needs:
        return of_module(pairing).needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> View | JobsView:
        return of_module(pairing).initial_state(setting, seed)

    def attach(self, cluster: Cluster, state: View | JobsView) -> View | JobsView:
        return of_module(pairing).attach(cluster, state)


@functools.cache
def of_module(module: ModuleType) -> PriorityRule:
    """Return the rule in a module of packenv, imported so its text is code."""
    file = Path(str(module.__file__))
    return PriorityRule(file.read_text(encoding="utf-8"), file.name)
