"""What departures and waiting change: pods come at random times, run for as long as pods of the trace did, and leave."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import packenv
from experiments.fgd.engine import Nodes
from experiments.fgd.runs import Pods
from packenv.jobs import Jobs
from packenv.policies.gpus.fragmentation import WHOLE, Ints
from packenv.workloads.servers import Servers

Floats = NDArray[np.float64]
RESOURCES = ("cpu", "memory", "gpu")


def workload_of(nodes: Nodes, pods: Pods, of: Ints, arrival: Ints, service: Ints) -> packenv.Workload:
    """Pods whose requests are numbers `of` (n,) those of the list; when they come and how long they stay, in slots."""
    requests, largest = pods.requests, nodes.free.max(axis=0)
    bits = np.flatnonzero([(nodes.kind >> bit & 1).any() for bit in range(62)])
    names = tuple(f"kind {bit}" for bit in bits)
    most = int(nodes.devices.max())
    model = np.array([int(kind).bit_length() - 1 for kind in nodes.kind])
    servers = Servers(
        np.column_stack([nodes.free / largest, nodes.devices / most]),
        np.column_stack([nodes.devices, np.full(len(model), WHOLE), np.searchsorted(bits, model)]),
        names,
    )
    milli = requests.share * requests.count
    demand = np.column_stack([requests.demand / largest, milli / (WHOLE * most)])[of]
    share = np.where(requests.share == WHOLE, 0, requests.share)
    kinds = sum((requests.kinds >> bit & 1) << n for n, bit in enumerate(bits))
    table = Jobs.of(arrival, demand, service)
    devices = np.column_stack([requests.count, share, kinds])[of]
    jobs = Jobs(table.arrival, table.demand, table.service, devices=devices, device_kinds=names)
    return packenv.Workload(jobs=jobs, servers=servers, resources=RESOURCES)
