"""`gpu/openb-like`: pods that fit, and the statistics of the cluster that they are drawn after."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import packenv
from packenv.jobs import NUMBER, SHARE
from packenv.workloads.demand import fitting
from packenv.workloads.named.gpus import ACCEPTED, SHAPES, openb_like
from packenv.workloads.traces.columns import Columns

PODS = Path(os.environ.get("PACKENV_ORACLES", "")) / "fgd" / "openb_pod_list_default.csv.gz"


def test_every_shape_fits_a_node_of_every_kind_that_may_be_named() -> None:
    workload = openb_like(10_000, kinds=True)
    table = workload.jobs
    assert table is not None and table.devices is not None
    one_of_each = np.unique(np.column_stack([table.demand, table.devices[:, :2]]), axis=0)
    assert len(one_of_each) == len(SHAPES)
    kinds = {name: sum(1 << table.device_kinds.index(kind) for kind in name.split("|")) for name in ACCEPTED}
    pairs = [(row, bits) for row, bits in product(one_of_each, [0, *kinds.values()]) if bits == 0 or row[3] == 1]
    every = replace(
        table.first(len(pairs)),
        demand=np.array([row[:3] for row, _ in pairs]),
        devices=np.array([(*row[3:], bits) for row, bits in pairs]),
    )
    assert fitting(every, workload.servers).all()


def test_longer_tables_begin_with_the_same_pods() -> None:
    workload = openb_like(500, 0.7, True)
    assert workload.draw is not None and workload.intensity == pytest.approx(0.7, abs=0.005)
    short, long = workload.draw(3), workload.draw.longer(4)(3)  # type: ignore[attr-defined]
    assert len(long) == 2_000 and long.devices is not None and short.devices is not None
    for name in ("demand", "service", "devices"):
        assert (getattr(long, name)[:500] == getattr(short, name)).all()
    assert packenv.simulate(workload, "fgd", seed=3).started > 400


@pytest.mark.skipif(not PODS.exists(), reason="PACKENV_ORACLES is unset: results of others")
def test_as_in_the_trace() -> None:
    """Pods by class, and what they ask of GPUs and cores, within a twentieth; how long they run, cut at a day, within a tenth."""
    trace, table = Columns.read(PODS), openb_like(40_000).jobs
    assert table is not None and table.devices is not None
    number, milli = trace.whole("num_gpu"), trace.whole("gpu_milli")
    share = (number == 1) & (milli < 1000)
    ran = np.minimum(np.maximum(trace.whole("deletion_time", 0) - trace.whole("scheduled_time", 2**62), 0), 86_400)
    drawn, part = table.devices[:, NUMBER], table.devices[:, SHARE]
    for theirs, ours in ((share, part > 0), ((number == 1) & ~share, (drawn == 1) & (part == 0)), (number == 0, drawn == 0)):
        assert ours.mean() == pytest.approx(theirs.mean(), rel=0.05)
        assert table.service[ours].mean() == pytest.approx(ran[theirs & (ran > 0)].mean(), rel=0.1)
    assert table.amounts[:, 0].mean() == pytest.approx(trace.whole("cpu_milli").mean() / 1000, rel=0.05)
    assert table.amounts[:, 2].mean() == pytest.approx((number * milli).mean() / 1000, rel=0.05)
