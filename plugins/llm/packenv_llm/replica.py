"""A replica: its memory, and a step's limits and time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.extend import ArgumentError, Columns, InputError, nearest

ENDLESS = 2**40
"""Blocks, tokens or sequences where a limit is 0, which means none."""


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step with p prompt and d output tokens.

        fixed + prefill · p + decode · d + level · ⌈n / quantum⌉ + above · max(0, n - quantum),   n = p + d

    `level` is the staircase of Dai, Deng, Li and Peng (arXiv 2504.07347 v3, Eq. 4), `above` its first form (v1, v2).
    """

    fixed: float = 1.0
    prefill: float = 0.0
    decode: float = 0.0
    level: float = 0.0
    above: float = 0.0
    quantum: int = 1

    def __post_init__(self) -> None:
        values = [getattr(self, key) for key in ("fixed", "prefill", "decode", "level", "above")]
        if not all(0 <= value < 1e9 for value in values) or self.fixed + self.level <= 0 or self.quantum < 1:
            raise ArgumentError(f"a step takes time: coefficients from 0 on, a quantum from 1 on, not {self}")

    def seconds(self, prompt_tokens: float, output_tokens: float) -> float:
        tokens = prompt_tokens + output_tokens
        steps = -(-tokens // self.quantum)
        beyond = max(0.0, tokens - self.quantum)
        return self.fixed + self.prefill * prompt_tokens + self.decode * output_tokens + self.level * steps + self.above * beyond


STEP_TIMES = {
    "unit": StepTime(),
    "vllm-44594": StepTime(0.00574, 11e-6),
    "codellama": StepTime(0.01128, level=0.03547, quantum=128),
}
"""By name: one second, fitted to vLLM pull request 44594 (Qwen2.5-7B, GB200), CodeLlama-34B on an A100 (Dai et al., 2.3)."""


def step_time(text: str) -> StepTime:
    """Return a step time by name, numbers or measured steps.

    `fixed=0.006,prefill=1e-5` gives numbers. A table of steps gives a fit. Raises InputError for anything else.
    """
    if text in STEP_TIMES:
        return STEP_TIMES[text]
    if Path(text).suffix in (".csv", ".parquet"):
        return fitted_step_time(text)
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return StepTime(**{key: int(value) if key == "quantum" else float(value) for key, value in pairs})  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"step time {text!r}: a name, fixed=0.006,prefill=1e-5, or a table{nearest(text, [*STEP_TIMES])}"
        ) from None


def fitted_step_time(file: str) -> StepTime:
    """Fit `seconds` to `prompt_tokens` and `output_tokens` by non-negative least squares."""
    table = Columns.read(Path(file))
    seconds, prompts, outputs = (table.numbers(name) for name in ("seconds", "prompt_tokens", "output_tokens"))
    if len(seconds) < 3:
        raise InputError(f"{file}: a fit needs at least 3 steps, not {len(seconds)}")
    from scipy.optimize import nnls

    columns = np.column_stack([np.ones(len(seconds)), prompts, outputs])
    scale = np.maximum(np.abs(columns).max(axis=0), 1.0)  # similar sizes: otherwise the fit loses digits
    fixed, prefill, decode = nnls(columns / scale, seconds)[0] / scale
    if fixed <= 0:
        raise InputError(f"{file}: the fit gives steps of no time; give the step time by its numbers")
    return StepTime(float(fixed), float(prefill), float(decode))


@dataclass(frozen=True)
class Replica:
    """One copy of a model, with its memory and step limits.

    blocks     blocks of memory (0: endless)
    spare      blocks unavailable to requests: vLLM keeps one, while its watermark is a share of all
    block      tokens in a block
    budget     most tokens in a step (0: endless)
    sequences  most running requests (0: any number)
    """

    blocks: int = 7022
    spare: int = 1
    block: int = 16
    budget: int = 8192
    sequences: int = 256
    time: StepTime = STEP_TIMES["vllm-44594"]

    def __post_init__(self) -> None:
        for name in ("blocks", "budget", "sequences", "spare"):
            if getattr(self, name) < 0:
                raise ArgumentError(f"`{name}` must not be negative, not {getattr(self, name)}")
        if self.block < 1:
            raise ArgumentError(f"`block` is at least 1 token, not {self.block}")
        if 0 < self.blocks <= self.spare:
            raise ArgumentError(f"`blocks` must be more than the {self.spare} that no request can have")

    @property
    def usable(self) -> int:
        """Blocks that requests can have."""
        return self.blocks - self.spare if self.blocks else ENDLESS

    @property
    def tokens(self) -> int:
        return self.budget or ENDLESS

    @property
    def places(self) -> int:
        return self.sequences or ENDLESS


def block_steps(prompt: NDArray[Any], output: NDArray[Any], replica: Replica) -> NDArray[np.float64]:
    """Return each request's least block-steps: blocks held, summed over steps.

    A prompt takes as few steps as the budget allows. Every rule needs at least this (Nie, Si, Zhou, arXiv 2605.04595).
    """
    size, budget = replica.block, replica.tokens
    p, o = np.asarray(prompt, np.int64), np.asarray(output, np.int64)

    def filled(tokens: NDArray[Any]) -> NDArray[Any]:
        """Sum ⌈j / size⌉ for j = 1, …, tokens."""
        whole, rest = np.divmod(tokens, size)
        return size * whole * (whole + 1) // 2 + rest * (whole + 1)

    chunks = -(-p // budget)
    total = -(-p // size) + filled(p + o - 1) - filled(p)
    for k in range(1, int(chunks.max(initial=1))):
        total = total + np.where(k < chunks, -(-k * budget // size), 0)
    return total.astype(np.float64)
