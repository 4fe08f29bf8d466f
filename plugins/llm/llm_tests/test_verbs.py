"""Evaluate, judge, bound, score: numbers against theory and published counts; outputs of the commands."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from packenv.errors import InputError
from packenv_llm.commands import llm
from packenv_llm.grading import score
from packenv_llm.measures import counted, end_to_end, first_token, gap_quantile, per_token
from packenv_llm.replica import STEP_TIMES, Replica, StepTime, step_time
from packenv_llm.requests import find_source
from packenv_llm.rules import find_rule
from packenv_llm.simulation import simulate
from packenv_llm.verbs import bound, evaluate, judge

ORACLES = Path(os.environ.get("PACKENV_ORACLES", "/nowhere")) / "llm" / "published.csv"
THEOREM = {"blocks": 0, "budget": 512, "sequences": 0, "time": "codellama"}


@pytest.mark.skipif(not ORACLES.is_file(), reason="needs PACKENV_ORACLES")
def test_preemptions_of_vllm_44594() -> None:
    with ORACLES.open() as file:
        rows = [row for row in csv.DictReader(file) if row["source"] == "vllm#44594" and row["quantity"] == "preemptions"]
    published = [float(row["value"]) for row in rows]
    assert len(published) == 5
    replica, source = Replica(18_724), find_source("llm/random-1000-5000")
    for count, watermark in zip(published, (0, 0.02, 0.05, 0.1, 0.15), strict=True):
        rule = find_rule(f"vllm:watermark={watermark}")
        counts = [simulate(source.draw(seed, 450), replica, rule, closed=128).preemptions.sum() for seed in range(8)]
        assert abs(np.mean(counts) - count) <= 2 * np.std(counts, ddof=1), watermark


def test_the_bound_of_the_theorem() -> None:
    """b / t_b over tokens a request: 512 / (0.01128 + 4 · 0.03547) / 241."""
    rate = bound(["llm/theorem"], **THEOREM).bounds["llm/theorem"].rate
    assert rate == pytest.approx(512 / (0.01128 + 4 * 0.03547) / 241)


@pytest.mark.parametrize("rule", ["sarathi", "orca"])
def test_work_conserving_rules_are_stable_up_to_the_bound(rule: str) -> None:
    runs = {"seeds": 8, "count": 32_000} | THEOREM
    kinds = [evaluate("llm/theorem", [rule], load=load, **runs).verdict(rule) for load in (0.9, 0.98, 1.02)]
    assert kinds[:2] == ["stable", "stable"]
    assert kinds[2] != "stable"


def test_fastertransformer_has_its_closed_form() -> None:
    """k = ⌊b / P⌋ prompts in one step, then 112 steps with k tokens."""
    k = 512 // 129
    time = STEP_TIMES["codellama"]
    share = (
        k / (time.seconds(129 * k, 0) + 112 * time.seconds(0, k)) / bound(["llm/theorem"], **THEOREM).bounds["llm/theorem"].rate
    )
    assert share == pytest.approx(0.0401, abs=2e-4)
    case = judge(["llm/theorem"], ["fastertransformer"], width=0.02, seeds=4, count=64_000, **THEOREM).judgments[0]
    assert case.low <= share < case.high and case.high - case.low <= 0.02


def test_no_rule_is_stable_above_the_bound() -> None:
    case = judge(["1000+200~0.5"], ["vllm:watermark=0.02"], width=0.1, seeds=2, count=64_000, blocks=2000).judgments[0]
    assert 0.6 <= case.low < case.high <= 1


def test_few_services_decide_nothing() -> None:
    """Preemptions start a queue late: a run of 11 services is undecided, and `judge` begins with 500."""
    source, replica = find_source("llm/random-1000-5000"), Replica()
    rate = 0.5 * bound([source]).bounds[source.name].rate
    kinds = [
        simulate(source.draw(0, n, rate), replica, find_rule("vllm"), drain=False, intensity=0.5).verdict.kind for n in (150, 900)
    ]
    assert kinds == ["undecided", "stable"]
    (case,) = judge(["1000+200~0.5"], ["vllm"], width=0.3, seeds=1, count=2000, blocks=2000).judgments
    runs = evaluate("1000+200~0.5", ["vllm"], load=0.5, seeds=1, count=2000, blocks=2000).runs["vllm"][0]
    services = runs.running / runs.done
    assert min(trial["requests"] for trial in case.trials) / (0.5 * case.rate) > 400 * services


def test_measures_by_hand() -> None:
    """One request at a time: the prompt takes 1 s, each further token 1 s."""
    run = simulate(find_source("16+11").draw(0, 20, 0.01), Replica(time=StepTime(1.0)), find_rule("vllm"))
    assert len(first_token(run)) == 18 == len(run.requests) - counted(run).start
    waits = run.first - run.requests.arrival
    assert (waits[1:] >= 1 - 1e-9).all()
    np.testing.assert_allclose(per_token(run), 1.0)
    np.testing.assert_allclose(end_to_end(run) - first_token(run), 10.0)
    np.testing.assert_allclose(run.silence, 1.0)
    assert gap_quantile(run, 0.99) == pytest.approx(1.0, rel=0.01)


def test_step_times(tmp_path: Path) -> None:
    assert step_time("codellama").seconds(128, 1) == pytest.approx(0.01128 + 2 * 0.03547)
    file = tmp_path / "steps.csv"
    rows = [f"{0.005 + 1e-5 * p + 2e-5 * d},{p},{d}" for p, d in ((0, 10), (100, 5), (2000, 60), (8000, 1))]
    file.write_text("seconds,prompt_tokens,output_tokens\n" + "\n".join(rows))
    fitted = step_time(str(file))
    assert (fitted.fixed, fitted.prefill, fitted.decode) == pytest.approx((0.005, 1e-5, 2e-5))
    for text in ("slow", "fixed=-1", "fixed=nan", "speed=3"):
        with pytest.raises(InputError):
            step_time(text)


def test_scores() -> None:
    assert score("vllm:watermark=0.02", split="train", seeds=2).score == 0.0
    known = score("mc-sf-known", split="train", seeds=2)
    assert known.score == -100 and "knows output lengths" in known.footnotes()[0]


def run_command(*words: str) -> str:
    result = CliRunner().invoke(llm, words, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_commands_write_what_they_print(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("runs.json", "time.png", "gantt.png", "page.html")}
    text = run_command(
        *("evaluate", "200+50~0.5", "-p", "vllm", "-p", "sglang", "--count", "300", "--seeds", "2", "--blocks", "200"),
        *("--json", str(files["runs.json"]), "--plot", str(files["time.png"]), "--gantt", str(files["gantt.png"])),
        *("--report", str(files["page.html"])),
    )
    assert "sglang" in text and "Ratios to vllm" in text
    assert all(path.stat().st_size > 1000 for path in files.values())
    records = json.loads(files["runs.json"].read_text())
    assert {(record["policy"], record["seed"]) for record in records} == {(p, s) for p in ("vllm", "sglang") for s in (0, 1)}
    assert "ttft_p99" in run_command("evaluate", "200+50", "-p", "vllm", "--count", "50", "--seeds", "1", "--format", "csv")
    assert "no verdict" not in run_command("evaluate", "200+50", "--closed", "8", "-p", "vllm", "--count", "50", "--seeds", "1")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("evaluate", "--rate", "3", "--closed", "4"), "give one of `load`, `rate` and `closed`"),
        (("evaluate", "missing.csv"), "missing.csv"),
        (("evaluate", "llm/con"), "did you mean llm/conv-like"),
        (("evaluate", "--slo", "fast"), "TTFT:TPOT"),
        (("evaluate", "30000+5", "-p", "vllm-v0", "--count", "5"), "above the budget of 8192"),
        (("evaluate", "--load", "nan"), "above 0"),
        (("judge", "--width", "2"), "between 0 and 1"),
        (("score", "nobody.py"), "nobody.py"),
        (("reproduce", "vllm-1"), "did you mean vllm-44594"),
        (("bound", "0+5"), "lengths from 1 on"),
    ],
)
def test_bad_options_are_one_line(words: tuple[str, ...], problem: str) -> None:
    result = CliRunner().invoke(llm, words)
    assert isinstance(result.exception, InputError)
    assert problem in str(result.exception) and "\n" not in str(result.exception)
