"""The order in which servers of Eagle and Yaq start what is in their queues: the shortest remaining job first (PAPERS §4)."""

from __future__ import annotations

from packenv.cluster import NONE
from packenv.compiled.decorators import inner
from packenv.policies.eagle.probing_state import Probing, forget, leave


@inner
def shortest(p: Probing, server: int) -> int:
    """Algorithm 1 of seed 003: the shortest remaining job whose tasks may pass all those in front of it; NONE if none is left."""
    k, chosen, least, patience = p.queue[server].first, NONE, 2**62, 2**62
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
        pass_all(p, p.queue[server].first, chosen)
    return chosen


@inner
def pass_all(p: Probing, first: int, chosen: int) -> None:
    """Let an entry pass those in front of it."""
    k = first
    while k != chosen:
        p.entry[k].passed += p.row[p.entry[chosen].job].estimate
        k = p.entry[k].next
