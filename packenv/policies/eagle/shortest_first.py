"""Shortest remaining job first: which entry of its queue a server of Eagle or Yaq serves next (PAPERS §4)."""

from __future__ import annotations

from packenv.cluster import NONE
from packenv.compiled.decorators import compiled
from packenv.policies.eagle.probing_state import Probing, forget, leave


@compiled
def shortest(p: Probing, server: int) -> int:
    """Algorithm 1 of Eagle: the entry of the job with the least remaining work among those that may overtake all entries in
    front of them; NONE if the queue is empty.

    Remaining work is unassigned tasks times their estimate. An entry may overtake another if its estimate is within the
    other's remaining patience. Drops probes whose job has no unassigned task left. Without `reorders` no entry overtakes a
    bound task, so the search ends at the first one.
    """
    k, chosen, least, patience = p.queue[server].head, NONE, 2**62, 2**62
    while k != NONE:
        entry = p.entry[k]
        own = p.row[entry.job]
        following = entry.next
        if entry.row == NONE and own.told == 0:
            leave(p, server, k)
            forget(p, k)
        elif entry.row != NONE and p.reorders == 0:
            if chosen == NONE:
                chosen = k
            break
        else:
            if own.told * own.estimate < least and own.estimate <= patience:
                chosen, least = k, own.told * own.estimate
            patience = min(patience, own.patience - entry.passed)
        k = following
    if chosen != NONE:
        pass_all(p, p.queue[server].head, chosen)
    return chosen


@compiled
def pass_all(p: Probing, first: int, chosen: int) -> None:
    """Charge the estimate of the chosen entry to all entries in front of it, which it overtakes."""
    k = first
    while k != chosen:
        p.entry[k].passed += p.row[p.entry[chosen].job].estimate
        k = p.entry[k].next
