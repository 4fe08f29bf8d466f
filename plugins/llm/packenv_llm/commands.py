"""`packenv llm`: options in, a library call, a report out."""

from __future__ import annotations

import click

from packenv.extend import Outputs, options_of, output_options
from packenv_llm.options import DEFAULT_RULES, EvaluateOptions, JudgeOptions, ReplicaOptions

GANTT_LOG = 2_000_000  # entries, one for each request in each step
RULES = click.option(
    "--policy", "-p", "policies", multiple=True, metavar="RULE",
    help=f"Rule: an engine, vllm:watermark=0.02, or my_rule.py. Repeat for more  [default: {', '.join(DEFAULT_RULES)}].",
)  # fmt: skip
SOURCE = "[REQUESTS]"
DEFAULT_SOURCE = "llm/conv-like"


@click.group("llm")
def llm() -> None:
    """Compare rules of admission and preemption for an LLM replica."""


@llm.command("evaluate")
@click.argument("requests", metavar=SOURCE, default=DEFAULT_SOURCE)
@RULES
@options_of(EvaluateOptions)
@output_options("Write all records", plot="Draw waiting requests and memory over time", gantt=True, report=True)
def evaluate_command(requests: str, policies: tuple[str, ...], options: EvaluateOptions, outputs: Outputs) -> None:
    """Compare rules on the same requests.

    \b
    packenv llm evaluate llm/conv-like --load 0.9 -p vllm -p vllm:watermark=0.02
    packenv llm evaluate 1000+5000~0.2 --closed 128 --count 450 --blocks 18724
    packenv llm evaluate requests.csv -p my_rule.py --plot memory.png
    """
    outputs.check()
    from packenv_llm.verbs import evaluate

    result = evaluate(requests, policies or DEFAULT_RULES, options=options, log=GANTT_LOG if outputs.gantt else 0)
    outputs.show(result)
    outputs.write(result)


@llm.command("judge")
@click.argument("requests", metavar=SOURCE + "…", nargs=-1)
@RULES
@options_of(JudgeOptions)
@output_options("Write intervals, and verdicts on loads,", plot="Draw the intervals", report=True, width="--plot-width")
def judge_command(requests: tuple[str, ...], policies: tuple[str, ...], options: JudgeOptions, outputs: Outputs) -> None:
    """Find each rule's stable share of the bound.

    \b
    packenv llm judge llm/conv-like llm/code-like -p vllm -p sarathi
    """
    outputs.check()
    from packenv_llm.verbs import judge

    result = judge(requests or (DEFAULT_SOURCE,), policies or DEFAULT_RULES, options=options)
    outputs.show(result)
    outputs.write(result)


@llm.command("bound")
@click.argument("requests", metavar=SOURCE + "…", nargs=-1)
@options_of(ReplicaOptions)
@output_options("Write the bounds")
def bound_command(requests: tuple[str, ...], options: ReplicaOptions, outputs: Outputs) -> None:
    """Bound the requests a second that any rule sustains.

    \b
    packenv llm bound llm/conv-like requests.csv --blocks 7022
    """
    outputs.check()
    from packenv_llm.verbs import bound

    result = bound(requests or (DEFAULT_SOURCE,), options=options)
    outputs.show(result)
    outputs.write(result)


@llm.command("score")
@click.argument("rule")
@click.option("--split", type=click.Choice(["train", "test"]), default="test", show_default=True, help="Cases to grade on.")
@click.option("--suite", metavar="NAME|FILE", default="llm", show_default=True, help="Suite: a name, or a file of JSON.")
@click.option("--seeds", type=click.IntRange(2), default=4, show_default=True, help="Runs of each case.")
@click.option("--seed", type=click.IntRange(0), default=1000, show_default=True, help="First seed.")
@output_options("Write the score and its cases")
def score_command(rule: str, split: str, suite: str, seeds: int, seed: int, outputs: Outputs) -> None:
    """Grade a rule from 0 (reference) to 100 (bound).

    \b
    packenv llm score my_rule.py
    """
    outputs.check()
    from packenv_llm.grading import score

    result = score(rule, suite, split, seeds, seed)
    outputs.show(result)
    outputs.write(result)


@llm.command("reproduce")
@click.argument("study", required=False)
@click.option("--seeds", type=click.IntRange(2), default=8, show_default=True, help="Runs of each setting.")
@click.option("--traces", metavar="FOLDER", envvar="PACKENV_TRACES", help="Folder of the traces  [default: PACKENV_TRACES].")
@output_options("Write the rows", plot="Draw the shares", report=False)
def reproduce_command(study: str | None, seeds: int, traces: str | None, outputs: Outputs) -> None:
    """Repeat published claims, or list them without a name.

    \b
    packenv llm reproduce vllm-44594
    """
    outputs.check()
    from packenv_llm.studies import reproduce

    result = reproduce(study, seeds, traces)
    outputs.show(result)
    outputs.write(result)
