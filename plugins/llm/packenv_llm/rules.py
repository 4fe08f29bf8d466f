"""Rules for admission, order, victims and steps, named engines, and functions of your rule file.

A file is checked, and never executed as Python.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from packenv.extend import InputError, Vocabulary, checked, nearest, read_text, reading, rule_address
from packenv_llm.engine import Seen, seen_replica, seen_request

BATCHES = ("mixed", "prefill-first", "prompts-alone", "whole-batches")
ADMISSIONS = ("prompt", "chunk", "reserve", "ratio", "known-look-ahead")
ORDERS = ("fcfs", "prompt", "aged", "hrrn", "edf", "priority", "limit", "known-output", "aged-tokens")
VICTIMS = ("tail", "least", "most", "score", "priority", "retract", "random", "prompt")
REJOINS = ("front", "order", "back")
FUNCTIONS = ("order", "victim", "admit")
"""Functions of a rule file: the smallest `order` first, the largest `victim` is preempted, `admit` above 0 admits."""

LANGUAGE = Vocabulary(
    ("request", "replica"), {"request": tuple(seen_request.names or ()), "replica": tuple(seen_replica.names or ())}
)
FIXED = {f"request.{name}" for name in ("prompt", "known", "produced", "limit", "priority", "preemptions")}
"""Names with constant values while a request waits."""

CHOICES = {"batch": BATCHES, "admission": ADMISSIONS, "order": ORDERS, "victim": VICTIMS, "rejoin": REJOINS}


@dataclass(frozen=True)
class Rule:
    """A rule for a replica.

    batch      order of work in a step. `mixed`: outputs, the prompt under way, new prompts. `prefill-first`: prompts, outputs.
               `prompts-alone`: prompts if any, else outputs. `whole-batches`: outputs if any, else prompts
    chunked    a prompt may be cut at the end of the budget, else it enters whole or waits
    admission  memory that must fit. `prompt`: all known tokens. `chunk`: tokens of this step. `reserve`: all requests to their
               limits. `ratio`: SGLang's estimate of coming outputs. `known-look-ahead`: MC-SF's check, with known lengths
    hold       the whole prompt takes its blocks on admission
    watermark  share of all blocks that admission leaves free while something runs
    threshold  waiting requests before any is admitted (WAIT, arXiv 2504.11320, with one type)
    order      smallest first. `prompt`: known tokens. `aged`, `aged-tokens`: known tokens less `rate` per second, or per token of
               the replica, since the arrival. `hrrn`: known tokens over wait (`fcfs` above `rate` waiting). `edf`: arrival +
               known tokens / `rate`. `priority`. `limit`. `known-output`: outputs still to come
    victim     request to preempt. `tail`: last admitted. `least`, `most`: computed tokens. `score`: vLLM pull request 56897.
               `priority`: highest number, then last arrival. `retract`: SGLang's. `random`. `prompt`: shortest prompt
    rejoin     queue place of preempted requests: front, back, or in their order
    file       your file with up to three functions for order, victim and admission

    `short-first` is packenv's compromise: on conversations and code, lower means than a watermark of 2 %, and no higher 99th
    percentile of the time to the first token. On Mooncake's long prompts that needs a `rate` of 0.1 or more.
    """

    name: str = "vllm"
    batch: str = "mixed"
    chunked: bool = True
    admission: str = "prompt"
    hold: bool = False
    watermark: float = 0.0
    threshold: int = 0
    order: str = "fcfs"
    rate: float = 0.0
    victim: str = "tail"
    rejoin: str = "front"
    file: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for key, choices in CHOICES.items():
            value = getattr(self, key)
            if value not in choices:
                raise InputError(f"rule {self.name}: {key} {value!r}{nearest(value, choices)}")
        if not 0 <= self.watermark < 1:
            raise InputError(f"rule {self.name}: watermark is a share from 0 to below 1, not {self.watermark}")
        if self.threshold < 0:
            raise InputError(f"rule {self.name}: threshold must not be negative, not {self.threshold}")
        if self.order in ("aged", "aged-tokens", "edf") and not self.rate > 0:
            unit = "a share of tokens: rate=0.05" if self.order == "aged-tokens" else "in tokens per second: rate=500"
            raise InputError(f"rule {self.name}: order {self.order} needs rate, {unit}")
        if not 0 <= self.rate < float("inf"):
            raise InputError(f"rule {self.name}: rate is a number from 0 on, not {self.rate}")

    @property
    def knows_outputs(self) -> bool:
        """Whether the rule knows output lengths."""
        return self.order == "known-output" or self.admission == "known-look-ahead"


ENGINES = {
    rule.name: rule
    for rule in (
        Rule(),  # vLLM V1, commit 003df296
        Rule("vllm-v0", "prompts-alone", False, watermark=0.01),  # as Sarathi-Serve has it, commit 13f16cf4
        Rule("sarathi", hold=True),  # Sarathi-Serve, commit 13f16cf4
        Rule("orca", "prefill-first"),  # as Dai et al. read it
        Rule("orca-reserve", chunked=False, admission="reserve"),  # as Sarathi-Serve has it
        Rule("fastertransformer", "whole-batches", False),
        Rule("trt-no-evict", admission="reserve"),  # TensorRT-LLM, commit 02a10fed
        Rule("trt-max-utilization", admission="chunk", rejoin="order"),  # the same
        Rule("sglang", "prompts-alone", admission="ratio", victim="retract", rejoin="back"),  # commit 00550cd1
        Rule("short-first", watermark=0.01, order="aged-tokens", rate=0.05, rejoin="order"),  # a compromise
        Rule("mc-sf-known", admission="known-look-ahead", order="known-output", rejoin="order"),  # arXiv 2502.07115
    )
}


def find_rule(text: str | Rule) -> Rule:
    """Return the rule `vllm`, `vllm:watermark=0.02,victim=least`, or `mine.py:watermark=0.02`.

    A file's functions replace parts of `vllm`. Use `engine=NAME` for another engine. Raises InputError.
    """
    if isinstance(text, Rule):
        return text
    head, _, rest = text.partition(":")
    pairs = [part.partition("=") for part in filter(None, rest.split(","))]
    values = {key: value for key, _, value in pairs}
    engine = values.pop("engine", "vllm") if head.endswith(".py") else head
    if engine not in ENGINES:
        forms = f"no engine, and no file *.py with {', '.join(FUNCTIONS)}"
        raise InputError(f"unknown rule {text!r}: {forms}{nearest(engine, [*ENGINES])}")
    base = ENGINES[engine]
    if engine != head:
        base = replace(base, file=head, source=read_functions(head))
    kinds = get_type_hints(Rule)
    known = [item.name for item in fields(Rule) if item.name not in ("name", "file", "source")]
    changes: dict[str, object] = {}
    for key, value in values.items():
        if key not in known:
            raise InputError(f"rule {text!r}: no {key!r} in it{nearest(key, known)}")
        try:
            changes[key] = {"yes": True, "no": False}[value] if kinds[key] is bool else kinds[key](value)
        except (KeyError, ValueError):
            needs = "yes or no" if kinds[key] is bool else "a number"
            raise InputError(f"rule {text!r}: {key} is {needs}, not {value!r}") from None
    return replace(base, name=text, **changes)  # type: ignore[arg-type]


def read_functions(file: str) -> str:
    """Read and check a rule file. Raises InputError with line."""
    with reading(file):
        source = read_text(Path(file))
    functions_in(source, file)
    return source


@functools.cache
def functions_in(source: str, file: str) -> dict[str, Any]:
    """Return a file's checked functions. Raises InputError with its line."""
    try:
        names = {node.name for node in ast.parse(source, file).body if isinstance(node, ast.FunctionDef)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        names = {FUNCTIONS[0]}  # `checked` has the message
    rules = {name: checked(source, file, name, LANGUAGE) for name in FUNCTIONS if name in names}
    if not rules:
        raise InputError(f"{file}: no function order, victim or admit in it, with the arguments request, replica")
    for name, rule in rules.items():
        if rule.parameters:
            raise InputError(f"{file}: {name} has arguments behind replica; use constants above the function")
    return rules


def empty_arguments() -> Seen:
    return Seen(request=np.zeros(1, seen_request), replica=np.zeros(1, seen_replica), parameters=np.zeros(0))


@functools.cache
def compiled_functions(source: str, file: str) -> dict[str, tuple[int, bool]]:
    """Return addresses, and whether values change while a request waits."""
    seen = empty_arguments()
    arguments = (seen.request, seen.replica, seen)
    rules = functions_in(source, file)
    return {name: (rule_address(rule, file, name, arguments), not rule.reads <= FIXED) for name, rule in rules.items()}
