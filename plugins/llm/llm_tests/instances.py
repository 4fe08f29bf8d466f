"""Random small instances, which differ in kind, and the reference's answer to each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llm_tests.reference import Model, Request
from packenv.workloads.sampling import word_at
from packenv_llm.replica import Replica, StepTime
from packenv_llm.requests import Requests
from packenv_llm.rules import ADMISSIONS, BATCHES, ORDERS, REJOINS, VICTIMS, Rule


class Instance(NamedTuple):
    requests: Requests
    replica: Replica
    rule: Rule
    closed: int


TIMES = (
    StepTime(),
    StepTime(0.01, 0.001),
    StepTime(0.1, level=0.3, quantum=8),
    StepTime(0.1, 0.01, 0.02, 0.1, 0.01, 4),
)


def random_instance(number: int) -> Instance:
    """Up to 60 requests, with and without memory pressure, a rule of any parts."""
    g = np.random.default_rng(number)
    n, block = int(g.integers(1, 60)), int(g.choice([1, 2, 3, 16]))
    prompt, output = g.integers(1, 40, n), g.integers(1, 30, n)
    most = -(-int((prompt + output - 1).max()) // block)
    blocks = most + int(g.integers(1, 1 + 2 * most)) if g.random() < 0.85 else 0
    batch = str(g.choice(BATCHES))
    chunked = bool(g.random() < 0.6)
    budget = int(g.choice([0, 64, 30, 7] if chunked else [0, 80]))
    admission = str(g.choice(ADMISSIONS))
    rule = Rule(
        name="random",
        batch=batch,
        chunked=chunked,
        admission=admission,
        hold=admission == "prompt" and bool(g.random() < 0.5),
        watermark=float(g.choice([0, 0.1])),
        threshold=int(g.choice([0, 0, 3])),
        order=str(g.choice(ORDERS)),
        rate=float(g.choice([1, 5])),
        victim=str(g.choice(VICTIMS)),
        rejoin=str(g.choice(REJOINS)),
    )
    replica = Replica(blocks, 1, block, budget, int(g.choice([0, 4, 20])), TIMES[g.integers(len(TIMES))])
    requests = Requests(
        arrival=np.sort(g.random(n)) * float(g.choice([1, 20, 200])),
        prompt=prompt,
        output=output,
        limit=output + g.integers(0, 10, n),
        predicted=np.maximum(output + g.integers(-2, 3, n), 1),
        priority=g.integers(0, 3, n).astype(float),
    )
    return Instance(requests, replica, rule, 0 if rule.threshold else int(g.choice([0, 0, 5])))


def slow_run(requests: Requests, replica: Replica, rule: Rule, closed: int = 0) -> Model:
    """The reference's run."""
    predicted = requests.output if requests.predicted is None else requests.predicted
    priority = np.zeros(len(requests)) if requests.priority is None else requests.priority
    columns = zip(requests.arrival, requests.prompt, requests.output, requests.limit, predicted, priority, strict=True)
    rows = [Request(i, float(a), int(p), int(o), int(li), int(e), float(y)) for i, (a, p, o, li, e, y) in enumerate(columns)]
    return Model(replica, rule, rows, closed, lambda number, many: int(word_at(np.uint64(0), number)) % 2**64 % many).run()
