"""Plans of several policies side by side, with their progress."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from packenv.planning.search import NoneMeets, Plan, Search
from packenv.runs.runner import RunOptions


def plan_all(searches: Sequence[Search], bound: int, made: RunOptions) -> tuple[list[Plan], list[NoneMeets]]:
    """The plans in the order of the policies, without those of policies that meet the goals with no number of servers.

    Progress is shown on standard error.
    """
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    stop = threading.Event()
    with made.runner() as runner, Progress(*columns, console=Console(stderr=True), transient=True) as shown:

        def one(search: Search) -> Plan | NoneMeets:
            bar = shown.add_task(search.policy)

            def say(servers: int) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                shown.update(bar, description=f"{search.policy}: {servers:,} servers{runner.where()}")

            try:
                return search.run(bound, runner.all, say)
            except NoneMeets as problem:
                return problem
            finally:
                shown.remove_task(bar)

        with ThreadPoolExecutor(len(searches)) as threads:
            try:
                found = list(threads.map(one, searches))
            except BaseException:
                stop.set()
                raise
    return [each for each in found if isinstance(each, Plan)], [each for each in found if isinstance(each, NoneMeets)]
