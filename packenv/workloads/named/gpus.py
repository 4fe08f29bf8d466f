"""Pods for shares of GPUs or whole GPUs (PAPERS §7).

They resemble Alibaba's cluster of 2023. The nodes are a tenth of its nodes with GPUs. Requests come from a table of 32 shapes,
run times from quantiles by class of pods: statistics of the 8,152 pods of its list (openb_pod_list_default; gpuspec33 for the
kinds), none of its rows. Times in the cluster are cut at a day. Longer pods, up to 145 days, were 1.2 % of the pods and 91 % of
the work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import GPU, MILLI, Jobs
from packenv.workloads.servers import as_servers
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]

RESOURCES = ("cpu", "memory", GPU)  # cores, GiB, devices
NODES = (
    "55x96:384:8@G2,39x104:512:2@T4,2x96:384:4@T4,11x16:120:2@P100,2x64:256:2@P100,4x128:768:8@G3,"
    "2x96:768:8@V100M32,1x48:368:4@V100M32,1x64:256:8@V100M16,3x32:128:4@V100M16,2x8:32:1@V100M16"
)
GPUS = 626

SHAPES = np.array(
    [  # cores, GiB, milli of one device (1000: whole ones), devices, pods of 1,000
        (3.1, 5.5, 810, 1, 129), (11.9, 46, 470, 1, 48), (8, 30, 470, 1, 44), (11.9, 46, 650, 1, 29), (4, 19, 320, 1, 24),
        (4, 30, 230, 1, 20), (4, 30, 320, 1, 14), (3.6, 8, 570, 1, 22), (6, 9, 460, 1, 15), (8, 30, 320, 1, 13),
        (4, 15, 160, 1, 11), (4.1, 10, 370, 1, 9), (11.3, 48, 1000, 1, 176), (3.1, 5.5, 1000, 1, 60), (18.7, 63, 1000, 1, 36),
        (9.8, 41, 1000, 1, 28), (12, 24, 1000, 1, 32), (15.7, 57, 1000, 1, 30), (11.9, 46, 1000, 1, 19), (8, 16, 1000, 1, 25),
        (16, 32, 1000, 1, 16), (4, 24, 1000, 1, 24), (24.2, 91, 1000, 1, 17), (11.6, 76, 1000, 1, 17), (16.2, 65, 1000, 2, 2),
        (32.2, 129, 1000, 4, 2), (64.2, 257, 1000, 8, 3), (88, 320, 1000, 8, 2), (12.5, 56, 0, 0, 45), (32, 48, 0, 0, 36),
        (8, 30, 0, 0, 22), (15.9, 50, 0, 0, 30),
    ]
)  # fmt: skip

BELOW = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
SECONDS = {  # that pods run: the quantiles at BELOW, between which the logarithm is linear
    "a share": (10, 35, 55, 144, 539, 1_858, 9_218, 20_255, 76_501, 86_400),
    "one device": (10, 55, 80, 208, 757, 2_460, 6_025, 13_232, 86_400, 86_400),
    "several": (22, 93, 117, 245, 542, 11_269, 45_077, 83_761, 86_400, 86_400),
    "none": (20, 94, 141, 151, 494, 1_947, 13_206, 19_824, 28_364, 86_400),
}

ACCEPTED = {  # kinds that the pods name which name any, and how often
    "T4": 0.55, "G2": 0.14, "P100": 0.12, "V100M16|V100M32": 0.06, "P100|V100M16|V100M32": 0.05, "G3": 0.04,
    "G2|P100|T4|V100M16|V100M32": 0.03, "V100M32": 0.01,
}  # fmt: skip
NAME_KINDS = 0.34  # of the pods with a share or one device

SHAPE, RUN, GAP, KIND = range(4)  # columns of random numbers


@dataclass(frozen=True)
class Pods:
    """Function from a seed to pods with Poisson arrivals.

    intensity  GPU work of the pods, over the capacity of the GPUs while they arrive
    kinds      whether some pods name the kinds of GPUs that they accept
    """

    jobs: int
    intensity: float
    kinds: bool = False

    def __call__(self, seed: int) -> Jobs:
        def uniform(column: int) -> Floats:
            return np.random.Generator(np.random.Philox(key=[seed, column])).random(self.jobs)

        # Requests: one of the shapes.
        weight = np.cumsum(SHAPES[:, -1])
        of = np.searchsorted(weight / weight[-1], uniform(SHAPE), side="right")
        cpu, memory, milli, number = SHAPES[of, :-1].T
        # Run times by class of pods.
        run, u = np.zeros(self.jobs), uniform(RUN)
        share = (milli > 0) & (milli < MILLI)
        for name, pods in (
            ("a share", share),
            ("one device", (number == 1) & ~share),
            ("several", number > 1),
            ("none", number == 0),
        ):
            run[pods] = np.exp(np.interp(u[pods], BELOW, np.log(SECONDS[name])))
        run = np.maximum(np.rint(run), 1)
        # Arrivals, scaled to the intensity.
        amount = milli * number / MILLI
        arrival = np.cumsum(-np.log1p(-uniform(GAP)))
        arrival = np.floor((arrival - arrival[0]) * float(amount @ run) / (GPUS * self.intensity * arrival[-1]))
        # Accepted kinds as bits.
        names = [*dict.fromkeys(kind for kinds in ACCEPTED for kind in kinds.split("|"))]
        bits = np.array([sum(1 << names.index(kind) for kind in kinds.split("|")) for kinds in ACCEPTED])
        u = uniform(KIND) / NAME_KINDS
        named = np.minimum(np.searchsorted(np.cumsum([*ACCEPTED.values()]), u, side="right"), len(bits) - 1)
        accepted = np.where(self.kinds & (number == 1) & (u < 1), bits[named], 0)
        devices = np.column_stack([number, np.where(share, milli, 0), accepted]).astype(np.int64)
        table = Jobs.of(arrival, np.column_stack([cpu, memory, amount]), run)
        return replace(table, devices=devices, device_kinds=tuple(names))

    def longer(self, times: int) -> Pods:
        """Return the function with `times` the pods."""
        return replace(self, jobs=times * self.jobs)


def openb_like(jobs: int = 40_000, intensity: float = 0.9, kinds: bool = False) -> Workload:
    """Return pods on 122 nodes with 626 GPUs of six kinds.

    With `kinds` a third of the pods accept only some. Raises InputError for no pod, or no intensity.
    """
    if jobs < 1 or intensity <= 0:
        raise InputError("gpu/openb-like: needs a pod and an intensity above 0")
    draw = Pods(jobs, intensity, kinds)
    servers = as_servers(NODES).with_devices_of(RESOURCES.index(GPU), 1)
    return Workload(jobs=draw, servers=servers, resources=RESOURCES, slot_seconds=1.0, name="gpu/openb-like")
