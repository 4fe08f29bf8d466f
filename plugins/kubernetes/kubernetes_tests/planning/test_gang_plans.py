"""Gangs of pods in plans, against a slow planner on the objects as kubectl prints them: all of a gang's placements are tried."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from kubernetes_tests import slow_scheduler
from kubernetes_tests.sample import container, listed, node, pod
from kubernetes_tests.slow_scheduler import all_start_now, fits
from packenv.cli.main import main
from packenv.policies.random_requirements.fifo import FifoFirstFit
from packenv.runs.run import make
from packenv.workloads.laws import Fixed
from packenv_kubernetes import Cluster, read_cluster
from packenv_kubernetes.changed import changed, kind_of, without_nodes
from packenv_kubernetes.planning.nodes import AddedNodes
from packenv_kubernetes.planning.queue import QueueRuns, parse_queue_goals
from packenv_kubernetes.pod_groups import gangs_of
from packenv_kubernetes.preemption import first_cycle
from packenv_kubernetes.started import Started

SERVICE = 5  # s
GROUP = "scheduling.x-k8s.io/pod-group"
Object = dict[str, Any]


class Dump:
    """Nodes of two to four cores, pods in service, and a queue of one or two gangs and single pods."""

    def __init__(self, seed: int, priorities: tuple[int, ...] = (0,)) -> None:
        self.random, self.priorities = np.random.default_rng(seed), priorities
        self.nodes = [node(f"n{n}", self.one(["2", "3", "4"])) for n in range(self.random.integers(1, 4))]
        self.running = []
        for each in self.nodes:
            for n in range(self.random.integers(0, 3)):
                name, start = each["metadata"]["name"], f"2024-05-01T11:59:5{self.one('6789')}Z"
                owner = "DaemonSet/d" if self.random.random() < 0.2 else ""
                self.running.append(self.pod(f"{name}-{n}", on=name, started=start, owner=owner, job=not owner))
        self.waiting = [self.pod(f"s{n}") for n in range(self.random.integers(1, 4))]
        self.groups = []
        for name in "ab"[: self.random.integers(1, 3)]:
            alike = self.one([True, True, False])
            size, first = int(self.random.integers(2, 5)), self.pod("like")
            for n in range(size):
                each = first if alike else self.pod("other")
                metadata = each["metadata"] | {"name": f"{name}{n}", "labels": {GROUP: name}}
                self.waiting.append(each | {"metadata": metadata | {"creationTimestamp": self.one(CREATED)}})
            if self.random.random() < 0.4:
                least = int(self.random.integers(1, size + 1))
                self.groups.append(
                    {"kind": "PodGroup", "metadata": {"name": name, "namespace": "team"}, "spec": {"minMember": least}}
                )
        for each in self.running:
            if self.random.random() < 0.2 and not slow_scheduler.belongs(each):
                each["metadata"]["labels"] = {GROUP: "a"}

    def one(self, values: Any) -> Any:
        return values[self.random.integers(len(values))]

    def pod(self, name: str, **more: Any) -> Object:
        cpu, created = self.one(["500m", "1", "1", "2"]), self.one(CREATED)
        return pod(name, container(cpu=cpu), created=created, priority=self.one(self.priorities), **more)

    def read(self, path: Path) -> Cluster:
        return read_cluster(listed(path / "cluster.json", [*self.nodes, *self.running, *self.waiting, *self.groups]))


CREATED = [f"2024-05-01T11:{minute}:00Z" for minute in range(10, 18)]


def name_of(item: Object) -> str:
    return str(item["metadata"]["name"])


def gang_of(item: Object) -> str:
    return str(item["metadata"].get("labels", {}).get(GROUP, ""))


def entries(dump: Dump, queue: list[Object]) -> list[tuple[list[Object], list[Object]]]:
    """The queue as a scheduler sees it: pods that start together, and those of their gang above its minimum."""
    order = sorted(queue, key=lambda each: (-each["spec"]["priority"], each["metadata"]["creationTimestamp"], name_of(each)))
    line: list[tuple[list[Object], list[Object]]] = []
    seen = set()
    for each in order:
        name = gang_of(each)
        members = [other for other in order if gang_of(other) == name]
        (least,) = [group["spec"]["minMember"] for group in dump.groups if name_of(group) == name] or [None]
        run = sum(gang_of(other) == name for other in dump.running)
        needed = len(members) if least is None else max(least - run, 0)
        if not name or needed <= 1:
            line.append(([each], []))
        elif name not in seen:
            seen.add(name)
            line.append((members[:needed], members[needed:]))
    return line


def first_fit(pods: list[Object], nodes: list[Object], there: dict[str, list[Object]]) -> dict[str, list[Object]] | None:
    """Where all of these are beside what is there, the largest first, each on the first node with room; None: not all are."""
    filled = {name: [*on_it] for name, on_it in there.items()}
    for each in sorted(pods, key=lambda each: -slow_scheduler.requests(each)["cpu"]):
        free = [name_of(one) for one in nodes if fits(each, one, filled[name_of(one)])]
        if not free:
            return None
        filled[free[0]].append(each)
    return filled


def starts_by_hand(dump: Dump, queue: list[Object], slots: int, blocking: bool) -> dict[str, int]:
    """The slot in which each pod of the queue starts, first fit in its order, slot by slot; -1: not in these slots.

    blocking  whether those behind wait for one that does not fit
    """
    there = {name_of(one): [each for each in dump.running if each["spec"]["nodeName"] == name_of(one)] for one in dump.nodes}
    ends = {}
    for each in dump.running:
        age = 60 - int(each["status"]["startTime"][17:19])
        ends[name_of(each)] = 10**9 if slow_scheduler.belongs(each) else max(SERVICE - age, 1)
    start: dict[str, int] = {}
    behind: list[tuple[str, str]] = []
    line: list[list[Object]] = []
    for together, others in entries(dump, queue):
        line += [together, *([other] for other in others)]
        behind += [(name_of(other), name_of(together[0])) for other in others]
    for slot in range(slots):
        there = {name: [each for each in on_it if ends[name_of(each)] > slot] for name, on_it in there.items()}
        for pods in line:
            if name_of(pods[0]) in start:
                continue
            filled = first_fit(pods, dump.nodes, there)
            if filled is None and blocking:
                break
            if filled is not None:
                there = filled
                start |= {name_of(each): slot for each in pods}
                ends |= {name_of(each): slot + SERVICE for each in pods}
    for other, leader in behind:
        start[other] = max(start.get(other, -1), start[leader]) if leader in start and other in start else -1
    return {name_of(each): start.get(name_of(each), -1) for each in queue}


def starts(cluster: Cluster, policy: Any, slots: int) -> dict[str, int]:
    if not cluster.waiting:
        return {}
    workload = cluster.workload(Fixed(SERVICE))
    result = packenv.simulate(workload, policy, slots=slots, schedule=True)
    assert result.schedule is not None and isinstance(workload.draw, Started)
    start, end = workload.draw.times(0, result.schedule.start, result.schedule.end)
    assert ((start < 0) | (end == start + SERVICE)).all()
    return {each.name.removeprefix("team/"): int(slot) for each, slot in zip(cluster.waiting, start, strict=True)}


def test_starts_are_those_of_a_slow_scheduler(tmp_path: Path) -> None:
    """All starts with `fifo-ff`, whether it waits for one that does not fit or passes over it; with others no gang in part."""
    whole, waited, others = 0, 0, 0
    for seed in range(60):
        dump = Dump(seed)
        cluster = dump.read(tmp_path)
        unfit = {each.name.removeprefix("team/") for each in cluster.unfit}
        queue = [each for each in dump.waiting if name_of(each) not in unfit]
        by_hand = starts_by_hand(dump, queue, 60, seed % 2 == 0)
        assert starts(cluster, FifoFirstFit(blocking=seed % 2 == 0), 60) == by_hand, seed
        for group in gangs_of(cluster):
            pods = [cluster.waiting[n].name.removeprefix("team/") for n in group.members]
            whole += 1
            waited += by_hand[pods[0]] > 0
            others += len(group.others)
            for policy in ("bf-js", "easy") if seed % 10 == 0 else ():
                slots = starts(cluster, policy, 60)
                assert len({slots[name] for name in pods[: group.needed]}) == 1, (seed, policy)
                assert all(slots[name] == -1 or slots[name] >= slots[pods[0]] for name in pods), (seed, policy)
    assert whole > 30 and waited > 10 and others > 2


def holds(pods: list[Object], nodes: list[Object], own: list[Object]) -> bool:
    """Whether the nodes hold all of these at once, beside these pods that run. Tries all placements."""
    for where in itertools.product(nodes, repeat=len(pods)):
        on = {name_of(one): [each for each in own if each["spec"]["nodeName"] == name_of(one)] for one in nodes}
        for each, place in zip(pods, where, strict=True):
            on[name_of(place)].append(each)
        if all(
            slow_scheduler.has_room(each, place, [other for other in on[name_of(place)] if other is not each])
            for each, place in zip(pods, where, strict=True)
        ):
            return True
    return False


def test_which_gangs_cannot_start(tmp_path: Path) -> None:
    """Those that the nodes never hold are unfit, of pods that are alike no others; the fewest nodes that would do are found."""
    unfit, later = 0, 0
    (goal,) = parse_queue_goals(["max wait <= 1h"], 1.0)
    for seed in range(80):
        dump = Dump(1000 + seed)
        cluster = dump.read(tmp_path)
        never = {each.name.removeprefix("team/") for each in cluster.unfit}
        counted = True
        for together, others in entries(dump, dump.waiting):
            if len(together) == 1:
                continue
            least = any(name_of(group) == gang_of(together[0]) for group in dump.groups)
            own = [
                each for each in dump.running if slow_scheduler.belongs(each) or (least and gang_of(each) == gang_of(together[0]))
            ]
            possible = holds(together, dump.nodes, own)
            alike = len({str(slow_scheduler.requests(each)) for each in together}) == 1
            found = name_of(together[0]) not in never
            assert possible or not found, seed
            assert found == possible or not alike or others, seed
            unfit += not possible
            counted &= not others
        if not counted or len(gangs_of(cluster)) > 1 or not any(gang_of(each) for each in dump.waiting):
            continue
        nodes = AddedNodes(cluster, kind_of(cluster), 1)
        bound = nodes.bound([goal], lambda own: own.workload(Fixed(SERVICE)))
        grown = changed(cluster, nodes.kind, max(bound, 0))
        assert bound <= 0 or changed(cluster, nodes.kind, bound - 1).stranded or not grown.stranded
        template = next(each for each in dump.nodes if name_of(each) == nodes.kind.template)
        for together, _ in entries(dump, dump.waiting):
            own = [each for each in dump.running if slow_scheduler.belongs(each)]
            daemons = [each for each in own if each["spec"]["nodeName"] == name_of(template)]
            for count in range(bound):
                new = [template | {"metadata": {"name": f"more-{n}"}} for n in range(count)]
                copies = [each | {"spec": each["spec"] | {"nodeName": name_of(one)}} for one in new for each in daemons]
                if not holds(together, [*dump.nodes, *new], [*own, *copies]):
                    later += 1
                    break
            else:
                continue
            break
        else:
            assert bound <= 0, seed
    assert unfit > 10 and later > 3


@pytest.mark.parametrize("removed", [False, True])
def test_the_answer_meets_the_goal(tmp_path: Path, removed: bool) -> None:
    """A gang of five pods of two cores: the least number of nodes to add, and the most that can be taken away."""
    nodes = [node(f"n{n}") for n in range(4 if removed else 1)]
    ring = [pod(f"ring-{n}", container(cpu="2"), **{"schedulingGroup": {"podGroupName": "g"}}) for n in range(5)]
    cluster = read_cluster(listed(tmp_path / "c.json", [*nodes, *ring, pod("one", container(cpu="1"))]))
    goals = parse_queue_goals(["max wait <= 10s"], 1.0)
    added = AddedNodes(cluster, kind_of(cluster), 1)
    bound = added.bound(goals, lambda own: own.workload(Fixed(SERVICE)))
    runs = QueueRuns("bf-js", goals, (Fixed(SERVICE),), 1.0, lambda runs, extract: [make(run, extract) for run in runs])
    answer = added.least(runs, bound, lambda words: None)
    assert (answer.number, bound) == ((-1, -1) if removed else (2, 2))


def test_no_gang_is_preempted_for_in_part(tmp_path: Path) -> None:
    """Gangs of higher priority start now as a whole, if all find room by whatever preemption; else they change nothing."""
    begun, not_begun, victims = 0, 0, 0
    for seed in range(120):
        dump = Dump(3000 + seed, (-10, 0, 7))
        cluster = dump.read(tmp_path)
        lowest = min((each.priority for each in cluster.waiting), default=0)
        start = {placement.pod: placement for placement in first_cycle(cluster)}
        there = {name_of(one): [each for each in dump.running if each["spec"]["nodeName"] == name_of(one)] for one in dump.nodes}
        raw = {f"team/{name_of(each)}": each for each in dump.waiting}
        lost: set[int] = set()
        for group in gangs_of(cluster):
            pods = [raw[cluster.waiting[n].name] for n in group.together]
            starts_now = [n in start for n in group.together]
            assert all(starts_now) or not any(starts_now), seed
            assert len({start[n].delay for n in group.together if n in start}) <= 1
            assert all(starts_now) or not any(n in start for n in group.others), seed
            begun += all(starts_now)
            if all(starts_now):
                victims += any(start[n].victims for n in group.together)
                assert all_start_now(pods, dump.nodes, there), seed
            else:
                not_begun += 1
                lost |= {*group.members}
        # Without the gangs that do not start now, the others start just so.
        if lost and not set(start) & lost:
            kept = [n for n in range(len(cluster.waiting)) if n not in lost]
            less = cluster.with_queue([cluster.waiting[n] for n in kept], cluster.demand[kept])
            names = {(less.waiting[each.pod].name, each.node, each.victims) for each in first_cycle(less, lowest)}
            first = min(cluster.waiting[n].priority for n in lost) == lowest  # it may stand where it starts in this slot
            assert first or names == {(cluster.waiting[n].name, each.node, each.victims) for n, each in start.items()}, seed
    assert begun > 10 and not_begun > 10 and victims > 5


def test_a_gang_preempts_as_a_whole(tmp_path: Path) -> None:
    """Two nodes of four cores, each with a pod of three: three of priority 1 have room in place of both, or not at all."""
    low = [pod(f"low-{n}", container(cpu="3"), on=f"n{n}", terminationGracePeriodSeconds=10 + n) for n in range(2)]
    nodes, queued = [node("n0"), node("n1")], pod("last", container(cpu="1"))
    for cpu, begun in (("2", {"team/low-0", "team/low-1"}), ("3", set())):
        ring = [pod(f"ring-{n}", container(cpu=cpu), priority=1, **{"schedulingGroup": {"podGroupName": "g"}}) for n in range(3)]
        cluster = read_cluster(listed(tmp_path / "c.json", [*nodes, *low, *ring, queued]))
        placements = first_cycle(cluster)
        assert {cluster.running[v].name for each in placements for v in each.victims} == begun
        names = [cluster.waiting[each.pod].name for each in placements]  # the last one has the rest of n1
        assert names == (["team/ring-0", "team/ring-1", "team/ring-2", "team/last"] if begun else [])
        assert [each.delay for each in placements] == [11.0] * len(names)  # when the last of the victims is gone
        if begun:
            slots = starts(cluster, "bf-js", 60)
            assert [slots[f"ring-{n}"] for n in range(3)] == [11, 11, 11]


def test_pods_of_a_gang_that_are_preempted_start_again_together(tmp_path: Path) -> None:
    """Two of its three, in place of which a larger one starts: there is room for one when the first other ends, for two later."""
    group = {"schedulingGroup": {"podGroupName": "g"}}
    low = [pod(f"low-{n}", container(cpu="2"), on="n0", priority=-1, terminationGracePeriodSeconds=0, **group) for n in range(2)]
    others = [pod(f"other-{n}", container(cpu="2"), on="n1", started=f"2024-05-01T11:59:5{6 + n}Z") for n in range(2)]
    cluster = read_cluster(
        listed(tmp_path / "c.json", [node("n0"), node("n1"), *low, *others, pod("high", container(cpu="4"), job=False)])
    )
    workload = cluster.workload(Fixed(SERVICE))
    result = packenv.simulate(workload, "fifo-ff", slots=60, schedule=True)
    assert result.schedule is not None and workload.at(0).jobs is not None
    assert workload.draw.evicted == (0, 1)  # type: ignore[union-attr]
    assert result.schedule.start.tolist() == [2, 2]  # those of node 1 end in slots 1 and 2


def test_a_node_goes_with_a_part_of_a_gang(tmp_path: Path) -> None:
    """Whether its pods have a place is asked of those that start together: with others of the gang that wait."""
    group = {"schedulingGroup": {"podGroupName": "g"}}
    ring = [pod(f"ring-{n}", container(cpu="2"), on="n0" if n < 2 else None, **group) for n in range(4)]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n0"), node("n1"), *ring, pod("one", container(cpu="1"))]))
    left = without_nodes(cluster, ["n0"])
    assert sorted(left.stranded) == [f"team/ring-{n}" for n in range(4)] and not left.undecided
    assert [each.name for each in left.waiting] == ["team/one"] and left.again == ()
    (gang,) = gangs_of(without_nodes(read_cluster(listed(tmp_path / "d.json", [node("n0"), node("n1", "8"), *ring])), ["n0"]))
    assert (gang.members, gang.needed) == ((0, 1, 2, 3), 4)


def test_a_node_more_that_is_too_few(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gang of nine on a node of four cores needs two more, and says so; with one it is named, and not said to start."""
    ring = [pod(f"ring-{n}", container(cpu="1"), **{"schedulingGroup": {"podGroupName": "g"}}) for n in range(9)]
    file = listed(tmp_path / "c.json", [node("n0"), *ring, pod("one", container(cpu="1"))])
    printed = []
    for words in ((), ("--add", "n0"), ("--add", "2xn0")):
        main(["kubernetes", "when", str(file), "--slots", "9", "--draws", "9", "--processes", "1", *words])
        printed.append(capsys.readouterr().out)
    assert "9 pods start together, each requests 1 core; the nodes have room for 4 of them next to pods of the" in printed[0]
    assert "--add n0 would help, 2 nodes like this\n" in printed[0]
    assert "9 pods cannot start on the nodes that are there then: team/ring-0," in printed[1]
    assert "team/ring-8 " not in printed[1] and "cannot start" not in printed[2] and "team/ring-8 " in printed[2]
