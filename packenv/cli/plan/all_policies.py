"""Plans of several policies side by side, with their progress."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from packenv.planning.goals import Goal
from packenv.planning.search import NoneMeets, Plan, Search
from packenv.runs.runner import RunOptions
from packenv.workloads.workload import Workload


def plan_all(
    workload: Workload,
    policies: Sequence[str],
    goals: Sequence[Goal],
    bound: int,
    seeds: int,
    slots: int | None,
    options: dict[str, Any],
    made: RunOptions,
) -> tuple[list[Plan], list[NoneMeets]]:
    """The plans in the order of the policies, without those of policies that meet the goals with no number of servers.

    Progress is shown on standard error.
    """
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    stop = threading.Event()
    with made.runner() as runner, Progress(*columns, console=Console(stderr=True), transient=True) as shown:

        def one(policy: str) -> Plan | NoneMeets:
            bar = shown.add_task(policy)

            def say(servers: int) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                shown.update(bar, description=f"{policy}: {servers:,} servers{runner.where()}")

            try:
                return Search(workload, policy, goals, seeds, slots, options, runner.all, say).run(bound)
            except NoneMeets as problem:
                return problem
            finally:
                shown.remove_task(bar)

        with ThreadPoolExecutor(len(policies)) as threads:
            try:
                found = list(threads.map(one, policies))
            except BaseException:
                stop.set()
                raise
    return [each for each in found if isinstance(each, Plan)], [each for each in found if isinstance(each, NoneMeets)]
