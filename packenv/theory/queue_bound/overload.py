"""What is said of a workload that no policy can keep up with."""

from __future__ import annotations

from packenv.errors import InputError
from packenv.theory.queue_bound.arrivals import Setting
from packenv.theory.queue_bound.prices import PricedTasks


def check_load(setting: Setting, tasks: PricedTasks) -> None:
    """Raise InputError unless the servers have room for the price of the tasks that would be in service on average."""
    needed = setting.rate / setting.leaving * tasks.moment(1)
    if needed >= tasks.most:
        share = float(needed / tasks.most)
        raise InputError(f"the load is {share:.6g} of the most that the servers support: the queue grows under every policy")
