"""The grader of rules, by time to the last token."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from packenv.extend import (
    UNSTABLE,
    Answer,
    ArgumentError,
    Column,
    InputError,
    Table,
    estimate,
    mean_and_half,
    nearest,
    number,
    numbers,
    read_json,
)
from packenv_llm.measures import counted
from packenv_llm.options import EvaluateOptions
from packenv_llm.replica import Replica
from packenv_llm.requests import Requests
from packenv_llm.rules import find_rule
from packenv_llm.verbs import evaluate, replica_of

SUITES = Path(__file__).parent / "suites"
WORST = -100.0
"""The lowest score of a case, also for a rule unstable unlike the reference, or with known output lengths."""


class Score(Answer):
    """A rule's score for each case: 0 reference, 100 bound."""

    def __init__(self, rule: str, suite: str, cases: list[dict[str, Any]]) -> None:
        by_seed = np.mean([case["scores"] for case in cases], axis=0).tolist()
        self.cases, self.score = cases, float(np.mean(by_seed))
        table = Table(f"{rule} on {suite}", [Column("case"), *numbers("E2E, s", "reference, s", "bound, s", "score")])
        for case in cases:
            times = [number(case[key]) for key in ("mean", "reference", "bound")]
            table.add(case["case"], *times, estimate(*mean_and_half(case["scores"])))
        table.add("all", "", "", "", estimate(*mean_and_half(by_seed)))
        notes = [f"{case['case']}: {case['problem']}" for case in cases if case["problem"]]
        super().__init__([table], notes, [{"policy": rule, "suite": suite, "score": self.score, "cases": cases}])


def least_seconds(requests: Requests, replica: Replica) -> np.ndarray:
    """Return each request's least seconds alone: prompt, then single tokens."""
    time = replica.time
    steps = -(-requests.prompt // replica.tokens) + requests.output - 1
    tokens = requests.prompt + requests.output - 1
    work = time.prefill * requests.prompt + time.decode * (requests.output - 1)
    work = work + time.level * np.maximum(tokens / time.quantum, steps)
    seconds: np.ndarray = time.fixed * steps + work
    return seconds


def score(rule: str, suite: str = "llm", split: str = "test", seeds: int = 4, seed: int = 1000) -> Score:
    """Grade a rule on the cases of a suite.

        score = 100 · ln(reference / mean) / ln(reference / bound),   of mean times to the last token

    rule   a rule, as in `evaluate`. With known output lengths, it has the worst score
    suite  a name, or a file with an object: `reference`, and lists `train` and `test` of cases (options of `evaluate`)
    """
    path = Path(suite) if suite.endswith(".json") else SUITES / f"{suite}.json"
    if not path.is_file():
        names = sorted(file.stem for file in SUITES.glob("*.json"))
        raise InputError(f"unknown suite {suite!r}{nearest(suite, names)} (or a file *.json)")
    plain = read_json(path)
    if not isinstance(plain, dict) or not isinstance(plain.get(split), list) or not plain[split]:
        raise InputError(f"{path}: a suite is an object with a list `{split}` of cases")
    rules = [find_rule(rule), find_rule(str(plain.get("reference", "vllm:watermark=0.02")))]
    cases = []
    for place, case in enumerate(plain[split]):
        where = f"{path}: {split}[{place}]"
        if not isinstance(case, dict) or not isinstance(case.get("requests"), str):
            raise InputError(f"{where}: a case names its requests")
        try:
            options = EvaluateOptions(**{key: value for key, value in case.items() if key != "requests"})
        except (TypeError, ArgumentError) as error:
            raise InputError(f"{where}: {error}") from None
        comparison = evaluate(case["requests"], rules, options=replace(options, seed=seed, seeds=seeds))
        problem = ""
        if comparison.verdict(rules[0].name) == UNSTABLE != comparison.verdict(rules[-1].name):
            problem = "unstable"
        if rules[0].knows_outputs:
            problem = "knows output lengths, which no server does"
        replica, runs = replica_of(options), comparison.runs[rules[0].name]
        times = {"mean": comparison.values(rules[0].name, "e2e_mean"), "reference": comparison.values(rules[-1].name, "e2e_mean")}
        times["bound"] = [float(least_seconds(run.requests, replica)[counted(run)].mean()) for run in runs]
        scores = [max(WORST, 100 * math.log(b / a) / math.log(b / c)) for a, b, c in zip(*times.values(), strict=True)]
        cases.append(
            {"case": f"{place + 1}: {case['requests']} at {comparison.load:.2g}"}
            | {key: float(np.mean(values)) for key, values in times.items()}
            | {"scores": [WORST] * seeds if problem else scores, "problem": problem}
        )
    return Score(rules[0].name, str(plain.get("name", path.stem)), cases)
