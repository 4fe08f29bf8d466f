"""`plan --goal` on small dumps drawn at random: against every number of nodes, and "no policy will do" against all schedules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubernetes_tests.planning import slow_planner
from kubernetes_tests.planning.slow_planner import Question, end_of, fits_empty, grown, started, without
from kubernetes_tests.sample import NOW, container, listed, node, pod
from packenv.planning.search import NoneMeets
from packenv.runs.run import make
from packenv.workloads.laws import Fixed
from packenv_kubernetes import read_cluster
from packenv_kubernetes.changed import emptiest_first, kind_of
from packenv_kubernetes.planning.nodes import AddedNodes
from packenv_kubernetes.planning.queue import QueueRuns, parse_queue_goals
from tests.seeds import seeds

SERVICE = 5  # s


class Dump:
    """One to three nodes, up to five pods in service and two to four that wait."""

    def __init__(self, seed: int) -> None:
        self.random = random = np.random.default_rng(seed)
        self.tight = bool(random.random() < 0.5)  # all hangs on when one pod of each node ends, or what it holds
        self.mixed = not self.tight and bool(random.random() < 0.5)  # priorities
        nodes = [self.node(f"n{n}") for n in range(random.integers(1, 4))]
        running = [each for one in nodes for each in self.running(one["metadata"]["name"])]
        waiting = [self.waiting(f"w{n}") for n in range(random.integers(2, 4 if self.mixed else 5))]
        self.question = Question(nodes, running, waiting, SERVICE, NOW, (self.job(),))
        statistic, measure, most = self.one([("max", "wait", 7), ("mean", "wait", 3), ("p50", "wait", 5), ("", "makespan", 12)])
        if measure == "makespan" and (self.mixed or all(each["spec"]["restartPolicy"] == "Always" for each in waiting)):
            statistic, measure = "max", "wait"
        self.statistic, self.measure, self.limit = statistic, measure, int(random.integers(0, most))
        ends = [end_of(self.question, each, started(self.question, each)) for each in running]
        if self.tight and self.chance(0.6) and min(ends) <= 7:  # just when room comes free
            self.statistic, self.measure, self.limit = self.one(["max", "p50"]), "wait", int(min(ends))

    @property
    def goal(self) -> str:
        return f"{self.statistic} {self.measure} <= {self.limit}s".strip()

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def one(self, values: Any) -> Any:
        return values[self.random.integers(len(values))]

    def node(self, name: str) -> dict[str, Any]:
        taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}] if self.chance(0.15) else []
        spec = {"taints": taints} | ({"unschedulable": True} if self.chance(0.1) and name != "n0" else {})
        made = node(name, self.one(["2", "4"]), "8Gi", spec, labels=self.one([{"zone": "a"}, {"zone": "b"}]))
        made["status"]["allocatable"]["pods"] = self.one(["3", "110"])
        return made

    def job(self) -> dict[str, Any]:
        """One with a deadline, from 10 s before now to 14 s after it."""
        metadata, spec = {"name": "j", "namespace": "team"}, {"activeDeadlineSeconds": int(self.random.integers(50, 75))}
        return {"kind": "Job", "metadata": metadata, "spec": spec, "status": {"startTime": "2024-05-01T11:59:00Z"}}

    def running(self, name: str) -> list[dict[str, Any]]:
        """Sometimes more than the node has; pods that are being deleted, or resized, or have a deadline."""
        if self.tight:
            return [self.decisive(name)]
        pods = []
        for n in range(self.random.integers(0, 3)):
            owner = self.one(["", "", "", "Job/j", "DaemonSet/d", f"Node/{name}"])
            stays = owner not in ("", "Job/j")
            deleted = self.one(["11:59:58", "12:00:01", "12:00:02", "12:00:04"]) if self.chance(0.2) and not stays else None
            more: dict[str, Any] = {"owner": owner, "started": f"2024-05-01T11:59:5{self.one('6789')}Z"}
            more |= {"deleted": f"2024-05-01T{deleted}Z"} if deleted else {}
            made = self.pod(f"{name}-{n}", on=name, endless=stays or self.chance(0.15), **more)
            if self.chance(0.25):
                self.resize(made)
            pods.append(made)
        return pods

    def decisive(self, name: str) -> dict[str, Any]:
        """A large pod that does not end by itself, but has a deadline, is being deleted, or resized."""
        kind = self.one(["deadline", "job", "deleted", "resize"])
        more: dict[str, Any] = {"started": "2024-05-01T11:59:57Z", "endless": True}
        more |= {"owner": "Job/j"} if kind == "job" else {}
        more |= {"deleted": f"2024-05-01T12:00:0{self.random.integers(1, 5)}Z"} if kind == "deleted" else {}
        made = self.pod(f"{name}-0", on=name, **more)
        made["spec"].pop("activeDeadlineSeconds", None)
        made["spec"]["terminationGracePeriodSeconds"] = int(self.random.integers(1, 4))
        made["spec"] |= {"activeDeadlineSeconds": int(self.random.integers(4, 8))} if kind == "deadline" else {}
        made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = self.one(["2", "3"])
        if kind == "resize":
            self.resize(made)
        return made

    def resize(self, made: dict[str, Any]) -> None:
        """What it has been given is not what its spec asks."""
        given = {"cpu": self.one(["500m", "1", "3"]), "memory": self.one(["1Gi", "4Gi"])}
        made["status"]["containerStatuses"] = [{"name": "c", "allocatedResources": given, "resources": {"requests": given}}]
        kind = self.one(["Deferred", "Infeasible"])
        made["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": kind}]

    def waiting(self, name: str) -> dict[str, Any]:
        return self.pod(name, owner="Job/j") if self.chance(0.1) else self.pod(name)

    def pod(self, name: str, endless: bool | None = None, **more: Any) -> dict[str, Any]:
        asked = container(cpu=self.one(["500m", "1", "2", "2", "3"]), memory=self.one(["1Gi", "4Gi"]))
        if self.chance(0.15):
            asked["ports"] = [{"hostPort": 80}]
        grace = int(self.one([0, 0, 1, 4]))
        spec: dict[str, Any] = {"terminationGracePeriodSeconds": grace, "priority": self.one([-10, 0, 7]) if self.mixed else 0}
        spec |= {"preemptionPolicy": "Never"} if self.mixed and self.chance(0.2) else {}
        spec |= {"nodeSelector": {"zone": self.one("ab")}} if self.chance(0.15) else {}
        spec |= {"tolerations": [{"key": "gpu", "operator": "Exists"}]} if self.chance(0.3) else {}
        spec |= {"activeDeadlineSeconds": int(self.random.integers(1, 9))} if self.chance(0.15) else {}
        job = not (self.chance(0.1) if endless is None else endless)
        return pod(name, asked, job=job, **spec, **more)


def check(folder: Path, seed: int) -> dict[str, int]:
    """What was shown. Raises AssertionError for a number that is not the least, and for a claim that a schedule refutes."""
    dump = Dump(seed)
    question = dump.question
    cluster = read_cluster(listed(folder / "cluster.json", question.items))
    kind = kind_of(cluster)
    goals = parse_queue_goals([dump.goal], 1.0)
    nodes = AddedNodes(cluster, kind, 1)
    more = grown(question, kind.template, 1)
    waiting = [each for each in question.waiting if fits_empty(question, each) or fits_empty(more, each)]
    if not waiting or (dump.measure == "makespan" and all(each["spec"]["restartPolicy"] == "Always" for each in waiting)):
        return {}
    bound = nodes.bound(goals, lambda own: own.workload(Fixed(SERVICE)))

    def at(count: int) -> Question:
        if count >= 0:
            return grown(question._replace(waiting=waiting), kind.template, count)
        return without(question._replace(waiting=waiting), emptiest_first(cluster, kind)[:-count])

    def possible(count: int) -> bool:
        there = at(count)
        return slow_planner.meets(there, there.waiting, dump.statistic, dump.measure, dump.limit)

    shown = {"bounds": 0, "tight": 0, "numbers": 0, "none": 0, "not monotone": 0}
    for count in range(max(nodes.fewest, bound - 2), bound):  # the claim: with fewer no policy will do
        shown["bounds"] += 1
        assert not possible(count), f"seed {seed}: {dump.goal} can be met with {count:+}, of which the bound {bound:+} says no"
    shown["tight"] = int(bound > nodes.fewest and possible(bound))

    def enough(count: int) -> bool:
        """By a dump that has these nodes: no policy knows that they are new."""
        there = at(count)
        file = listed(folder / "more.json", there.items)
        found = read_cluster(file)
        return not found.unfit and runs.trial(found, runs.times(found, [1])).meets

    runs = QueueRuns("bf-js", goals, (Fixed(SERVICE),), 1.0, lambda wanted, extract: [make(each, extract) for each in wanted])
    try:
        number = nodes.least(runs, bound, lambda what: None).number
    except NoneMeets:
        shown["none"] = 1
        assert not any(enough(count) for count in range(nodes.most + 1)), f"seed {seed}: some number meets {dump.goal}"
        return shown
    shown["numbers"] = 1
    tried = {count: enough(count) for count in range(0, max(number, 0) + 3)}
    if number >= 0:
        assert tried[number] and not tried.get(number - 1, False), f"seed {seed}: {number:+} is not the least for {dump.goal}"
        shown["not monotone"] = int(
            any(met for count, met in tried.items() if count < number)
            or not all(met for count, met in tried.items() if count >= number)
        )
    assert number >= bound
    return shown


@pytest.mark.parametrize("seed", seeds(8, 200))
def test_no_claim_is_refuted(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed)
