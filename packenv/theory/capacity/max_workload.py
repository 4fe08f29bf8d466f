"""`packenv.max_workload`: bounds on ρ*, for one resource or several."""

from __future__ import annotations

import functools
import time
from typing import Any

from packenv.errors import ArgumentError, InputError
from packenv.options.fields import takes
from packenv.options.verbs import CapacityOptions
from packenv.theory.capacity.best_proofs import BestProofs, Progress
from packenv.theory.capacity.bracket import Bracket, area_bound, law_and_kinds
from packenv.theory.capacity.devices import DeviceBracket, device_bracket
from packenv.theory.capacity.one_resource.search import OneResourceSearch
from packenv.theory.capacity.several_resources.search import SeveralResourcesSearch
from packenv.workloads.demand import Sizes
from packenv.workloads.find import workload as find_workload
from packenv.workloads.laws import Fixed
from packenv.workloads.laws.joint import Conditional
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload


@takes(CapacityOptions)
def max_workload(
    workload: Any, options: CapacityOptions, progress: Progress | None = None, **changes: Any
) -> Bracket | DeviceBracket:
    """Return proved bounds on the maximum supportable workload ρ* (tasks in service).

    workload  a Workload, or what `packenv.workload` takes. Pass its arguments (`servers`, `resources`, …) along
    options   fields of CapacityOptions
    progress  called with (lower, upper) at every improvement

    `Bracket.reached` shows whether the gap or the time ended the search. For several resources it may also end earlier, with no
    further method to try. Only demands and servers matter, and service if it depends on the demand. For tasks with devices the
    result is a DeviceBracket: its bounds are values of linear programs, without certificates.
    Raises InputError for a gap outside (0, 1), and without time.
    """
    if not options.seconds > 0:
        raise ArgumentError(f"`seconds` must be positive, not {options.seconds}")
    workload = workload if isinstance(workload, Workload) and not changes else find_workload(workload, **changes)
    if not 0 < options.gap < 1:
        exact = "; an answer that is exact has a gap of 1e-9" if options.gap == 0 else ""
        raise InputError(f"gap must lie between 0 and 1, not {options.gap}{exact}")
    if workload.has_devices:
        return device_bracket(workload, options.gap, options.seconds)
    law, kinds = law_and_kinds(workload)
    method = OneResourceSearch if workload.D == 1 else SeveralResourcesSearch
    search = method(law, kinds, options.gap, options.seconds, progress or (lambda lower, upper: None))
    search.run()
    return bracket_of(search).of(workload)


def bracket_of(search: BestProofs) -> Bracket:
    """The bracket that a search has proved so far."""
    return Bracket(
        lower=search.lower,
        upper=search.upper,
        area_bound=area_bound(search.law, search.kinds),
        attained=search.attained,
        bounded=search.bounded,
        reached=search.reached,
        seconds=time.monotonic() - search.began,
        history=tuple(search.history),
    )


LOAD_GAP = 0.005  # (upper - lower) / upper of the bounds that loads refer to


def resolved(workload: Any) -> Workload:
    """Return the workload, or what `packenv.workload` takes, its `load` as a known rate.

    A `load` is a share of the lower bound on ρ*, which `rho` stores. The bounds are computed once per law of sizes and servers,
    to a gap of 0.5 % (or the gap reached in a minute). A workload without a `load`, or with a known `rho`, is returned unchanged.
    """
    found = find_workload(workload)
    if found.load is None or found.rho is not None:
        return found
    bracket = supportable(found)
    return found.knowing(bracket.lower, bracket.upper)


def supportable(workload: Workload) -> Bracket:
    """Return the bounds on ρ* behind a `load`."""
    return _supportable(workload.sizes, workload.service if isinstance(workload.service, Conditional) else None, workload.servers)


@functools.lru_cache(maxsize=256)
def _supportable(sizes: Sizes, service: Conditional | None, servers: Servers) -> Bracket:
    return stream_bracket(Workload(sizes=sizes, service=service or Fixed(1), servers=servers, rate=1.0), LOAD_GAP)


def stream_bracket(workload: Workload, gap: float, seconds: float = CapacityOptions.seconds) -> Bracket:
    """Return `max_workload` of tasks without devices, such as a stream."""
    bracket = max_workload(workload, gap, seconds)
    assert isinstance(bracket, Bracket)
    return bracket
