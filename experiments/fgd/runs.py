"""The lists of pods and nodes, the published means, and the runs: one for each list, policy, rule for ties and seed."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.fgd.bound import Program
from experiments.fgd.engine import Nodes, Run, play
from packenv.errors import InputError
from packenv.policies.gpus.fragmentation import WHOLE, Ints, TaskShapes, frequent_shapes
from packenv.policies.gpus.ranking import GpuRequests
from packenv.policies.gpus.scores import SCORES, TIES
from packenv.runs.progress import progress_bar
from packenv.runs.runner import RunOptions
from packenv.workloads.traces.columns import Columns

Floats = NDArray[np.float64]

NODES, PODS = "openb_node_list_gpu_node.csv", "openb_pod_list_"
ALLOCATION, FRAGMENTATION = "allocation.csv", "fragmentation.csv"
DEMANDS = (50, 60, 70, 80, 90, 95, 100, 110, 120, 130)  # % of all devices that have arrived
BOUNDED = (100, 110, 130)
MOST = 1.3
NEVER = 2**62  # seconds: when pods started that never did
PUBLISHED = {
    "FGD": "fgd",
    "BestFit": "best-fit",
    "DotProd": "dot-product",
    "GpuPacking": "gpu-packing",
    "GpuClustering": "gpu-clustering",
    "Random": "random",
}
"""What the published tables call the policies."""

RULES = [(policy, ties) for policy in SCORES for ties in TIES if policy != "random" or ties == TIES[0]]
"""A policy and how it breaks ties; at random nothing but ties are broken."""

BESIDE = "fgd:beside="
WEIGHTS = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.0)
WEIGHED = [(f"{BESIDE}{weight:g}", "exact") for weight in WEIGHTS]
"""FGD by its exact scores, with less weight on idle parts of satisfied shapes."""


class Pods(NamedTuple):
    """A list of n pods: what they ask for, which of these each does, and the shapes of which F is taken."""

    requests: GpuRequests
    of: Ints  # (n,)
    shapes: TaskShapes
    ran: Ints = np.zeros(0, np.int64)  # (n,) seconds that each ran; 0 if it never did; (0,) if the list does not say


class Study(NamedTuple):
    """What a folder has."""

    nodes: Nodes
    lists: dict[str, Pods]  # by workload
    published: dict[tuple[str, str, int], tuple[float, float | None]]
    """Allocation and fragmentation in % of all devices, by workload, policy and demand."""
    deviation: dict[tuple[str, str], float]  # of the allocation at 130 % over ten seeds, by workload and policy


class Means(NamedTuple):
    """Of a run, at each of DEMANDS: in % of all devices."""

    allocated: Floats  # (10,)
    fragmented: Floats  # (10, 7) by reason


Case = tuple[str, str, str, int]
"""A workload, a policy, a rule for ties, and a seed."""


def read_study(folder: Path) -> Study:
    """The lists of a folder, and the published means where they lie beside them. Raises InputError."""
    paths = sorted(path for path in folder.iterdir() if path.name.startswith(PODS) and path.name.endswith((".csv", ".csv.gz")))
    nodes_path = next((folder / name for name in (NODES, f"{NODES}.gz") if (folder / name).exists()), None)
    if not paths or nodes_path is None:
        raise InputError(f"fgd: {folder} needs {NODES} and lists of pods ({PODS}*.csv), with or without .gz")
    table = Columns.read(nodes_path)
    names = table.column("model").to_pylist()
    bits = {name: 1 << n for n, name in enumerate(sorted({name for name in names if name}))}
    nodes = Nodes(
        free=np.column_stack([table.whole("cpu_milli"), table.whole("memory_mib")]),
        devices=table.whole("gpu"),
        kind=np.array([bits.get(name, 0) for name in names], np.int64),
    )
    lists = {path.name.removeprefix(PODS).partition(".csv")[0]: read_pods(path, bits) for path in paths}
    published, deviation = read_published(folder)
    return Study(nodes, lists, published, deviation)


def read_pods(path: Path, bits: dict[str, int]) -> Pods:
    """A list of pods; `bits`: of the kinds of devices that the nodes have. Raises InputError."""
    table = Columns.read(path)
    share, count = table.whole("gpu_milli"), table.whole("num_gpu")
    table.require((count >= 0) & (share >= 0), "num_gpu", "is negative, or its gpu_milli")
    table.require((share == WHOLE) | ((share < WHOLE) & (count <= 1)), "gpu_milli", "{} milli of several GPUs, or above 1000")
    kinds = np.full(len(table), sum(bits.values()), np.int64)
    if "gpu_spec" in table:
        for row, spec in enumerate(table.column("gpu_spec").to_pylist()):
            if spec:
                kinds[row] = sum({bits.get(name, 0) for name in spec.split("|")})
    share = share * (count > 0)
    columns = np.column_stack([table.whole("cpu_milli"), table.whole("memory_mib"), share, count, kinds])
    distinct, of = np.unique(columns, axis=0, return_inverse=True)
    demand, rest = np.ascontiguousarray(distinct[:, :2]), [np.ascontiguousarray(column) for column in distinct[:, 2:].T]
    requests = GpuRequests(demand=demand, share=rest[0], count=rest[1], kinds=rest[2])
    ran = np.zeros(0, np.int64)
    if {"scheduled_time", "deletion_time"} <= set(table.names):
        ran = np.maximum(table.whole("deletion_time", 0) - table.whole("scheduled_time", NEVER), 0)
    return Pods(requests, of.ravel().astype(np.int64), frequent_shapes(columns[:, 0], share, count, kinds), ran)


def read_published(folder: Path) -> tuple[dict[tuple[str, str, int], tuple[float, float | None]], dict[tuple[str, str], float]]:
    published: dict[tuple[str, str, int], tuple[float, float | None]] = {}
    deviation: dict[tuple[str, str], float] = {}
    fragmented = {(r["workload"], r["policy"]): r for r in _rows(folder / FRAGMENTATION) if r["measure"] == "of_all"}
    for row in _rows(folder / ALLOCATION):
        workload, name = row["workload"], row["policy"]
        deviation[workload, PUBLISHED[name]] = float(row["sd_at_130"])
        for demand in DEMANDS:
            allocated, other = row.get(f"at_{demand}"), fragmented.get((workload, name), {}).get(str(demand))
            if allocated or other:
                both = float(allocated) if allocated else np.nan, float(other) if other else None
                published[workload, PUBLISHED[name], demand] = both
    return published, deviation


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def arrivals(pods: Pods, nodes: Nodes, rng: np.random.Generator) -> Ints:
    """The list in random order, tuned to MOST of the devices: random pods are taken out, or drawn again at its end."""
    milli = pods.requests.share * pods.requests.count
    most = MOST * nodes.capacity
    order = rng.permutation(pods.of)
    total = int(milli[order].sum())
    if total > most:
        gone = rng.permutation(len(order))
        left_out = 1 + int(np.searchsorted(np.cumsum(milli[order[gone]]), total - most))
        return np.delete(order, gone[:left_out])
    more: list[int] = []
    while True:
        pod = int(pods.of[rng.integers(len(pods.of))])
        if total + pods.requests.share[pod] > most:  # of one of its devices, as published
            return np.concatenate([order, np.array(more, np.int64)])
        total += int(milli[pod])
        more.append(pod)


def run_case(study: Study, case: Case) -> Means:
    """The same list for all policies and rules of a seed."""
    workload, policy, ties, seed = case
    pods = study.lists[workload]
    order = arrivals(pods, study.nodes, np.random.default_rng([seed, 0]))
    name, _, beside = policy.partition(":beside=")
    run = play(study.nodes, pods.requests, pods.shapes, order, SCORES.index(name), TIES.index(ties), seed, float(beside or 1))
    return means_of(run, study.nodes.capacity)


def means_of(run: Run, capacity: int) -> Means:
    """Over all pods after which the demand is rounded to each of DEMANDS or, where there are none, to what came before it."""
    at = np.rint(100 * run.arrived / capacity).astype(int)
    before = [at[max(0, int(np.searchsorted(at, demand, "right")) - 1)] for demand in DEMANDS]
    allocated = [100 * run.allocated[at == last].mean() / capacity for last in before]
    fragmented = [100 * run.fragmented[at == last].mean(axis=0) / capacity for last in before]
    return Means(np.array(allocated), np.array(fragmented))


def run_all(study: Study, rules: Sequence[tuple[str, str]], seeds: int, options: RunOptions) -> dict[Case, Means]:
    cases = [(workload, *rule, seed) for workload, rule, seed in product(study.lists, rules, range(seeds))]
    found: dict[Case, Means] = {cases[0]: run_case(study, cases[0])}  # compiled here, before several processes need it
    with options.runner(most=len(cases)) as runner, progress_bar(lambda: "fgd", len(cases), lambda: len(found)):
        for outcome in runner.pieces.each(partial(run_case, study), cases[1:], kind=lambda case: case[:2]):
            if outcome.error is not None:
                raise outcome.error
            found[cases[1:][outcome.number]] = outcome.value
    return found


def bounds(study: Study) -> dict[tuple[str, int], float]:
    """What any policy could have allocated in % of all devices, by workload and demand."""
    most: dict[tuple[str, int], float] = {}
    for workload, pods in study.lists.items():
        program = Program(study.nodes, pods.requests)
        number = np.bincount(pods.of, minlength=len(pods.requests.share)).astype(np.float64)
        milli = float(number @ (pods.requests.share * pods.requests.count))
        for demand in BOUNDED:
            arrived = number * demand / 100 * study.nodes.capacity / milli
            most[workload, demand] = 100 * program.most(arrived) / study.nodes.capacity
    return most
