"""`packenv.simulate`, for names, traces, tables and loads.

The simulator itself (`packenv.simulation`) needs an arrival rate and knows no theory. All workloads of users come through here.
"""

from __future__ import annotations

import inspect
from typing import Any

from packenv.errors import UnknownArgument
from packenv.results.result import Result
from packenv.simulation import simulate as simulate_at_a_rate
from packenv.workloads.find import workload as find_workload
from packenv.workloads.workload import Workload

OPTIONS = [*inspect.signature(simulate_at_a_rate).parameters]


def simulate(workload: Any, policy: Any, slots: int | None = None, seed: int = 0, **options: Any) -> Result:
    """Run `policy` (an object, or a name such as "vqs:J=5") on `workload`.

    workload       a Workload, or what `packenv.workload` takes: a name, a file, a trace, a table. Pass its arguments, such as
                   `servers`, `slot_seconds` or `intensity`, along
    slots          length of the run; a Jobs table runs through its last arrival by default
    seed           of the workload's random tasks, and of random policies
    drain          no task arrives after `slots`, and the run goes on until all work is done; the default for a Jobs table
                   whose jobs all arrive in slot 0
    warmup         slots that are not measured (default: 0 for a Jobs table, slots / 10 otherwise)
    initial        tasks in service at the start, as (size or demand vector, server, remaining slots); by default the workload's
    schedule       whether `Result.schedule` holds start, server and end of every task
    backlog        random tasks arrive whenever others start, so that this many always wait. The utilisation is then the most
                   that the policy can sustain with so long a queue (saturation rule: Baccelli and Foss, J. Appl. Prob. 1995)
    reject         tasks that cannot start on arrival are lost, and counted in `Result.rejected` by what they lacked
    waiting_limit  the run ends early if more tasks than this wait
    until_started  the run may end before `slots` once all tasks of a Jobs table have started
    slowdown_bound  shortest run time in `Result.response`, in seconds (slots, if a slot has no length); shorter jobs count as
                   this long. The default is 10. For random tasks, `response` is only measured if this is given; it takes a
                   schedule
    progress       called now and then with the slot that the run has reached

    Raises InputError for arguments that do not go together, and for a policy that misuses the cluster.
    """
    changes = {key: options.pop(key) for key in [*options] if key not in OPTIONS}
    try:
        workload = at_a_rate(workload, **changes)
    except UnknownArgument as error:
        raise error.of_call("simulate", OPTIONS) from None
    return simulate_at_a_rate(workload, policy, slots, seed, **options)


def at_a_rate(workload: Any, **changes: Any) -> Workload:
    """Return the workload, its load turned into a rate."""
    workload = workload if isinstance(workload, Workload) and not changes else find_workload(workload, **changes)
    if workload.load is not None:
        from packenv.theory.capacity.max_workload import resolved  # loads the linear-programming solver, which few runs need

        workload = resolved(workload)
    return workload
