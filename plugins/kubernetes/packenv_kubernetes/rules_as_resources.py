"""Which pod may go on which node, told by further resources: to a scheduler that knows room alone."""

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
    """Resources that keep queued pods where they may be: names, and what nodes have, and queued and running pods take.

    One for each set of nodes that only some pods may leave: a node in it has 1, a pod takes a single unit of it. One for each
    host port on each address that several pods want: a node has 1, a pod takes 1.
    """
    rules, rule = groups_of(pod.rules for pod in queue)
    allowed, kind = np.unique(admitted(rules, traits), axis=0, return_inverse=True)
    names: list[str] = []
    nodes: list[Floats] = []
    queued: list[Floats] = []
    in_service: list[Floats] = []
    for n, mask in enumerate(allowed):
        if mask.all():
            continue
        names.append(f"one of {counted(int(mask.sum()), 'node')}")
        nodes.append(mask.astype(np.float64))
        queued.append((kind.reshape(-1)[rule] == n) / UNIT)
        in_service.append(np.zeros(len(running)))
    users: dict[tuple[int, str], list[tuple[bool, int, Port]]] = {}
    for waits, pods in ((True, queue), (False, running)):
        for n, pod in enumerate(pods):
            for port in pod.rules.ports if pod is not None else ():
                users.setdefault((port.number, port.protocol), []).append((waits, n, port))
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
                names.append(f"host port {takers[0][2]}")
                nodes.append(np.ones(len(traits)))
                queued.append(columns[0])
                in_service.append(columns[1])

    def table(columns: list[Floats], size: int) -> Floats:
        return np.ascontiguousarray(np.array(columns, np.float64).reshape(len(columns), size).T)

    return names, table(nodes, len(traits)), table(queued, len(queue)), table(in_service, len(running))
