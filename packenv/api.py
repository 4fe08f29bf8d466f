"""`packenv.simulate`: the simulation of a workload, which may be a name, a trace or a table, and its arrivals a `load`.

The simulator itself (`packenv.simulation`) needs a rate of arrivals and knows no theory. Everything that runs
workloads of a user goes through here.
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

    workload       a Workload, or what `packenv.workload` takes: a name, a file, a trace, a table. Its arguments, such as
                   `servers`, `slot_seconds` or `intensity`, go along here
    slots          length of the run; a Jobs table runs through its last arrival by default
    seed           of the workload's random tasks, and of a policy that needs chance
    drain          no task arrives after `slots`, and the run goes on until all work is done; the default for a Jobs table
                   whose jobs all arrive in slot 0
    warmup         slots that are not measured (default: 0 for a Jobs table, slots / 10 otherwise)
    initial        tasks in service at the start, as (size or demand vector, server, remaining slots); by default those of the
                   workload, if it begins with any
    schedule       whether `Result.schedule` holds start, server and end of every task
    backlog        random tasks arrive whenever others start, so that this many always wait. The utilisation is then the most
                   that the policy can sustain with so long a queue (saturation rule: Baccelli and Foss, J. Appl. Prob. 1995)
    reject         what does not start in the slot in which it arrives is lost, and counted in `Result.rejected` by what it lacked
    waiting_limit  the run ends early if more tasks than this wait
    until_started  the run may end before `slots` once all tasks of a Jobs table have started
    slowdown_bound  seconds (slots, where a slot has no length) that a job counts as if it ran at least, in `Result.response`:
                   10 by default. Of random tasks, whose schedule it takes, `response` is measured if this is given
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
    """The workload that `packenv.workload` makes of the arguments, with a rate of arrivals in place of a load."""
    workload = workload if isinstance(workload, Workload) and not changes else find_workload(workload, **changes)
    if workload.load is not None:
        from packenv.theory.capacity.max_workload import resolved  # loads the linear-programming solver, which few runs need

        workload = resolved(workload)
    return workload
