"""ρ* of a workload: the search that suits it."""

from __future__ import annotations

from packenv.errors import InputError
from packenv.theory.capacity.bracket import Bracket, law_and_kinds
from packenv.theory.capacity.ends import Progress
from packenv.theory.capacity.one_resource import Search
from packenv.theory.capacity.vectors.search import VectorSearch
from packenv.workloads.workload import Workload

GAP = 0.001
SECONDS = 60.0


def max_workload(workload: Workload, gap: float = GAP, seconds: float = SECONDS, progress: Progress | None = None) -> Bracket:
    """A bracket on the maximum supportable workload of a law of demands and servers, with proofs.

    It ends when (upper - lower) / upper <= `gap`, or after about `seconds`: `reached` says which. For several resources
    it may also end where nothing more is known to help. `progress` is told every better bracket. Arrivals do not matter,
    and service only where it depends on the demand (ρ* is in jobs in service). Raises InputError for a gap outside (0, 1).
    """
    if not 0 < gap < 1:
        raise InputError(f"gap must lie between 0 and 1, not {gap}")
    law, kinds = law_and_kinds(workload)
    search = (Search if workload.D == 1 else VectorSearch)(law, kinds, gap, seconds, progress or (lambda lower, upper: None))
    search.run()
    return search.bracket()
