"""`optimal:FILE`: the policy with the shortest mean queue, from a table.

`packenv.stationary_optimum` computes it for a small workload. It sees the waiting jobs of each size, and the jobs in service on
each server. It starts jobs one after the other, the oldest of their size first. Counts above the table's largest count as that.
The files of a policy are its decisions (.safetensors) and its settings (.json), with the hash of the decisions. Reading them
executes nothing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from packenv.cluster import (
    BY_LINE,
    BY_MIX,
    BY_TYPE,
    NONE,
    Cluster,
    Needs,
    head_of_line,
    jobs_of_type,
    kind_of,
    place,
    queue_length,
    server_count,
    waiting,
)
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.files import atomic_path, write_json
from packenv.inputs.json_files import read_json
from packenv.policy import Setting, schedules
from packenv.theory.stationary_optimum.occupancies import SmallInstance, occupancies, small_types
from packenv.theory.stationary_optimum.optimum import StationaryOptimum
from packenv.workloads.workload import Workload


class ByTable(NamedTuple):
    """Parameters of the compiled rule: none. The table is in the state."""


class DecisionTable(NamedTuple):
    """Decisions, and how to find the one for the current counts."""

    decision: NDArray[np.uint8]  # (S · (most + 1)^n,) codes of starts, 0 for none
    most: NDArray[np.int64]  # (1,) counts above it are taken for it
    occupancy: NDArray[np.int64]  # (product of m over the servers,) number of an occupancy, from the servers' configurations
    configuration: NDArray[np.int64]  # (kinds, radix product) configuration of a kind's server, from its jobs; NONE: too many
    radix: NDArray[np.int64]  # (n,) one more than the most jobs of each type on a server
    mixes: NDArray[np.int64]  # (kinds,) number of configurations, m
    order: NDArray[np.int64]  # (L,) servers by kind, and scratch: those of a kind by configuration
    current: NDArray[np.int64]  # (L,) scratch: configuration of each server


class Optimal:
    """The decisions of one small workload, at any arrival rate.

    decisions   (S, most + 1, … one axis for each type): `StationaryOptimum.decisions`
    """

    def __init__(self, instance: SmallInstance, decisions: NDArray[np.uint8], name: str = "optimal") -> None:
        self.instance, self.decisions, self.name = instance, decisions, name
        self.occupancies = occupancies(instance)
        types, counts = len(instance.sizes), max(decisions.shape[1:], default=0)  # 0, 1, … the most waiting jobs told apart
        if counts < 2 or decisions.shape != (len(self.occupancies.jobs), *[counts] * types):
            raise InputError(f"{name}: a table of decisions of another shape than its servers and sizes have")
        self._check_starts()

    @property
    def rule(self) -> ByTable:
        return ByTable()

    def needs(self, setting: Setting) -> Needs:
        """Raises InputError for a workload with other sizes, services, arrivals or servers."""
        workload, table = small_types(setting.workload), self.instance
        for what, mine, its in (
            ("sizes", table.sizes, workload.sizes),
            ("shares of sizes", table.shares, workload.shares),
            ("mean service", table.mean_service, workload.mean_service),
            ("arrivals", table.poisson, workload.poisson),
            ("servers", table.capacity, workload.capacity),
        ):
            if not np.array_equal(mine, its):
                raise InputError(f"{self.name}: found for another workload than {setting.workload.name}: other {what}")
        return Needs(orders=BY_TYPE | BY_LINE | BY_MIX, types=table.sizes)

    def initial_state(self, setting: Setting, seed: int) -> DecisionTable:
        every = self.occupancies
        radix = np.max([counts.max(axis=0) for counts in every.counts], axis=0) + 1
        weight = np.cumprod([1, *radix[:-1]])
        configuration = np.full((len(every.counts), int(radix.prod())), NONE, np.int64)
        for kind, counts in enumerate(every.counts):
            configuration[kind, counts @ weight] = np.arange(len(counts))
        return DecisionTable(
            decision=self.decisions.ravel(),
            most=np.array([self.decisions.shape[-1] - 1]),
            occupancy=every.index,
            configuration=configuration,
            radix=radix.astype(np.int64),
            mixes=np.array([len(counts) for counts in every.counts]),
            order=every.servers.copy(),
            current=np.zeros(len(every.servers), np.int64),
        )

    def _check_starts(self) -> None:
        """Raise InputError if a decision starts an impossible job."""
        servers = len(self.occupancies.kind)
        for table, starts in zip(self.decisions, self.occupancies.starts, strict=True):
            allowed = np.zeros(table.shape, bool) | (table == 0)
            for start in starts:
                waiting = (*[slice(None)] * start.type, slice(1, None))
                allowed[waiting] |= table[waiting] == start.code(servers)
            if not allowed.all():
                raise InputError(f"{self.name}: a decision of the table starts a job that does not wait, or has no room")


@schedules(ByTable)
def schedule_by_table(policy: ByTable, cluster: Cluster, state: DecisionTable) -> None:
    """Start jobs by the table until it starts none."""
    servers = server_count(cluster)
    while waiting(cluster) > 0:
        code = state.decision[place_in_table(cluster, state)]
        if code == 0:
            return
        j, position = (code - 1) // servers, (code - 1) % servers
        server = state.order[position]
        place(cluster, head_of_line(cluster, kind_of(cluster, server), j), server)


@compiled
def place_in_table(cluster: Cluster, state: DecisionTable) -> int:
    """Return the decision's place. Sorts servers of one kind by configuration."""
    at = 0
    for n in range(state.order.shape[0]):
        server = state.order[n]
        state.current[server] = configuration_of(cluster, state, server)
        k = n
        while k > 0 and comes_before(cluster, state, server, state.order[k - 1]):
            state.order[k] = state.order[k - 1]
            k -= 1
        state.order[k] = server
    for n in range(state.order.shape[0]):
        server = state.order[n]
        at = at * state.mixes[kind_of(cluster, server)] + state.current[server]
    at = state.occupancy[at]
    for j in range(state.radix.shape[0]):
        length = 0
        for kind in range(state.mixes.shape[0]):  # a type that no server of a kind can hold does not wait for that kind
            length = max(length, queue_length(cluster, kind, j))
        at = at * (state.most[0] + 1) + min(length, state.most[0])
    return at


@compiled
def comes_before(cluster: Cluster, state: DecisionTable, server: int, other: int) -> bool:
    """Return whether a server is first of its kind: lower configuration, then index."""
    if kind_of(cluster, server) != kind_of(cluster, other):
        return False
    mine, its = state.current[server], state.current[other]
    return mine < its or (mine == its and server < other)


@compiled
def configuration_of(cluster: Cluster, state: DecisionTable, server: int) -> int:
    """Return the configuration of a server's jobs, or raise ValueError."""
    at, weight = 0, 1
    for j in range(state.radix.shape[0]):
        count = jobs_of_type(cluster, server, j)
        if count >= state.radix[j]:
            raise ValueError("jobs in service of other sizes than the optimal policy knows")
        at += count * weight
        weight *= state.radix[j]
    configuration = state.configuration[kind_of(cluster, server), at]
    if configuration == NONE:
        raise ValueError("jobs in service of other sizes than the optimal policy knows")
    return configuration


FORMAT = 1
WHAT = "optimal policy"


def save_optimal(path: str | Path, optimum: StationaryOptimum) -> None:
    """Write decisions and settings to the files of PATH, or nothing."""
    json_file, table_file = files_of(path)
    data = save({"decisions": optimum.decisions})
    with atomic_path(table_file) as temporary:
        Path(temporary).write_bytes(data)
    about = {
        "what": WHAT,
        "format": FORMAT,
        "workload": optimum.workload.to_dict(),
        "rate": optimum.instance.rate,
        "most": optimum.most,
        "lower": optimum.lower,
        "decisions": hashlib.sha256(data).hexdigest(),
    }
    write_json(json_file, about)


def load_optimal(path: str | Path) -> Optimal:
    """Return the policy in the files of PATH (`files_of`).

    Raises InputError if a file is missing, has another form, or does not belong to the other.
    """
    json_file, table_file = files_of(path)
    for file in (json_file, table_file):
        if not file.is_file():
            raise InputError(f"no optimal policy {str(path)!r}: {file} does not exist")
    about = read_json(json_file)
    if not isinstance(about, dict) or about.get("what") != WHAT or about.get("format") != FORMAT:
        raise InputError(f"{json_file}: not the description of an optimal policy of format {FORMAT}")
    workload = Workload.from_dict(about.get("workload"), f"{json_file}: workload")
    data = table_file.read_bytes()
    if about.get("decisions") != hashlib.sha256(data).hexdigest():
        raise InputError(f"{table_file}: not the decisions that {json_file.name} describes")
    try:
        decisions = load(data)["decisions"]
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{table_file}: not a file of decisions: {error}") from None
    if decisions.dtype != np.uint8:
        raise InputError(f"{table_file}: decisions must be bytes, not {decisions.dtype}")
    return Optimal(small_types(workload), decisions, f"optimal:{path}")


def files_of(path: str | Path) -> tuple[Path, Path]:
    """Return PATH.json and PATH.safetensors; PATH may end in either."""
    stem = str(path).removesuffix(".json").removesuffix(".safetensors")
    return Path(f"{stem}.json"), Path(f"{stem}.safetensors")


def find_optimal(text: str) -> Optimal:
    """Play decisions written by `packenv optimal-policy --out FILE`.

    They give the shortest mean queue of a small workload.
    """
    if not text:
        raise InputError("optimal needs the file of `packenv optimal-policy --out`: optimal:FILE")
    return load_optimal(text)


find_optimal.takes_text = True  # type: ignore[attr-defined]
