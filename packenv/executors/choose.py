"""`packenv.executor`: where runs take place, by name."""

from __future__ import annotations

from concurrent.futures import Executor
from numbers import Integral

from packenv.errors import InputError, library_needed
from packenv.executors.local import local_executor
from packenv.options.shared import PROCESSES as PROCESSES
from packenv.options.shared import RAY as RAY


def executor(on: str | int = PROCESSES, processes: int | None = None) -> Executor:
    """Make an executor, for a `with` block, from its name.

    on         processes: of this machine, or their number; ray: the running Ray cluster, or a new one on this machine;
               ray://HOST:PORT: the cluster there
    processes  of this machine, or of a new cluster; None: one per core

    For `packenv.judge`, `packenv.simulate_many` and others. Raises InputError for any other name, without Ray or an answer.
    """
    if isinstance(on, Integral) and not isinstance(on, bool):
        if processes is not None:
            raise InputError(f"executor: {on} processes or processes={processes}: give one of them")
        return local_executor(int(on))
    if on == PROCESSES:
        return local_executor(processes)
    if on != RAY and not str(on).startswith("ray://"):
        raise InputError(f"no executor {on!r}: processes, ray or ray://HOST:PORT")
    try:
        import ray  # noqa: F401
    except ImportError as error:
        raise InputError(library_needed(f"executor {on!r}", "ray", error)) from None
    from packenv.executors.ray_cluster import RayExecutor

    return RayExecutor(None if on == RAY else str(on), processes)
