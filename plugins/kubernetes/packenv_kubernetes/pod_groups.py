"""Gangs: waiting pods that start together or not at all.

Pods are of one gang by the name of their group or, if unknown, by their controller. `needed` waiting pods have to start in the
same slot: all without a minimum, otherwise the minimum less the gang's running pods. They are the first in the queue. The
others are single pods, and start no earlier. If only one is needed, or none, all are single pods.

Sources: the minimum is `minMember` of a PodGroup of the coscheduling plugin (sigs.k8s.io/scheduler-plugins) and of Volcano.
It is `minCount` of a gang of Kubernetes' own PodGroup and Workload
(kubernetes.io/docs/concepts/scheduling-eviction/gang-scheduling, KEP-4671). Their basic policy makes no gang. All of these
count running pods, and let pods above the minimum follow one by one. Kueue admits all pods of a group by quota before
scheduling. Here they start together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.extend import NO_GANG, to_units
from packenv_kubernetes.filters import Rules, Traits, admitted
from packenv_kubernetes.rules_as_resources import as_resources
from packenv_kubernetes.texts import MOST_NAMED, counted

if TYPE_CHECKING:
    from packenv_kubernetes.cluster import Cluster
    from packenv_kubernetes.objects import Pod

ENOUGH = 2**20  # pods on one node: more than there are

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class PodGroup(NamedTuple):
    """A gang, by numbers in a queue, with several simultaneous starts."""

    name: str
    members: tuple[int, ...]  # that wait, in order of the queue
    needed: int  # of them have to start together
    least: int | None  # that have to run at once; None: all
    running: int  # pods of the gang that run

    @property
    def together(self) -> tuple[int, ...]:
        return self.members[: self.needed]

    @property
    def others(self) -> tuple[int, ...]:
        """Pods above the minimum."""
        return self.members[self.needed :]

    @property
    def missing(self) -> int:
        """Number of missing pods."""
        return max(self.needed - len(self.members), 0)


class Room(NamedTuple):
    """Number of pods with room together. Whether all may have room."""

    found: int
    undecided: bool


def pod_groups(queue: Sequence[Pod], running: Iterable[Pod]) -> list[PodGroup]:
    """Return a queue's gangs of several starts. `running`: all running pods."""
    members: dict[str, list[int]] = {}
    for n, pod in enumerate(queue):
        if pod.gang:
            members.setdefault(pod.gang_name, []).append(n)
    if not members:
        return []
    run: dict[str, int] = {}
    for pod in running:
        if pod.gang and pod.deleted is None:
            run[pod.gang_name] = run.get(pod.gang_name, 0) + 1
    groups = []
    for name, numbers in members.items():
        least = max((queue[n].least for n in numbers), key=lambda amount: -1 if amount is None else amount)
        needed = len(numbers) if least is None else max(least - run.get(name, 0), 0)
        if needed > 1:
            groups.append(PodGroup(name, tuple(numbers), needed, least, run.get(name, 0)))
    return groups


def largest_first(numbers: Sequence[int], demand: Floats) -> list[int]:
    """Return a gang's pods in search order. `demand` (n, D): of all."""
    return sorted(numbers, key=lambda n: -float(demand[n].max()))


def gangs_of(cluster: Cluster) -> list[PodGroup]:
    """Return gangs of waiting pods, then of restarted ones (numbered behind)."""
    in_service = (pod for pod, node in zip(cluster.running, cluster.node, strict=True) if node >= 0)
    return pod_groups([*cluster.waiting, *(cluster.running[n] for n in cluster.again)], in_service)


def whole_gangs(cluster: Cluster, pods: Sequence[Pod], demand: Floats, fit: Bools) -> tuple[Bools, bool]:
    """Return the pods able to start with their gang, (n,).

    They `fit` some node, and their gang has enough pods and room. Also returns whether a gang without room may start all the
    same: room was not found, or other schedulers decide.
    """
    fit, undecided = fit.copy(), False
    known: dict[object, Room] = {}
    emptied: dict[float, tuple[Floats, tuple[Traits, ...]]] = {}
    allowed: dict[tuple[float, Rules], Bools] = {}
    in_service = (pod for pod, node in zip(cluster.running, cluster.node, strict=True) if node >= 0)
    for group in pod_groups(pods, in_service):
        able = [n for n in group.members if fit[n]]
        together = largest_first(able[: group.needed], demand)
        if len(able) < (len(group.members) if group.least is None else group.needed):
            fit[[*group.members]] = False
            continue
        # Room beside the nodes' own pods, cached for gangs that are alike.
        members = [pods[n] for n in together]
        priority = least_priority(members)
        if priority not in emptied:
            emptied[priority] = cluster.emptied(priority)
        room, traits = emptied[priority]
        beside = beside_own(cluster, group, room)
        whose = "" if beside is room else group.name
        key = (priority, whose, demand[together].tobytes(), *(pod.rules for pod in members))
        first, alike = members[0].rules, (demand[together] == demand[together[0]]).all() and len({*key[3:]}) == 1
        if key in known:
            pass
        elif alike and not first.ports:
            if (priority, first) not in allowed:
                allowed[priority, first] = admitted([first], traits)[0]
            there = places_for(demand[together[0]], beside[allowed[priority, first]])
            known[key] = Room(min(there, group.needed), False)
        else:
            known[key] = room_for(members, demand[together], beside, traits)
            if known[key].found == group.needed:  # a simulation looks at nodes with all that they have, in the same order
                known[key] = room_for(members, demand[together], cluster.capacity, cluster.traits)
        if known[key].found < group.needed:
            fit[[*group.members]] = False
            undecided |= known[key].undecided or any(pods[n].unmodelled for n in group.members)
    return fit, undecided


def least_priority(pods: Sequence[Pod]) -> float:
    """Return these pods' highest priority: lower ones may be preempted."""
    return max((pod.priority for pod in pods if pod.preempts), default=-math.inf)


def beside_own(cluster: Cluster, group: PodGroup, room: Floats) -> Floats:
    """Return the room (L, D) left by the gang's counted running pods."""
    if group.least is None or not group.running:
        return room
    own = [n for n in np.flatnonzero(cluster.node >= 0).tolist() if cluster.running[n].gang_name == group.name]
    room = room.copy()
    np.subtract.at(room, cluster.node[own], cluster.running_demand[own])
    return np.maximum(room, 0.0)


def places_for(demand: Floats, room: Floats) -> int:
    """Return how many pods of this demand (D,) fit (L, D)."""
    need, free = to_units(demand), to_units(np.maximum(room, 0.0))
    return int((free[:, need > 0] // need[need > 0]).min(axis=1, initial=ENOUGH).sum())


def room_for(pods: Sequence[Pod], demand: Floats, room: Floats, traits: Sequence[Traits]) -> Room:
    """Find room (L, D) for these pods of demand (n, D).

    Each pod, in order, takes the first node with room. For equal pods the result is exact. Room is ruled out if equal pods, or
    all together, need too much.
    """
    _, columns, extra, _ = as_resources(pods, [], traits)
    need = to_units(np.concatenate([demand, extra], axis=1))
    free = to_units(np.concatenate([np.maximum(room, 0.0), columns], axis=1))
    kinds, counts = np.unique(need, axis=0, return_counts=True)
    most = [int((free[:, kind > 0] // kind[kind > 0]).min(axis=1, initial=len(pods)).sum()) for kind in kinds]
    ruled_out = bool((counts > np.array(most)).any() or (need.sum(axis=0) > free.sum(axis=0)).any())
    if len(kinds) == 1:
        return Room(min(len(pods), most[0]), False)
    for n, amounts in enumerate(need):
        fits = (free >= amounts).all(axis=1)
        if not fits.any():
            return Room(n, not ruled_out)
        free[int(np.argmax(fits))] -= amounts
    return Room(len(pods), False)


def side_by_side(cluster: Cluster, begun: Sequence[int], evicted: Sequence[int]) -> tuple[list[PodGroup], Ints, Ints]:
    """Return the gangs of the queue, and order and gangs of its table.

    Gangs (n,) are numbers or NO_GANG. Both arrays are empty without gangs. Pods with a common start stand at the first of them,
    with the gang's other pods behind.
    begun    numbers of the waiting pods that start now, with their whole gangs
    evicted  numbers of the running pods queued last, behind restarted ones. A gang's start together
    """
    groups, nothing = gangs_of(cluster), np.zeros(0, np.int64)
    if not groups and not any(cluster.running[n].gang for n in evicted):
        return groups, nothing, nothing
    starting = {*begun}
    table = [group for group in groups if not starting.intersection(group.members)]
    count = len(cluster.waiting) + len(cluster.again)
    demand = np.concatenate([cluster.demand, cluster.anew([*cluster.again, *evicted])])
    if any(cluster.running[n].gang for n in evicted):
        # Preempted pods of a gang start together if there is room for them.
        stays = cluster.node >= 0
        stays[[*evicted]] = False
        gone = [cluster.running[n] for n in evicted]
        for group in pod_groups(gone, (cluster.running[n] for n in np.flatnonzero(stays))):
            together = largest_first(group.together, demand[count:])
            pods = [gone[n] for n in together]
            if room_for(pods, demand[count:][together], cluster.capacity, cluster.traits).found == group.needed:
                table.append(group._replace(members=tuple(count + n for n in group.members)))
    if not table:
        return groups, nothing, nothing

    waiting = np.setdiff1d(np.arange(len(cluster.waiting)), begun).tolist()
    # Put each gang where its first pod is.
    entries = [*waiting, *range(len(cluster.waiting), count + len(evicted))]
    place = {number: n for n, number in enumerate(entries)}
    first = {group.members[0]: g for g, group in enumerate(table)}
    inside = {number for group in table for number in group.members}
    order: list[int] = []
    gang: list[int] = []
    for number in entries:
        if number in first:
            group = table[first[number]]
            order += [*largest_first(group.together, demand), *group.others]
            gang += [first[number]] * group.needed + [NO_GANG] * len(group.others)
        elif number not in inside:
            order.append(number)
            gang.append(NO_GANG)
    return groups, np.array([place[number] for number in order], np.int64), np.array(gang, np.int64)


def gang_lines(cluster: Cluster) -> list[str]:
    """Return a line on each of the first gangs and its single pods."""
    groups = gangs_of(cluster)
    lines = [_gang_line(group) for group in groups[:MOST_NAMED]]
    more = len(groups) - len(lines)
    return [*lines, *([f"{counted(more, 'more gang')}, each of pods that start together"] if more else [])]


def _gang_line(group: PodGroup) -> str:
    run = "runs" if group.running == 1 else "run"
    minimum = ", all: the file has no minimum" if group.least is None else f" (minimum {group.least:,}, {group.running:,} {run})"
    if not group.others:
        return f"gang {group.name}: {counted(group.needed, 'pod')} start together{minimum}"
    count = len(group.others)
    own = "is a single pod, which starts" if count == 1 else "are single pods, which start"
    together = f"gang {group.name}: {group.needed:,} of {counted(len(group.members), 'pod')} start together{minimum}"
    before = "it may" if count == 1 else "they may"
    late = f"where {before} take room before them, this is too late: easy and conservative keep room for the gang"
    return f"{together}; {count:,} more {own} with them at the earliest; {late}"
