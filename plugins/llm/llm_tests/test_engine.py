"""The compiled engine against the slow model, request by request, and against invariants of replayed schedules."""

from __future__ import annotations

import numpy as np
import pytest
from packenv_llm.replica import Replica
from packenv_llm.requests import Requests
from packenv_llm.rules import BATCHES, Rule
from packenv_llm.simulation import simulate

from llm_tests.instances import random_instance, slow_run
from packenv.errors import InputError
from tests.seeds import seeds


def times_of(model, name):
    return np.array([getattr(request, name) for request in model.requests])


@pytest.mark.parametrize("part", range(4))
def test_equals_the_slow_model(part: int) -> None:
    for number in range(part, 4 * seeds_count(), 4):
        requests, replica, rule, closed = random_instance(number)
        try:
            model = slow_run(requests, replica, rule, closed)
        except AssertionError:
            with pytest.raises(InputError):
                simulate(requests, replica, rule, closed=closed)
            continue
        run = simulate(requests, replica, rule, closed=closed)
        where = f"instance {number}: {rule} {replica} {closed}"
        assert run.steps == len(model.steps), where
        assert run.wasted == model.wasted, where
        assert (run.preemptions == times_of(model, "preemptions")).all(), where
        for mine, theirs in ((run.first, "first"), (run.last, "end"), (run.silence, "longest_gap")):
            np.testing.assert_allclose(mine, times_of(model, theirs), rtol=1e-12, atol=1e-9, err_msg=where)
