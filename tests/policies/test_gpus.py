"""Fragmentation by hand for each of seven reasons; over time, and all scores and rules for ties, against the slow reference."""

from __future__ import annotations

import numpy as np
import pytest

import packenv
from experiments.fgd.departures import workload_of
from experiments.fgd.engine import Nodes, play
from experiments.fgd.runs import Pods
from packenv.content.charts import LineChart
from packenv.errors import InputError
from packenv.policies.gpus.fragmentation import (
    REASONS,
    Ints,
    TaskShapes,
    add_by_reason,
    fragmentation,
    fragmentation_over_time,
    frequent_shapes,
)
from packenv.policies.gpus.policies import DotProduct, Fgd, GpuBestFit, GpuClustering, GpuPacking
from packenv.policies.gpus.ranking import GpuRequests, ranking
from packenv.policies.gpus.scores import SCORES, TIES
from tests.reference import gpus as slow
from tests.reference.gpus import Node, Pod

A, B = 1, 2  # kinds of devices, as bits


def shapes_of(*rows: tuple[int, int, int, int, int]) -> TaskShapes:
    """(cpu, milli, devices, kinds, tasks) of each."""
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    cpu, share, count, kinds, weight = columns
    return TaskShapes(cpu=cpu, share=share, count=count, kinds=kinds, weight=weight, total=int(weight.sum()))


def by_reason(shapes: TaskShapes, cpu: int, left: list[int], kind: int = A) -> dict[str, int]:
    amounts = np.zeros(len(REASONS), np.int64)
    row = np.array(left, np.int64)
    add_by_reason(shapes, cpu, row, len(left), kind, 1, amounts)
    assert fragmentation(shapes, cpu, row, len(left), kind, 1.0) == amounts.sum()
    less = 0.9 * amounts[REASONS.index("satisfied")]
    assert fragmentation(shapes, cpu, row, len(left), kind, 0.1) == pytest.approx(amounts.sum() - less)
    return {name: int(amount) for name, amount in zip(REASONS, amounts, strict=True) if amount}


@pytest.mark.parametrize(
    ("shape", "reason", "amount"),
    [
        ((9, 700, 1, A, 1), "lacks cpu and GPU", 900),
        ((8, 700, 1, A, 1), "lacks GPU", 900),
        ((8, 1000, 2, A, 1), "lacks GPU", 900),
        ((9, 300, 1, A, 1), "lacks cpu", 900),
        ((8, 500, 1, A, 1), "satisfied", 300),  # of 600 and 300 that are left the 300 are too little
        ((8, 300, 1, A | B, 1), "satisfied", 0),
        ((8, 300, 1, B, 1), "kind not accepted", 900),
        ((9, 700, 1, B, 1), "kind not accepted", 900),  # before anything else
        ((8, 0, 0, A | B, 1), "no GPU needed, satisfied", 900),
        ((9, 0, 0, A | B, 1), "no GPU needed, lacks cpu", 900),
    ],
)
def test_each_reason(shape: tuple[int, int, int, int, int], reason: str, amount: int) -> None:
    """Eight cores are left, and 0, 600 and 300 milli of three devices."""
    assert by_reason(shapes_of(shape), 8, [0, 600, 300]) == ({reason: amount} if amount else {})


def test_fragmentation_is_weighted_by_the_tasks_that_have_a_shape() -> None:
    shapes = shapes_of((8, 500, 1, A, 3), (9, 0, 0, A, 2))
    assert by_reason(shapes, 8, [1000, 400]) == {"satisfied": 3 * 400, "no GPU needed, lacks cpu": 2 * 1400}
    assert by_reason(shapes, 8, [0, 0]) == {}


def test_frequent_shapes_cover_a_share_of_the_tasks() -> None:
    cpu = np.array([4] * 6 + [2] * 3 + [8] * 3 + [1])
    ones, kinds = np.ones(13, np.int64), np.full(13, A)
    shapes = frequent_shapes(cpu, 1000 * ones, ones, kinds, covered=0.9)
    assert shapes.cpu.tolist() == [4, 8, 2]  # of 3 and 3 the larger first; 12 of 13 are more than nine tenths
    assert shapes.weight.tolist() == [6, 3, 3] and shapes.total == 12
    assert frequent_shapes(cpu, 1000 * ones, ones, kinds, covered=0.5).cpu.tolist() == [4, 8]


def random_case(seed: int) -> tuple[list[Node], list[Pod]]:
    rng = np.random.default_rng(seed)
    drawn = rng.choice([16, 32, 64], 12), rng.choice([1, 2, 4], 12), rng.choice(["A", "B"], 12)
    nodes = [Node(int(cpu), 64, [1000] * int(devices), str(kind)) for cpu, devices, kind in zip(*drawn, strict=True)]
    types = [
        Pod(4, 8, 1000, 1, frozenset("AB")),
        Pod(2, 4, 600, 1, frozenset("AB")),
        Pod(1, 2, 250, 1, frozenset("A")),
        Pod(8, 16, 1000, 2, frozenset("AB")),
        Pod(6, 30, 0, 0, frozenset("AB")),
        Pod(3, 2, 400, 1, frozenset("B")),
        Pod(8, 8, 1000, 4, frozenset("AB")),
    ]
    return nodes, [types[n] for n in rng.choice(len(types), 70, p=[0.25, 0.2, 0.15, 0.1, 0.1, 0.15, 0.05])]


def bits(kinds: frozenset[str]) -> int:
    return sum({"A": A, "B": B}[kind] for kind in kinds)


def in_arrays(nodes: list[Node], pods: list[Pod]) -> tuple[Nodes, GpuRequests, Ints, TaskShapes]:
    rows = np.array([(p.cpu, p.memory, p.milli, p.count, bits(p.kinds)) for p in pods])
    distinct, of = np.unique(rows, axis=0, return_inverse=True)
    demand, (share, count, kinds) = np.ascontiguousarray(distinct[:, :2]), [c.copy() for c in distinct[:, 2:].T]
    cluster = Nodes(
        np.array([(n.cpu, n.memory) for n in nodes]),
        np.array([len(n.left) for n in nodes]),
        np.array([bits(frozenset(n.kind)) for n in nodes]),
    )
    shapes = frequent_shapes(rows[:, 0], *rows[:, 2:].T)
    return cluster, GpuRequests(demand=demand, share=share, count=count, kinds=kinds), of.ravel(), shapes


def weighed_pods(shapes: TaskShapes) -> slow.Shapes:
    columns = shapes.cpu, shapes.share, shapes.count, shapes.kinds, shapes.weight
    return [
        (Pod(cpu, 0, share, count, frozenset(k for k in "AB" if bits(frozenset(k)) & kinds)), weight)
        for cpu, share, count, kinds, weight in zip(*(column.tolist() for column in columns), strict=True)
    ]


BOTH = [(policy, ties, 1.0) for policy in SCORES[:-1] for ties in TIES if ties != "random"]


@pytest.mark.parametrize(("policy", "ties", "beside"), [*BOTH, ("fgd", "exact", 0.125)])
def test_placements_are_those_of_the_slow_reference(policy: str, ties: str, beside: float) -> None:
    for seed in range(4):
        nodes, pods = random_case(seed)
        cluster, requests, of, shapes = in_arrays(nodes, pods)
        rule = SCORES.index(policy), TIES.index(ties)
        order = ranking(*rule, requests, shapes, cluster.free, 0, cluster.devices, cluster.kind, seed).order.tolist()
        assert ties == "file" or order != sorted(order)
        run = play(cluster, requests, shapes, of, *rule, seed, beside)
        weighed = weighed_pods(shapes)
        assert run.node.tolist() == slow.run(nodes, pods, weighed, policy, ties, order, beside)
        assert -1 in run.node.tolist()
        assert run.fragmented[-1].sum() * shapes.total == pytest.approx(sum(slow.fragmentation(n, weighed) for n in nodes))
        assert run.allocated[-1] == sum(pod.needs for pod, at in zip(pods, run.node, strict=True) if at >= 0)


POLICIES = {
    "fgd": Fgd,
    "best-fit": GpuBestFit,
    "dot-product": DotProduct,
    "gpu-packing": GpuPacking,
    "gpu-clustering": GpuClustering,
}


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("policy", POLICIES)
def test_policies_place_as_the_small_engine_does(policy: str, ties: str) -> None:
    """One pod a slot, and none leaves: who fits nowhere now never will."""
    for seed in range(2):
        nodes, pods = random_case(seed)
        cluster, requests, of, shapes = in_arrays(nodes, pods)
        run = play(cluster, requests, shapes, of, SCORES.index(policy), TIES.index(ties), seed)
        n = len(of)
        workload = workload_of(cluster, Pods(requests, of, shapes), of, np.arange(n), np.full(n, 10 * n))
        schedule = packenv.simulate(workload, POLICIES[policy](ties), slots=n, seed=seed, schedule=True).schedule
        assert schedule is not None
        assert np.where(schedule.start >= 0, schedule.server, -1).tolist() == run.node.tolist()


@pytest.mark.parametrize(("policy", "ties"), [("random", "order"), ("fgd", "random"), ("best-fit", "random")])
def test_a_new_choice_each_time_takes_any_of_the_best(policy: str, ties: str) -> None:
    """Four empty servers that are alike, and a share for one device of one: over the seeds each is taken, and each device."""
    share = Pod(1, 1, 500, 1, frozenset("A"))
    cluster, requests, of, shapes = in_arrays([Node(8, 8, [1000, 1000], "A") for _ in range(4)], [share])
    nodes = [int(play(cluster, requests, shapes, of, SCORES.index(policy), TIES.index(ties), seed).node[0]) for seed in range(60)]
    assert set(nodes) == {0, 1, 2, 3}


def leaving_pods(seed: int) -> tuple[list[Node], list[Pod], packenv.Workload, TaskShapes]:
    """A random case whose pods come within 60 slots and leave after up to 40."""
    nodes, pods = random_case(seed)
    cluster, requests, of, shapes = in_arrays(nodes, pods)
    rng = np.random.default_rng(seed)
    arrival, service = np.sort(rng.integers(0, 60, len(of))), rng.integers(1, 40, len(of))
    return nodes, pods, workload_of(cluster, Pods(requests, of, shapes), of, arrival, service), shapes


@pytest.mark.parametrize("policy", ["fgd", "bf-js"])
def test_fragmentation_over_time_is_that_of_the_slow_reference_in_every_slot(policy: str) -> None:
    for seed in range(2):
        nodes, pods, workload, shapes = leaving_pods(seed)
        result = packenv.simulate(workload, policy, slots=80, seed=seed, schedule=True)  # some are still in service then
        schedule = result.schedule
        assert schedule is not None and schedule.devices is not None
        over_time = fragmentation_over_time(result, workload)
        assert over_time.slot[0] == 0 and over_time.slot[-1] == 80 and (np.diff(over_time.slot) > 0).all()
        weighed, total = weighed_pods(shapes), 1000 * shapes.total * sum(len(node.left) for node in nodes)
        for slot in range(80):
            found = dict.fromkeys(REASONS, 0.0)
            for s, node in enumerate(nodes):
                here = np.flatnonzero((schedule.server == s) & (schedule.start <= slot) & (slot < schedule.end)).tolist()
                left = [
                    1000 - sum(pods[row].milli for row in here if schedule.devices[row] >> d & 1) for d in range(len(node.left))
                ]
                now = Node(node.cpu - sum(pods[row].cpu for row in here), 0, left, node.kind)
                for shape, number in weighed:
                    found[slow.reason(now, shape)] += number * slow.stranded(now, shape) / total
            at = np.searchsorted(over_time.slot, slot, "right") - 1
            assert over_time.shares[at].tolist() == pytest.approx([*found.values()], abs=1e-12)
        assert (over_time.shares.max(axis=0) > 0).sum() >= 6


def test_fragmentation_is_shown_and_framed() -> None:
    _, _, workload, _ = leaving_pods(0)
    result = packenv.simulate(workload, "fgd", schedule=True)
    over_time = fragmentation_over_time(result, workload)
    frame = result.to_frame("fragmentation")
    assert frame.column_names == ["slot", *REASONS] and frame["lacks cpu"].to_pylist() == over_time.shares[:, 2].tolist()
    comparison = packenv.evaluate(workload, ["fgd", "bf-js"], seeds=1, schedule=True)
    headings = [figure.heading for figure in comparison.charts().figures]
    assert headings[-2:] == ["Fragmentation: fgd", "Fragmentation: bf-js"]
    chart = comparison.charts("fragmentation").figures[0].chart
    assert isinstance(chart, LineChart) and [line.label for line in chart.lines] == [
        name for name, share in zip(REASONS, over_time.shares.T, strict=True) if share.any()
    ]
    area = np.diff(over_time.slot) @ over_time.shares.sum(axis=1) / result.slots
    assert np.mean(chart.lines[-1].y[:-1]) == pytest.approx(area)  # the top of all layers
    legends = [part.legends for part in comparison.plot().subfigs]
    assert [len(legend) for legend in legends] == [0, 0, 1]  # one for both charts, which stand side by side
    assert any(figure.heading == "Fragmentation: fgd" for section in comparison.page().sections for figure in section.figures)

    without = packenv.simulate(workload, "fgd")
    assert not any("Fragmentation" in figure.heading for figure in without.charts().figures)
    with pytest.raises(InputError, match="the run of fgd has no schedule: simulate with schedule=True"):
        without.plot("fragmentation")
    plain = packenv.simulate("paper/fig4b", "bf-js", slots=100, schedule=True)
    with pytest.raises(InputError, match=r"paper/fig4b: fragmentation is of servers that begin empty, with devices"):
        plain.to_frame("fragmentation")
