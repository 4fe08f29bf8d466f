"""Nodes and pods of kubectl's list, checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from packenv.extend import PER_BYTE, InputError, Memory, excerpt, parse_json, read_text, reading, without_collection
from packenv_kubernetes.filters import Rules, Traits, rules_of, taints_of
from packenv_kubernetes.requests import Amounts, amounts, held_of, objects, requests_of

COMMAND = "kubectl get nodes,pods -A -o json"
DONE = ("Succeeded", "Failed")
FORM = "%Y-%m-%dT%H:%M:%S%z"
OF_NODES = ("DaemonSet", "Node")  # kinds of owners: static pods of the kubelet are owned by their node
SCHEDULER = "default-scheduler"
BOUND_VOLUMES = {
    *("persistentVolumeClaim", "ephemeral", "csi", "awsElasticBlockStore", "azureDisk", "cinder", "gcePersistentDisk"),
    *("iscsi", "rbd", "vsphereVolume"),
}
"""Kinds of volumes that exist on some nodes only, or have a limit per node."""
GANG_FIELDS = {"workloadRef", "schedulingGroup"}
WITH_MINIMUM = ("PodGroup", "Workload")  # kinds of objects with a gang's minimum of running pods
GANG = re.compile(r"(?i:(pod|task)[-_]?group)|(?<![a-z])(?i:pod)?[gG]ang(?![a-z])|(?i:schedul|volcano)[^/]*/group-name")
"""Fields, labels and annotations that mark a gang: pods that start as a whole.

Of Kubernetes, coscheduling, Volcano, Kueue, YuniKorn, Koordinator, KAI, Armada, Grove and others.
"""
HAS_NAME = re.compile(r"(?i:name|id|pod-?group|gang)$")  # of those labels and annotations, the ones that name the gang
APPLICATIONS = ("applicationId", "yunikorn.apache.org/app-id")  # of YuniKorn, where all of an application is one
OWN_MINIMUM = (
    "pod-group.scheduling.sigs.k8s.io/min-available",
    "gang.scheduling.koordinator.sh/min-available",
    "armadaproject.io/gangMinimumCardinality",
)


GPU_PARTS = ("gpu-fraction", "gpu-memory")
"""Annotations by which KAI gives a pod a part of a GPU."""
HAMI_NODE, HAMI_MEMORY = "hami.io/node-nvidia-register", "nvidia.com/gpumem"
PLACEHOLDER, TASK_GROUP = "yunikorn.apache.org/placeholder", "yunikorn.apache.org/task-group-name"
MERGED = re.compile(r"(?<=\n\})\s*(?=\{)")  # between two lists of kubectl's, one behind the other
WARNINGS = re.compile(r"\A(?:[EW][^\n]*\n)+")


GPU_ANNOTATIONS = ("scheduler.framework.gpushare.allocation", "ALIYUN_COM_GPU_MEM_IDX")


class Node(NamedTuple):
    """A node's properties."""

    offers: Amounts
    problem: str | None  # why no pod can be started on it, or None
    traits: Traits
    latest: float  # the latest time that it mentions, seconds

    @property
    def name(self) -> str:
        return self.traits.name


class Pod(NamedTuple):
    """A pod's properties. Times are in seconds since 1970, lengths in seconds."""

    name: str  # namespace/name
    owner: str  # namespace/name of its controller; empty if it has none
    asks: Amounts
    node: str | None
    created: float
    started: float | None
    done: bool
    held: bool  # by a scheduling gate
    endless: bool  # restarted whenever it ends
    rules: Rules
    unmodelled: tuple[str, ...]  # constraints that play no part
    stays: bool = False  # belongs to its node: of a DaemonSet, or a static pod
    deleted: float | None = None  # when it will be gone at the latest
    deadline: float | None = None  # when its Job ends at the latest
    longest: float | None = None  # how long it may run
    priority: int = 0
    preempts: bool = True
    grace: float = 30.0  # longest time to end on request
    priority_class: str = ""
    anew: Amounts | None = None  # requests of a new pod in its place, if this one is being resized
    gpu: str = ""  # which GPU it has a share of, as gpushare writes it
    submitted: bool = False  # not in the dump: its fate is the question
    gang: str = ""  # the field, label or annotation that makes it part of a gang; empty without one
    group: str = ""  # namespace/name of this gang, if that is known
    least: int | None = None  # pods of it that have to run together; None: all
    placeholder: bool = False  # of YuniKorn: it holds the place of a pod of its application
    task_group: str = ""  # of YuniKorn, with namespace and application
    nominated: str = ""  # node where the scheduler has preempted pods for it
    preempted: bool = False  # being deleted because the scheduler preempted it

    @property
    def gang_name(self) -> str:
        """Name of its gang, or of its controller if unknown."""
        return self.group or self.owner

    @property
    def has_latest_end(self) -> bool:
        return self.deleted is not None or self.deadline is not None or self.longest is not None

    def of_gang(self, gang: str, group: str) -> Pod:
        """Return the pod with its owner's gang, unless it has one."""
        return self if self.gang or not gang else self._replace(gang=gang, group=group)

    def with_minimum(self, minimums: Mapping[str, int]) -> Pod:
        """Return the pod with its gang's, or Workload group's, minimum."""
        if not self.group or not minimums:
            return self
        return self._replace(least=minimums.get(self.group, minimums.get(self.group.rpartition("/")[0], self.least)))

    def with_others(self, count: int) -> Pod:
        """Return the pod with `count` gang members running elsewhere."""
        return self._replace(least=self.least - count) if self.gang and self.least is not None and count else self

    def ends_by(self, started: float) -> float | None:
        """Return the pod's latest end after this start, or None."""
        limits = [self.deleted, None if self.deadline is None else self.deadline + self.grace]
        limits.append(None if self.longest is None else started + self.longest + self.grace)
        return min((limit for limit in limits if limit is not None), default=None)


class Objects(NamedTuple):
    """The objects of a file."""

    nodes: list[Node]
    pods: list[Pod]
    others: Counter[str]  # by kind, and pods that occur more than once
    least: dict[str, int]  # the minimum of each gang for which the file has one
    suspended: Counter[str]  # pods that will come, by object


@without_collection()
def read_objects(path: Path) -> Objects:
    """Read nodes, pods, deadlines of Jobs, and gangs. InputError names the object."""
    with reading(path):
        Memory(path).reserve(PER_BYTE * path.stat().st_size)
        text = read_text(path)
    try:
        values = [parse_json(part) for part in MERGED.split(WARNINGS.sub("", text, count=1))]
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from None
    del text  # a large one is a quarter of the memory
    if not all(isinstance(value, dict) and isinstance(value.get("items"), list) for value in values):
        raise InputError(f"{path}: not what `{COMMAND}` prints: no list of items")
    items = [item for value in values for item in items_of(value["items"])]
    nodes: list[Node] = []
    pods: list[Pod] = []
    deadlines: dict[str, float] = {}
    gangs: dict[str, tuple[str, str]] = {}  # what says so and the group, by namespace/name of the owner
    others: Counter[str] = Counter()
    least: dict[str, int] = {}  # by namespace/name of a group
    suspended: Counter[str] = Counter()  # pods, by kind, of objects that are suspended
    # Nodes and pods, and of owners deadlines, gangs, minimums and suspended pods.
    for number, item in enumerate(items, 1):
        kind = item.get("kind") if isinstance(item, dict) else None
        if not isinstance(kind, str):
            raise InputError(f"{path}: item {number}: is not an object with a kind; give what `{COMMAND}` prints")
        where = f"{path}: item {number}"
        try:
            name = object_of(item, "metadata").get("name")
            if not isinstance(name, str):
                raise InputError("metadata: has no name")
            where = f"{path}: {kind.lower()} {excerpt(name, quoted=False)}"
            nodes += [_node(item, name)] if kind == "Node" else []
            pods += [pod_of(item, name)] if kind == "Pod" else []
            if kind in ("Node", "Pod"):
                continue
            namespace = item["metadata"].get("namespace", "default")
            owner = f"{namespace}/{name}"
            if kind not in WITH_MINIMUM and (gang := gang_of_owner(item, namespace))[0]:
                gangs[owner] = gang
            minimums = minimums_of(item, kind, owner)
            least |= minimums
            if (held := held_by(item, kind)) is not None:
                suspended[f"suspended {excerpt(kind, quoted=False)} {owner}"] = held
            if kind == "Job":
                longest = whole_of(object_of(item, "spec"), "activeDeadlineSeconds")
                started = _time(object_of(item, "status"), "startTime")
                if longest is not None and started is not None:
                    deadlines[owner] = started + longest
            elif not minimums and held is None:
                others[excerpt(kind, quoted=False)] += 1
        except InputError as problem:
            raise InputError(f"{where}: {problem}") from None
    if not nodes:
        raise InputError(f"{path}: no node in it: give what `{COMMAND}` prints")
    # Each object once, then the owners' data on their pods.
    pods, repeated = once_each(pods)
    if repeated:
        others["pods that occur more than once"] = repeated
    twice = [name for name, count in Counter(node.name for node in nodes).items() if count > 1]
    if twice:
        raise InputError(f"{path}: node {excerpt(twice[0], quoted=False)} is there more than once")
    for n, pod in enumerate(pods):
        if pod.owner in deadlines or pod.owner in gangs:
            pod = pod._replace(deadline=deadlines.get(pod.owner)).of_gang(*gangs.get(pod.owner, ("", "")))
        pods[n] = pod.with_minimum(least)
    return Objects(nodes, pods, others, least, suspended)


def items_of(items: list[Any]) -> Iterator[Any]:
    """Yield the objects of a list, and of lists inside."""
    for item in items:
        if isinstance(item, dict) and str(item.get("kind")).endswith("List") and isinstance(item.get("items"), list):
            yield from items_of(item["items"])
        else:
            yield item


def once_each(pods: list[Pod]) -> tuple[list[Pod], int]:
    """Return each pod once, and the number of repeated names."""
    first: dict[str, Pod] = {}
    for pod in pods:
        first.setdefault(pod.name, pod)
    return [*first.values()], len(pods) - len(first)


def held_by(item: dict[str, Any], kind: str) -> int | None:
    """Return a suspended object's future pods (0: unknown), or None.

    A Workload of Kueue without an owner is suspended until it is admitted.
    """
    spec = object_of(item, "spec")
    policy = spec.get("runPolicy")
    if kind == "Workload" and "kueue" in str(item.get("apiVersion")) and not objects(item["metadata"], "ownerReferences"):
        conditions = objects(object_of(item, "status"), "conditions")
        if any(each.get("type") in ("Admitted", "Finished") and each.get("status") == "True" for each in conditions):
            return None
        return sum(int(whole_of(each, "count") or 1) for each in objects(spec, "podSets"))
    if kind == "CronJob" or True not in (spec.get("suspend"), policy.get("suspend") if isinstance(policy, dict) else None):
        return None
    if kind != "Job":
        return 0
    parallel, completions = whole_of(spec, "parallelism"), whole_of(spec, "completions")
    return int(min(1 if parallel is None else parallel, parallel or 1 if completions is None else completions))


def _node(item: dict[str, Any], name: str) -> Node:
    spec, status = object_of(item, "spec"), object_of(item, "status")
    labels = object_of(item["metadata"], "labels")
    offers = amounts(status.get("allocatable", status.get("capacity")), "status, allocatable")
    if HAMI_MEMORY not in offers and (memory := _hami_memory(item["metadata"])):
        offers = {**offers, HAMI_MEMORY: memory}
    conditions = objects(status, "conditions")
    ready = next((condition.get("status") for condition in conditions if condition.get("type") == "Ready"), "True")
    times = [_time(condition, key) for condition in conditions for key in ("lastHeartbeatTime", "lastTransitionTime")]
    times.append(_time(item["metadata"], "creationTimestamp"))
    traits = Traits(name, tuple(sorted((key, str(value)) for key, value in labels.items())), taints_of(spec))
    return Node(offers, None if ready == "True" else "not ready", traits, max(time or 0.0 for time in times))


def _hami_memory(metadata: dict[str, Any]) -> Fraction:
    """Return all GPUs' MiB in HAMi's `UUID,split,memory,cores,…:…`."""
    noted = str(object_of(metadata, "annotations").get(HAMI_NODE) or "")
    fields = [gpu.split(",") for gpu in noted.split(":")]
    return Fraction(sum(int(gpu[2]) for gpu in fields if len(gpu) > 3 and gpu[2].isascii() and gpu[2].isdigit()))


def pod_of(item: dict[str, Any], name: str, created: float | None = None) -> Pod:
    """Return a pod's properties, `created` by default. InputError names the place."""
    metadata, spec, status = item["metadata"], object_of(item, "spec"), object_of(item, "status")
    node = spec.get("nodeName")
    if node is not None and not isinstance(node, str):
        raise InputError("spec, nodeName: is not a name")
    created = created if (time := _time(metadata, "creationTimestamp")) is None else time
    if created is None:
        raise InputError("metadata, creationTimestamp: is missing")
    namespace = metadata.get("namespace", "default")
    rules, unknown = rules_of(spec)
    grace = whole_of(spec, "terminationGracePeriodSeconds")
    asks, held = requests_of(spec, status), held_of(status)
    owner, gang = _owner(metadata, namespace), gang_of(item)
    group = group_of(item, namespace) if gang else ""
    annotations, labels = object_of(metadata, "annotations"), object_of(metadata, "labels")
    # YuniKorn's application, for placeholders and task groups.
    application = next((str(marks[key]) for marks in (labels, annotations) for key in APPLICATIONS if key in marks), "")
    return Pod(
        name=f"{namespace}/{name}",
        owner=owner,
        asks=asks,
        node=node or None,
        created=created,
        started=_time(status, "startTime"),
        done=status.get("phase") in DONE,
        held=bool(objects(spec, "schedulingGates")),
        endless=spec.get("restartPolicy", "Always") == "Always",
        gpu=next((str(annotations[key]) for key in GPU_ANNOTATIONS if key in annotations), ""),
        rules=rules,
        unmodelled=(
            *(*unknown, *_unmodelled(spec), *(key for key in GPU_PARTS if key in annotations)),
            *((gang,) if gang and not (group or owner) else ()),
        ),
        stays=any(reference.get("kind") in OF_NODES for reference in objects(metadata, "ownerReferences")),
        deleted=_time(metadata, "deletionTimestamp"),
        longest=whole_of(spec, "activeDeadlineSeconds"),
        priority=int(whole_of(spec, "priority") or 0),
        anew=anew if held and (anew := requests_of(spec)) != asks else None,
        priority_class=str(spec.get("priorityClassName") or ""),
        preempts=spec.get("preemptionPolicy") != "Never",
        grace=30.0 if grace is None else grace,
        gang=gang if group or owner else "",  # without a name its pods are unknown
        group=group,
        least=_own_minimum(metadata) if gang else None,
        placeholder=annotations.get(PLACEHOLDER) == "true",
        task_group=f"{namespace}/{application}/{annotations[TASK_GROUP]}" if application and TASK_GROUP in annotations else "",
        nominated=str(status.get("nominatedNodeName") or ""),
        preempted="deletionTimestamp" in metadata and _is_preempted(status),
    )


def _is_preempted(status: dict[str, Any]) -> bool:
    conditions = (each for each in objects(status, "conditions") if each.get("type") == "DisruptionTarget")
    return any(each.get("status") == "True" and each.get("reason") == "PreemptionByScheduler" for each in conditions)


def gang_of(item: dict[str, Any]) -> str:
    """Return the gang's field, label or annotation of a pod or template."""
    spec, metadata = object_of(item, "spec"), object_of(item, "metadata")
    for field, value in spec.items():
        if value and _names_gang(field):
            return f"spec.{field}"
    marks = (mark for where in ("labels", "annotations") for mark in object_of(metadata, where).items())
    if keys := [key for key, value in marks if value not in (None, "", "false") and _names_gang(key)]:
        return next((key for key in keys if HAS_NAME.search(key)), keys[0])
    kinds = (str(reference.get("kind")) for reference in objects(metadata, "ownerReferences"))
    return next((f"{kind}, its owner," for kind in kinds if _names_gang(kind)), "")


def group_of(item: dict[str, Any], namespace: str) -> str:
    """Return namespace/name of a pod's gang, or empty without a name."""
    key, owners = gang_of(item), objects(object_of(item, "metadata"), "ownerReferences")
    spec, metadata = object_of(item, "spec"), object_of(item, "metadata")
    value: Any = spec.get(key.removeprefix("spec."))
    for where in ("labels", "annotations"):
        marks = object_of(metadata, where)
        value = marks.get(key, value) if HAS_NAME.search(key) else value
        value = next((marks[name] for name in APPLICATIONS if name in marks), value) if "yunikorn" in key else value
    value = next((owner.get("name") for owner in owners if f"{owner.get('kind')}, its owner," == key), value)
    if isinstance(value, dict):
        value = "/".join(str(part) for part in value.values())
    return f"{namespace}/{value}" if isinstance(value, str) and value != "true" else ""


def _own_minimum(metadata: dict[str, Any]) -> int | None:
    """Return the minimum of its gang in a pod's metadata."""
    values = [object_of(metadata, where).get(key) for where in ("labels", "annotations") for key in OWN_MINIMUM]
    return next((int(value) for value in values if isinstance(value, str) and value.isascii() and value.isdigit()), None)


@lru_cache(10_000)  # a large dump has few different ones
def _names_gang(name: str) -> bool:
    return name in GANG_FIELDS or GANG.search(name) is not None


def gang_of_owner(item: dict[str, Any], namespace: str) -> tuple[str, str]:
    """Return gang and group of a pod's owner or its template."""
    if gang := gang_of(item):
        return gang, group_of(item, namespace)
    spec = item.get("spec")
    templates = [spec.get(key) for key in ("jobTemplate", "template")] if isinstance(spec, dict) else []
    nested = (gang_of_owner(template, namespace) for template in templates if isinstance(template, dict))
    return next((gang for gang in nested if gang[0]), ("", ""))


def minimums_of(item: dict[str, Any], kind: str, name: str) -> dict[str, int]:
    """Return the minimum of running pods by namespace/name of a gang.

    1 if the policy makes no gang. `name`: of the object. A Workload has several groups, with their names appended.
    """
    if kind not in WITH_MINIMUM:
        return {}
    spec = object_of(item, "spec")
    policies = [(name, spec, "schedulingPolicy")]
    policies += [(f"{name}/{group.get('name')}", group, "policy") for group in objects(spec, "podGroups")]
    minimums = {}
    for group, parent, key in policies:
        policy = object_of(parent, key)
        minimum = whole_of(object_of(policy, "gang"), "minCount")
        minimum = whole_of(parent, "minMember") if minimum is None else minimum
        minimum = 1.0 if minimum is None and "basic" in policy else minimum
        if minimum is not None:
            minimums[group] = int(minimum)
    return minimums


def whole_of(spec: dict[str, Any], key: str) -> float | None:
    """Return a spec's whole number, or None. Raises InputError."""
    value = spec.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise InputError(f"{key}: {excerpt(str(value))} is not a whole number")
    return None if value is None else float(value)


def _owner(metadata: dict[str, Any], namespace: str) -> str:
    """Return the controller among an object's owners."""
    names = [reference.get("name") for reference in objects(metadata, "ownerReferences") if reference.get("controller") is True]
    return f"{namespace}/{names[0]}" if names and isinstance(names[0], str) else ""


def _unmodelled(spec: dict[str, Any]) -> list[str]:
    """Return a pod's unmodelled constraints, without preferences."""
    affinity = spec.get("affinity")
    between = affinity if isinstance(affinity, dict) else {}
    terms = {kind: between.get(kind) for kind in ("podAffinity", "podAntiAffinity")}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    kinds = [kind for kind, term in terms.items() if isinstance(term, dict) and term.get(required)]
    spreads = objects(spec, "topologySpreadConstraints")
    kinds += ["topologySpreadConstraints"] if any(rule.get("whenUnsatisfiable") != "ScheduleAnyway" for rule in spreads) else []
    kinds += ["volumes"] if any(BOUND_VOLUMES & {*volume} for volume in objects(spec, "volumes")) else []
    kinds += [key for key in ("resourceClaims", "runtimeClassName") if spec.get(key)]
    return kinds + (["schedulerName"] if spec.get("schedulerName", SCHEDULER) != SCHEDULER else [])


def object_of(parent: dict[str, Any], key: str) -> dict[str, Any]:
    """Return an object under a key, or empty. Raises InputError."""
    value = parent.get(key)
    if value is not None and not isinstance(value, dict):
        raise InputError(f"{key}: an object is expected")
    return value or {}


def _time(parent: dict[str, Any], key: str) -> float | None:
    """Return seconds since 1970 of 2024-05-01T12:00:00Z, or None (InputError)."""
    text = parent.get(key)
    if text is None:
        return None
    try:
        if not (isinstance(text, str) and len(text) <= 35 and text.isascii()):
            raise ValueError
        return _seconds(text)
    except (ValueError, OverflowError):
        raise InputError(f"{key}: {excerpt(str(text))} is not a time such as 2024-05-01T12:00:00Z") from None


@lru_cache(10_000)
def _seconds(text: str) -> float:
    if text.endswith("Z"):
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    return datetime.strptime(text, FORM).timestamp()
