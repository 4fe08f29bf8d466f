"""Pods to submit, from manifests in JSON or YAML.

These are Pods, and the templates of Jobs, Deployments and others with their counts. A file may have several documents and
Lists. Missing fields are set as by the API server. Priority classes are in the dump's pods or in the manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from packenv.extend import MOST_BYTES, PER_BYTE, InputError, Memory, excerpt, parse_json, read_text, reading
from packenv_kubernetes.objects import Pod, gang_of_owner, minimums_of, object_of, pod_of, whole_of

TEMPLATES = ("Pod", "Job", "CronJob", "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
MOST_PODS = 100_000
SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
HASH = "[bcdfghjklmnpqrstvwxz2456789]{1,10}"
"""Suffix of a Deployment's ReplicaSets (k8s.io/apimachinery, util/rand)."""


class PriorityClass(NamedTuple):
    value: int
    preempts: bool


class Template(NamedTuple):
    """Equal pods with different names."""

    where: str  # file, kind and name
    kind: str
    name: str  # namespace/name
    size: int
    pod: Pod  # created in 1970
    longest: float | None  # s that a Job may last
    explicit: bool  # whether it has a priority

    @property
    def names(self) -> list[str]:
        if self.kind == "Pod":
            return [self.name]
        first = 0 if self.kind in ("Job", "CronJob", "StatefulSet") else 1  # those of others end at random
        return [f"{self.name}-{first + n}" for n in range(self.size)]

    def has(self, pod: Pod) -> bool:
        """Return whether a pod belongs to this workload."""
        if self.kind == "Deployment":
            return re.fullmatch(f"{re.escape(self.name)}-{HASH}", pod.owner) is not None
        return self.kind != "Pod" and pod.owner == self.name


class Submitted(NamedTuple):
    """Pods to submit, as templates."""

    templates: tuple[Template, ...]
    classes: dict[str, PriorityClass]
    usual: PriorityClass  # of pods without a class
    notes: tuple[str, ...]
    minimums: dict[str, int]  # of gangs, by namespace/name

    def pods(self, source: str, present: Sequence[Pod], now: float, minimums: dict[str, int]) -> list[Pod]:
        """Return the pods as part of a dump with gangs' `minimums` (InputError)."""
        used_names = {pod.name for pod in present}
        classes = {pod.priority_class: PriorityClass(pod.priority, pod.preempts) for pod in present if pod.priority_class}
        classes |= {name: PriorityClass(value, True) for name, value in SYSTEM.items()} | self.classes
        pods: list[Pod] = []
        for template in self.templates:
            if any(template.has(pod) for pod in present):
                raise InputError(f"{template.where}: {source} has its pods already: give new ones another name")
            pod = template.pod
            if not template.explicit and pod.priority_class and pod.priority_class not in classes:
                why = f"priorityClassName {excerpt(pod.priority_class)}: no pod of {source} has it"
                raise InputError(f"{template.where}: {why}: give its PriorityClass in a manifest too, or a priority")
            if not template.explicit:
                its_class = classes[pod.priority_class] if pod.priority_class else self.usual
                pod = pod._replace(priority=its_class.value, preempts=pod.preempts and its_class.preempts)
            deadline = None if template.longest is None else now + template.longest
            for name in template.names:
                if name in used_names:
                    raise InputError(f"{template.where}: there is a pod {name} already")
                used_names.add(name)
                order = now + len(pods) / 1000  # s: one after the other
                pods.append(pod._replace(name=name, created=order, deadline=deadline, submitted=True))
        return [pod.with_minimum(minimums | self.minimums) for pod in pods]


def read_manifests(paths: Sequence[str | Path]) -> Submitted:
    """Read files' pods and priority classes. InputError names object and field."""
    templates: list[Template] = []
    classes: dict[str, PriorityClass] = {}
    minimums: dict[str, int] = {}
    usual, notes = PriorityClass(0, True), []
    for path in paths:
        skipped: list[str] = []
        before = len(templates)
        for number, item in enumerate(_items(Path(path)), 1):
            # Each object is a class, a template, a minimum of a gang, or left out.
            where = f"{path}: object {number}"
            try:
                kind = item.get("kind") if isinstance(item, dict) else None
                if not isinstance(kind, str):
                    raise InputError("is not a manifest: an object with a kind, metadata and a spec is expected")
                metadata = object_of(item, "metadata")
                name = metadata.get("name") or f"{metadata.get('generateName') or ''}1"
                if not isinstance(name, str) or name == "1":
                    raise InputError("metadata: has no name")
                where = f"{path}: {kind.lower()} {excerpt(name, quoted=False)}"
                if kind == "PriorityClass":
                    classes[name] = _class_of(item)
                    usual = classes[name] if item.get("globalDefault") is True else usual
                elif kind == "Job" and "tasks" in object_of(item, "spec"):
                    skipped.append(
                        f"{kind} of {excerpt(str(item.get('apiVersion')), quoted=False)}"
                    )  # of gangs, as Volcano has them
                elif kind in TEMPLATES:
                    templates.append(_template(item, kind, name, where))
                elif own := minimums_of(item, kind, f"{metadata.get('namespace') or 'default'}/{name}"):
                    minimums |= own
                else:
                    skipped.append(kind)
            except InputError as problem:
                raise InputError(f"{where}: {problem}") from None
        left_out = ", ".join(dict.fromkeys(skipped))
        if len(templates) == before and not classes:
            named = f"it has {left_out}" if skipped else "it is empty"
            raise InputError(f"{path}: names nothing that is scheduled: {named}; those are {', '.join(TEMPLATES)}")
        notes += [f"{path}: left out: {left_out}"] if skipped else []
    if not templates:
        raise InputError(f"{', '.join(map(str, paths))}: names nothing that is scheduled; that is {', '.join(TEMPLATES)}")
    if (count := sum(template.size for template in templates)) > MOST_PODS:
        raise InputError(f"{count:,} pods, more than {MOST_PODS:,}, are too many to submit")
    return Submitted(tuple(templates), classes, usual, tuple(notes), minimums)


def _template(item: dict[str, Any], kind: str, name: str, where: str) -> Template:
    metadata, spec = item["metadata"], object_of(item, "spec")
    namespace = metadata.get("namespace") or "default"
    if kind == "CronJob":
        spec = object_of(object_of(spec, "jobTemplate"), "spec")
    whole, count, longest = f"{namespace}/{name}", 1, None
    if kind == "Pod":
        kept = {key: metadata[key] for key in ("namespace", "ownerReferences", "labels", "annotations") if key in metadata}
        pod = pod_of({"metadata": kept, "spec": spec}, name, 0.0)
    else:
        template = object_of(spec, "template")
        if not object_of(template, "spec"):
            raise InputError("spec, template: has no spec of a pod")
        count = _count(spec, kind)
        if kind in ("Job", "CronJob"):
            longest = whole_of(spec, "activeDeadlineSeconds")
        owner = [{"kind": kind, "name": name, "controller": True}]
        pod = pod_of({"metadata": {"namespace": namespace, "ownerReferences": owner}, "spec": template["spec"]}, name, 0.0)
        pod = pod.of_gang(*gang_of_owner(item, namespace))
        spec = template["spec"]
    if not spec.get("containers"):
        raise InputError("spec: has no containers")
    if pod.node is not None:
        raise InputError("spec, nodeName: it is on a node already, and nothing schedules it")
    if pod.held:
        raise InputError("spec, schedulingGates: it is held, and starts on no node")
    if pod.stays:
        raise InputError("metadata, ownerReferences: it belongs to its node, and nothing schedules it")
    return Template(where, kind, whole, count, pod, longest, spec.get("priority") is not None)


def _count(spec: dict[str, Any], kind: str) -> int:
    """Return the number of pods at the same time."""
    fields = ("parallelism", "completions") if kind in ("Job", "CronJob") else ("replicas",)
    counts = []
    for field in fields:
        value = whole_of(spec, field)
        if value is not None and value < 1:
            raise InputError(f"spec, {field}: {value:g}: no pod would start")
        counts.append(None if value is None else int(value))
    parallel = counts[0] or 1
    return min(parallel, counts[1] or parallel) if len(counts) > 1 else parallel


def _class_of(item: dict[str, Any]) -> PriorityClass:
    value = whole_of(item, "value")
    if value is None:
        raise InputError("value: is missing")
    return PriorityClass(int(value), item.get("preemptionPolicy") != "Never")


def _items(path: Path) -> Iterator[Any]:
    """Yield the objects of a file and of its Lists."""
    for document in _documents(path):
        if isinstance(document, dict) and str(document.get("kind")).endswith("List") and isinstance(document.get("items"), list):
            yield from document["items"]
        else:
            yield document


def _documents(path: Path) -> list[Any]:
    with reading(path):
        if (size := path.stat().st_size) > MOST_BYTES:
            raise InputError(f"{path}: {size:,} bytes, more than {MOST_BYTES:,}, are too many for manifests")
        Memory(path).reserve(PER_BYTE * size)
        text = read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        try:
            return [parse_json(text)]
        except InputError as problem:
            raise InputError(f"{path}: {problem}") from None
    import yaml

    try:
        return [document for document in yaml.load_all(text, _loader()) if document is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        first = " ".join(str(problem).split()) or "too deep"
        raise InputError(f"{path}: neither JSON nor YAML: {first}") from None


def _loader() -> Any:
    """Return a YAML loader of plain values, with times as texts."""
    import yaml

    times = "tag:yaml.org,2002:timestamp"
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers.items()
    without_times = {first: [pair for pair in pairs if pair[0] != times] for first, pairs in resolvers}
    return type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": without_times})
