"""The compiled engine against the slow model, request by request, and against invariants of replayed schedules."""

from __future__ import annotations

import numpy as np
import pytest

from llm_tests.instances import random_instance, slow_run
from packenv.errors import InputError
from packenv_llm.engine import ADMITTED, COMPUTED, PREEMPTED
from packenv_llm.replica import Replica, StepTime
from packenv_llm.requests import Requests
from packenv_llm.rules import Rule
from packenv_llm.simulation import simulate

INSTANCES = 240


def requests_of(prompt: int, output: int) -> tuple[np.ndarray, ...]:
    return np.zeros(1), np.array([prompt]), np.array([output])


def times_of(model, name):
    return np.array([getattr(request, name) for request in model.requests])


@pytest.mark.parametrize("part", range(4))
def test_equals_the_slow_model(part: int) -> None:
    for number in range(part, INSTANCES, 4):
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


def test_a_case_worked_by_hand() -> None:
    """Two requests share four blocks of one token; the second is preempted when the first needs its last block.

    Prompts of 1, outputs of 3: computed tokens at the end are 3. Steps of 1 s.
    Step 1: both prompts (2 blocks), first tokens at 1. Step 2: both have their second token (4 blocks). Step 3: the first
    needs a block, so the second is preempted with 2 computed tokens; the first ends at 3. Step 4: the second computes its
    prompt and two tokens together, and has its last token at 4.
    """
    requests = Requests(np.zeros(2), np.ones(2, np.int64), np.full(2, 3))
    rule = Rule(admission="chunk")
    run = simulate(requests, Replica(4, 0, 1, 0, 0, StepTime()), rule)
    assert run.first.tolist() == [1, 1]
    assert run.last.tolist() == [3, 4]
    assert run.preemptions.tolist() == [0, 1]
    assert run.wasted == 2
    assert run.silence.tolist() == [1, 2]
    model = slow_run(requests, Replica(4, 0, 1, 0, 0, StepTime()), rule)
    assert [request.end for request in model.requests] == [3, 4]


@pytest.mark.parametrize("number", range(0, 60))
def test_replayed_schedules_keep_the_invariants(number: int) -> None:
    """A replay of the log: memory, budget and places are kept, each request is served once a step, tokens add up."""
    requests, replica, rule, closed = random_instance(number)
    try:
        run = simulate(requests, replica, rule, closed=closed, log=200_000)
    except InputError:
        return
    n = len(requests)
    known, computed, running = requests.prompt.copy(), np.zeros(n, np.int64), np.zeros(n, bool)
    total = wasted = 0
    for step in np.unique(run.log["step"]):
        served = np.zeros(n, np.int64)
        for entry in run.log[run.log["step"] == step]:
            i, tokens = entry["request"], entry["tokens"]
            if entry["kind"] == PREEMPTED:
                wasted += computed[i]
                assert running[i]
                running[i] = False
                computed[i] = 0
            elif entry["kind"] == ADMITTED:
                assert not running[i]
                running[i] = True
            else:
                assert entry["kind"] == COMPUTED and running[i] and served[i] == 0
                served[i] = tokens
        computed += served
        assert (computed <= known).all()
        total += served.sum()
        assert served.sum() <= replica.tokens and running.sum() <= replica.places
        assert (-(-computed[running] // replica.block)).sum() <= replica.usable
        token = (served > 0) & (computed == known)
        known += token
        done = token & (known == requests.prompt + requests.output)
        running &= ~done
    assert wasted == run.wasted
    assert total == run.computed == requests.prompt.sum() + requests.output.sum() - n + wasted
    assert (known == requests.prompt + requests.output).all()


def test_horizons_and_seeds_do_not_change_what_came_before() -> None:
    requests, replica, rule, _ = random_instance(3)
    whole, part = simulate(requests, replica, rule), simulate(requests, replica, rule, drain=False)
    ended = part.last == part.last
    assert (part.last[ended] == whole.last[ended]).all()


def test_rules_that_make_no_progress_are_refused() -> None:
    with pytest.raises(InputError, match="reserves 93 blocks up to its limit, and there are 8"):
        simulate(Requests(*requests_of(4, 2), np.array([90])), Replica(9, 1, 1), Rule(admission="reserve"))
    with pytest.raises(InputError, match="needs 9 blocks at its end, and there are 8"):
        simulate(Requests(*requests_of(4, 6)), Replica(9, 1, 1), Rule())
    with pytest.raises(InputError, match="prompt of 40 tokens is above the budget of 32"):
        simulate(Requests(*requests_of(40, 6)), Replica(budget=32), Rule(chunked=False))
