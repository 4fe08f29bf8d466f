"""Delay scheduling: fair sharing that waits a little for a server that has the data (PAPERS §5; Zaharia et al., EuroSys 2010;
dynamic: seed 004).

In every slot each server, in index order, is offered until it is refused. An offer looks through the jobs with tasks that fit
there, those with the fewest tasks in service first. The first job with a task at home on the server launches it, or, in a rack
and after the node interval, one whose data is in the rack; after the rack interval as well, any. A job that may launch nothing
is skipped, and its wait begins with the first time. The intervals have run out when more slots than that have passed.

A launch ends the wait. What follows, `robust` (as in Algorithm 3 of Zaharia et al.): the job stays on the level of the launch, so
that after one far from its data it need not wait again until it finds a task nearer to them. `paper` (seed 004): it begins anew
after every launch. Ties: the earlier job; in a job the earlier row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from packenv.cluster import Cluster, Needs, row_of
from packenv.errors import InputError
from packenv.policies.delay.backlog import settle, take_up
from packenv.policies.delay.server_offers import BY_TIME, Rules, Waits, offer_servers, report, waits, wake_later
from packenv.policy import Setting, completes, schedules
from packenv.workloads.network import NODE


class Delay(NamedTuple):
    """Delay scheduling with fixed intervals: a job waits a while for a server with its data.

    interval   seconds that a job waits for a server with its data
    rack       and then for one in the rack of one; of no account where the workload has no racks
    skips      >= 0: a job waits for so many offers instead, with no rack level
    paper      the variant: a job waits anew after every launch

    A slot is a second if the workload does not say. InputError for a negative or infinite interval.
    """

    interval: float = 3.0
    rack: float = 3.0
    skips: int = BY_TIME
    paper: bool = False

    @property
    def rule(self) -> Rules:
        return Rules(self.skips, 0.0, self.paper)

    def needs(self, setting: Setting) -> Needs:
        if self.skips < BY_TIME:
            raise InputError(f"delay: skips must not be negative, not {self.skips}")
        return _needs("delay", setting, self.interval, self.rack)

    def initial_state(self, setting: Setting, seed: int) -> Waits:
        return waits(setting, self.interval, self.rack)


class DelayDynamic(NamedTuple):
    """Delay scheduling with intervals that follow the overhead that tasks report, for each kind of task: its phase number.

    A task that ran away from its data reports the slots that it took longer to the interval that ran out before it: in a
    cluster with racks off-rack tasks report what is left of theirs beyond the node interval to the rack interval. Then
    interval ← (1 − weight) · interval + weight · reading. `paper`: every task reports, 0 from home, and a job waits anew
    after every launch. `interval`, `rack`: seconds, what is believed at first.
    """

    interval: float = 3.0
    rack: float = 3.0
    weight: float = 0.5
    paper: bool = False

    @property
    def rule(self) -> Rules:
        return Rules(BY_TIME, self.weight, self.paper)

    def needs(self, setting: Setting) -> Needs:
        if not 0 < self.weight <= 1:
            raise InputError(f"delay-dynamic: needs 0 < weight <= 1, not {self.weight}")
        return _needs("delay-dynamic", setting, self.interval, self.rack)

    def initial_state(self, setting: Setting, seed: int) -> Waits:
        return waits(setting, self.interval, self.rack)


class Fair(NamedTuple):
    """Fair sharing without delay: a job takes what it is offered, a task at home there if it has one."""

    @property
    def rule(self) -> Rules:
        return Rules(0, 0.0, False)

    def needs(self, setting: Setting) -> Needs:
        return _needs("fair", setting, 0.0, 0.0)

    def initial_state(self, setting: Setting, seed: int) -> Waits:
        return waits(setting, 0.0, 0.0)


def _needs(policy: str, setting: Setting, interval: float, rack: float) -> Needs:
    if not (0 <= interval < math.inf and 0 <= rack < math.inf):
        raise InputError(f"{policy}: intervals are seconds >= 0, not {interval} and {rack}")
    return Needs(vectors=setting.capacity.shape[1] > 1, table=True)


@schedules(Rules)
def schedule_delay(rules: Rules, cluster: Cluster, state: Waits) -> None:
    take_up(cluster, state.tasks)
    wake_later(rules, cluster, state, offer_servers(rules, cluster, state))


@completes(Rules)
def complete_delay(rules: Rules, cluster: Cluster, state: Waits, task: int) -> None:
    row = row_of(cluster, task)
    if row >= 0:
        settle(state.tasks, row)
        if rules.weight > 0 and (rules.paper or state.ran[row] != NODE):
            report(rules, cluster, state, row)
