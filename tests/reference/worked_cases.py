"""All worked cases, for the reference and for the fast simulator alike."""

from tests.reference import (
    cases_backfilling,
    cases_delay,
    cases_fit,
    cases_jobs,
    cases_max_weight,
    cases_probing,
    cases_queues,
    cases_quickswap,
    cases_servers,
    cases_stalling,
    cases_tetris,
    cases_vqs,
    cases_whole_jobs,
)
from tests.reference.case import WorkedCase

CASES: list[WorkedCase] = [
    *cases_fit.CASES,
    *cases_vqs.CASES,
    *cases_max_weight.CASES,
    *cases_servers.CASES,
    *cases_stalling.CASES,
    *cases_jobs.CASES,
    *cases_tetris.CASES,
    *cases_probing.CASES,
    *cases_queues.CASES,
    *cases_delay.CASES,
    *cases_backfilling.CASES,
    *cases_quickswap.CASES,
    *cases_whole_jobs.CASES,
]
BOUNDARIES = cases_vqs.BOUNDARIES
