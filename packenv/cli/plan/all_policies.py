"""Plans of several policies side by side, with their progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from packenv.planning.log import PlanLog, asking
from packenv.planning.search import AskRuns, NoneMeets
from packenv.runs.runner import RunOptions

Found = TypeVar("Found")
Say = Callable[[str], None]


def plan_all(
    policies: Sequence[str], plan: Callable[[str, AskRuns, Say], Found], made: RunOptions, log: PlanLog | None
) -> tuple[list[Found], list[NoneMeets]]:
    """What `plan` finds for each policy, without those that meet the goals with no number of servers.

    plan   gets a policy's name, what makes runs, and what is to be told what is tried: progress is shown on standard error
    """
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    stop = threading.Event()
    with made.runner() as runner, Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        ask = asking(runner, log)

        def one(policy: str) -> Found | NoneMeets:
            bar = shown.add_task(policy)

            def say(what: str) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                shown.update(bar, description=f"{policy}: {what}{runner.where()}")

            try:
                return plan(policy, ask, say)
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
    return [each for each in found if not isinstance(each, NoneMeets)], [each for each in found if isinstance(each, NoneMeets)]
