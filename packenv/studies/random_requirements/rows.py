"""What the tables of figures 3 to 5 have in common: the policies' names, and a row for one policy in one setting."""

from __future__ import annotations

from collections.abc import Sequence

from packenv.results.result import Result
from packenv.runs.statistics import interval
from packenv.runs.verdicts import joint_verdict, verdict_counts
from packenv.studies.finding import Row, columns

NAMES = {"bf-js": "BF-J/S", "vqs": "VQS", "vqs-bf": "VQS-BF", "fifo-ff": "FIFO-FF"}


def row_of(results: Sequence[Result], **about: float | str | None) -> Row:
    """Queue and delay of one policy over the seeds, with verdicts; `about`: the columns that say which setting it is."""
    row: Row = {**about, "policy": results[0].policy, "seeds": len(results), "slots": results[0].slots}
    for key in ("mean_queue", "mean_delay"):
        row |= columns(key, interval(getattr(result, key) for result in results))
    utilisation = interval(result.utilisation[0] for result in results).mean
    return row | {"utilisation": utilisation, "verdict": joint_verdict(results)} | verdict_counts(results)
