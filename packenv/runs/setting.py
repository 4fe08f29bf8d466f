"""From the command line's words to policies, and to a Workload: a name, a file, a trace, or laws spelled out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packenv.errors import InputError, RowError
from packenv.jobs import Jobs
from packenv.policy import find_policy
from packenv.workloads.laws import Joint, parse_law
from packenv.workloads.named.blocks import Placed
from packenv.workloads.named.registry import workload
from packenv.workloads.network import Network, parse_network
from packenv.workloads.servers import Servers, as_servers
from packenv.workloads.workload import INTENSITIES, Workload

if TYPE_CHECKING:
    from packenv.workloads.traces.table import Sizes, Wanted

SLOT_SECONDS_HELP = "Length of a slot of a trace, an exact decimal  [default: 0.0005 for job lines (.tr), 0.1 otherwise]."
RESOURCES_HELP = "Of tasks with several demands: `max`, the largest as the size; `all`; names: cpu,memory; or max:cpu,memory."
DEFAULT_POLICIES = ("bf-js", "vqs", "vqs-bf", "fifo-ff")


def chosen_policies(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those named, each once, or the usual ones; InputError for one that is not known, before anything is read or run."""
    chosen = tuple(dict.fromkeys(names or DEFAULT_POLICIES))
    for name in chosen:
        find_policy(name)
    return chosen


@dataclass(frozen=True)
class Words:
    """The options that say what the workload is; None where one was not given."""

    source: str | None
    servers: str | None = None
    sizes: str | None = None
    service: str | None = None
    load: float | None = None
    intensity: float | None = None
    rate: float | None = None
    resources: str = "max"
    slot_seconds: str | None = None  # None: what is usual for the trace's form
    speedup: str = "1"
    racks: int | None = None
    network: str | None = None


def understand(words: Words) -> tuple[Workload, dict[str, int]]:
    """The workload, and how many rows of a trace were dropped for which reason. Raises InputError."""
    network = parse_network(words.racks, words.network)
    if words.source is not None and _is_file(words.source) and not words.source.endswith(".json"):
        return _trace(words, words.source, network)
    changes: dict[str, Any] = {key: getattr(words, key) for key in INTENSITIES if getattr(words, key) is not None}
    if words.servers is not None:
        changes["servers"] = words.servers
    if network is not None:
        changes["network"] = network
    if words.sizes is not None:
        changes["sizes"] = parse_law(words.sizes, "--sizes")
    if words.service is not None:
        changes["service"] = parse_law(words.service, "--service")
    if len(set(INTENSITIES) & set(changes)) > 1:
        raise InputError("give one of --load, --intensity and --rate")
    if words.source is not None:
        named = workload(words.source)
        reduced = _reduced(named, *chosen_resources(words.resources))
        if "servers" in changes:
            changes["servers"] = _servers(words, reduced.D, reduced.resources)
        return _with_rate(reduced.with_(**changes)), {}
    if "sizes" not in changes:
        raise InputError("name a workload or a trace, or give --sizes (see `packenv list`)")
    custom: dict[str, Any] = {"servers": 1, "service": parse_law("geometric:100", "--service"), "name": words.sizes} | changes
    if not set(INTENSITIES) & set(changes):
        custom["intensity"] = 0.9
    return _with_rate(Workload(**custom)), {}


def _with_rate(found: Workload) -> Workload:
    """A load turned into a rate."""
    if found.load is None:
        return found
    from packenv.theory.capacity.load import resolved  # brings the solver with it

    return resolved(found)


def _is_file(source: str) -> bool:
    """A path rather than a name: it exists, or looks like one."""
    endings = (".csv", ".tsv", ".parquet", ".swf", ".tr", ".gz")
    return Path(source).exists() or source.endswith(endings) or source.startswith((".", "/"))


def _trace(words: Words, source: str, network: Network | None) -> tuple[Workload, dict[str, int]]:
    from packenv.workloads.traces import Trace, read_trace

    for option in ("sizes", "service", *INTENSITIES):
        if getattr(words, option) is not None:
            raise InputError(f"--{option} does not go with a trace, which says it itself")
    if words.servers is None:
        raise InputError("a trace needs --servers, for example --servers 160")
    wanted, sizes = chosen_resources(words.resources)
    recorded = read_trace(source, wanted)
    slot_seconds = words.slot_seconds or recorded.slot_seconds
    converted = recorded.jobs(slot_seconds=slot_seconds, speedup=words.speedup, sizes=sizes)
    names = recorded.resources if sizes == "all" else None
    servers = _servers(words, converted.jobs.resources, names)
    jobs: Jobs | Placed = converted.jobs
    if isinstance(recorded, Trace) and (blocks := recorded.kept_blocks()) is not None:
        jobs = Placed(converted.jobs, blocks, len(servers), words.racks or 0)
    try:
        made = Workload(
            jobs=jobs,
            servers=servers,
            network=network,
            name=Path(source).name,
            resources=names,
            slot_seconds=float(slot_seconds),
        )
    except RowError as error:
        raise InputError(f"{recorded.where(error.row)}: {error.problem}") from None
    return made, dict(converted.dropped)


def chosen_resources(text: str) -> tuple[Wanted, Sizes]:
    """Which resources `--resources` names, None for the usual ones, and whether their largest becomes the size."""
    if text in ("max", "all"):
        return (None, "max") if text == "max" else ("all", "all")
    listed = text.removeprefix("max:")
    names = tuple(name.strip() for name in listed.split(","))
    if "" in names or len(set(names)) < len(names):
        raise InputError(f"--resources is max, all, names such as cpu,memory, or max:cpu,memory, not {text!r}")
    return names, "all" if listed == text else "max"


def _servers(words: Words, resources: int, names: tuple[str, ...] | None) -> Servers:
    assert words.servers is not None
    servers = as_servers(words.servers, resources, names)
    if servers.D > resources == 1:
        raise InputError(f"--servers {words.servers}: tasks have one size; use --resources all for several capacities")
    return servers


def _reduced(made: Workload, wanted: Wanted, sizes: Sizes) -> Workload:
    """Only the resources wanted, or the paper's one: each task's largest demand, if servers are equal in all resources."""
    if made.jobs is not None:
        if isinstance(wanted, tuple):
            raise InputError(f"workload {made.name} is a table of tasks: --resources does not go with it")
        return made
    columns = [*range(made.D)]
    if isinstance(wanted, tuple):
        known = made.resources or ()
        for name in wanted:
            if name not in known:
                raise InputError(
                    f"workload {made.name} has no resource {name}; known: {', '.join(known) or 'one without a name'}"
                )
        columns = [known.index(name) for name in wanted]
    if made.D == 1 or (sizes == "all" and columns == [*range(made.D)]):
        return made
    capacity = made.servers.capacity[:, columns]
    if not isinstance(made.sizes, Joint):
        raise InputError(f"workload {made.name} has independent demands: use --resources all")
    vectors, weights = made.sizes.atoms()
    vectors = vectors[:, columns]
    if sizes == "all":
        return made.with_(sizes=Joint(vectors.tolist(), weights.tolist()), servers=capacity, resources=wanted)
    if (capacity != capacity[:, :1]).any():
        raise InputError(f"workload {made.name} has no single size: use --resources all")
    return made.with_(sizes=Joint(vectors.max(axis=1, keepdims=True), weights.tolist()), servers=capacity[:, 0], resources=None)
