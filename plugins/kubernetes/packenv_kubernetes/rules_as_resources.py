"""Rules for pods on nodes as additional resources.

A scheduler of room alone then obeys them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packenv.extend import UNIT
from packenv_kubernetes.filters import Port, Traits, admitted, groups_of
from packenv_kubernetes.objects import Pod
from packenv_kubernetes.texts import counted

Floats = NDArray[np.float64]


def as_resources(
    queue: Sequence[Pod], running: Sequence[Pod | None], traits: Sequence[Traits]
) -> tuple[list[str], Floats, Floats, Floats]:
    """Return resources that keep queued pods on allowed nodes.

    Returns names, and amounts of nodes, queued and running pods. Each set of nodes for some pods is a resource: nodes in it have
    1, a pod takes one unit. Each wanted host port and address is one too: nodes have 1, a pod takes 1.
    """
    rules, rule = groups_of(pod.rules for pod in queue)
    allowed, kind = np.unique(admitted(rules, traits), axis=0, return_inverse=True)
    names: list[str] = []
    nodes: list[Floats] = []
    queued: list[Floats] = []
    in_service: list[Floats] = []
    # Sets of nodes.
    for n, mask in enumerate(allowed):
        if mask.all():
            continue
        names.append(f".one of {counted(int(mask.sum()), 'node')}")
        nodes.append(mask.astype(np.float64))
        queued.append((kind.reshape(-1)[rule] == n) / UNIT)
        in_service.append(np.zeros(len(running)))
    users: dict[tuple[int, str], list[tuple[bool, int, Port]]] = {}
    for waits, pods in ((True, queue), (False, running)):
        for n, pod in enumerate(pods):
            for port in pod.rules.ports if pod is not None else ():
                users.setdefault((port.number, port.protocol), []).append((waits, n, port))
    # Host ports that several pods want.
    distinct: set[bytes] = set()
    for takers in users.values():
        if len(takers) < 2 or not any(waits for waits, _, _ in takers):
            continue
        for address in {port.address for _, _, port in takers if port.address} or {""}:
            held = [(waits, n) for waits, n, port in takers if port.address in ("", address)]
            columns = np.zeros(len(queue)), np.zeros(len(running))
            for waits, n in held:
                columns[0 if waits else 1][n] = 1.0
            if (key := np.concatenate(columns).tobytes()) not in distinct and len(held) > 1:
                distinct.add(key)
                names.append(f".host port {takers[0][2]}")
                nodes.append(np.ones(len(traits)))
                queued.append(columns[0])
                in_service.append(columns[1])

    def table(columns: list[Floats], size: int) -> Floats:
        return np.ascontiguousarray(np.array(columns, np.float64).reshape(len(columns), size).T)

    return names, table(nodes, len(traits)), table(queued, len(queue)), table(in_service, len(running))
