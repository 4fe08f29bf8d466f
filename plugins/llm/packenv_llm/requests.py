"""Request tables, and sources: pure functions of (seed, i, column)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.extend import ArgumentError, InputError, compiled, mix, nearest, uniform, word_at
from packenv_llm.replica import Replica

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
GAP, BURST, SERVICE, PROMPT, OUTPUT, PLACE, ERROR = range(1, 8)  # columns
BLOCK_ROWS = 256
LENGTHS = re.compile(r"(\d{1,9})\+(\d{1,9})(?:~(\d*\.?\d+))?")


@dataclass(frozen=True)
class Requests:
    """A request table with (n,) columns.

    arrival    seconds, ascending. Prompt, output and limit are tokens
    limit      most outputs allowed by the user [default: longest output in the table]
    predicted  outputs for rules with known outputs [default: true ones]
    priority   the lowest number is the most important
    """

    arrival: Floats
    prompt: Ints
    output: Ints
    limit: Any = None
    predicted: Any = None
    priority: Any = None
    name: str = "requests"

    def __post_init__(self) -> None:
        n = len(self.arrival)
        for key in ("prompt", "output", "limit", "predicted", "priority"):
            column = getattr(self, key)
            if column is not None and len(column) != n:
                raise ArgumentError(f"{self.name}: {n} arrivals, but {len(column)} values of {key}")
        if n == 0:
            raise InputError(f"{self.name}: no requests")
        self._refuse(~np.isfinite(self.arrival) | (self.arrival < 0), "arrives at {}: a time from 0 on", self.arrival)
        disordered = np.diff(self.arrival, prepend=0.0) < 0
        self._refuse(disordered, "arrives at {}, before the one above it: sort the table", self.arrival)
        for key in ("prompt", "output"):
            column = getattr(self, key)
            self._refuse((column < 1) | (column > 2**30), f"{key} of {{}} tokens: 1 to 2^30", column)
        for key, value in (("limit", self.output.max()), ("predicted", self.output), ("priority", np.zeros(n))):
            if getattr(self, key) is None:
                object.__setattr__(self, key, np.broadcast_to(value, n))
        self._refuse(self.output > self.limit, "output of {} tokens is above its limit", self.output)

    def _refuse(self, wrong: Any, problem: str, values: NDArray[Any]) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"{self.name}: request {row} {problem.format(values[row])}")

    def __len__(self) -> int:
        return len(self.arrival)

    def check(self, replica: Replica, whole: bool, reserves: bool) -> None:
        """Raise InputError for a request that can never run.

        whole     the rule takes prompts whole: they must not exceed the budget
        reserves  the rule reserves memory up to the limit
        """
        peak = self.prompt + self.output - 1
        blocks = -(-peak // replica.block)
        self._refuse(blocks > replica.usable, f"needs {{}} blocks at its end, and there are {replica.usable}", blocks)
        if reserves:
            blocks = -(-(self.prompt + self.limit - 1) // replica.block)
            problem = f"reserves {{}} blocks up to its limit, and there are {replica.usable}"
            self._refuse(blocks > replica.usable, problem, blocks)
        if whole:
            problem = f"prompt of {{}} tokens is above the budget of {replica.tokens}, and this rule takes prompts whole"
            self._refuse(self.prompt > replica.tokens, problem, self.prompt)


@compiled
def fill(key: np.uint64, out: Floats) -> None:
    """Fill `out` with uniform numbers in (0, 1)."""
    for i in range(out.shape[0]):
        out[i] = uniform(word_at(key, i))


def uniforms(seed: int, column: int, n: int) -> Floats:
    """Return n numbers in (0, 1), from (seed, i, column)."""
    golden = 0x9E3779B97F4A7C15
    key = word_at(np.uint64(mix(np.uint64((seed + golden) % 2**64))), column)
    out = np.empty(n)
    fill(np.uint64(key), out)
    return out


@dataclass(frozen=True)
class Service:
    """A kind of requests: quantiles of lengths at `shares`."""

    weight: float
    prompts: tuple[float, ...]
    outputs: tuple[float, ...]
    shares: tuple[float, ...] = (0.0, 1.0)


@dataclass(frozen=True)
class Source:
    """A source: a mixture of services, or blocks of table rows.

    bursts  squared coefficient of variation of the rate between windows (0: Poisson arrivals)
    window  expected requests in a window
    table   arrivals, prompts and outputs: `draw` concatenates blocks of its rows
    error   standard deviation of the logarithm of predicted over true outputs
    """

    name: str
    services: tuple[Service, ...] = ()
    bursts: float = 0.0
    window: float = 333.0
    table: Requests | None = field(default=None, repr=False)
    poisson: bool = False
    error: float = 0.0

    def draw(self, seed: int, n: int, rate: float = 1.0) -> Requests:
        """Return n requests, `rate` a second on average."""
        requests = self._from_services(seed, n, rate) if self.table is None else self._from_table(seed, n, rate)
        if self.error > 0:
            from scipy.special import ndtri

            factors = np.exp(self.error * ndtri(uniforms(seed, ERROR, n)))
            predicted = np.maximum(np.rint(requests.output * factors), 1).astype(np.int64)
            return replace(requests, predicted=predicted)
        return requests

    def _from_services(self, seed: int, n: int, rate: float) -> Requests:
        # Draw a service for each request, then its lengths.
        share = np.cumsum([service.weight for service in self.services])
        kind = np.searchsorted(share / share[-1], uniforms(seed, SERVICE, n), side="right")
        prompt, output = np.empty(n), np.empty(n)
        u, v = uniforms(seed, PROMPT, n), uniforms(seed, OUTPUT, n)
        for k, service in enumerate(self.services):
            of_kind = kind == k
            prompt[of_kind] = np.interp(u[of_kind], service.shares, service.prompts)
            output[of_kind] = np.interp(v[of_kind], service.shares, service.outputs)
        prompts, outputs = (np.maximum(np.rint(column), 1).astype(np.int64) for column in (prompt, output))
        most = np.full(n, round(max(service.outputs[-1] for service in self.services)))
        return Requests(self._arrivals(seed, n) / rate, prompts, outputs, most, name=self.name)

    def _arrivals(self, seed: int, n: int) -> Floats:
        """Draw arrivals at rate one, with gamma rates by window."""
        work = np.cumsum(-np.log(uniforms(seed, GAP, n)))
        if self.bursts == 0:
            return work
        from scipy.special import gammaincinv

        shape = 1 / self.bursts
        # Guess the number of windows, and double it until they cover all requests.
        windows = int(work[-1] / self.window * (1 + 4 * np.sqrt(self.bursts))) + 64
        while True:
            rates = np.maximum(gammaincinv(shape, uniforms(seed, BURST, windows)) / shape, 1e-9)
            done = np.concatenate([[0.0], np.cumsum(rates * self.window)])
            if done[-1] > work[-1]:
                return np.interp(work, done, np.arange(windows + 1) * self.window)
            windows *= 2

    def _from_table(self, seed: int, n: int, rate: float) -> Requests:
        table = self.table
        assert table is not None
        # Blocks of rows preserve the table's bursts, except with Poisson arrivals.
        size = min(BLOCK_ROWS if not self.poisson else 1, len(table))
        first = (uniforms(seed, PLACE, -(-n // size)) * len(table)).astype(np.int64)
        rows = ((first[:, None] + np.arange(size)) % len(table)).ravel()[:n]
        if self.poisson:
            arrival = np.cumsum(-np.log(uniforms(seed, GAP, n)))
        else:
            mean = table.arrival[-1] / max(len(table) - 1, 1)
            gaps = np.diff(table.arrival, prepend=table.arrival[0] - mean)
            arrival = np.cumsum(gaps[rows]) / (gaps.mean() or 1.0)
        columns = {key: getattr(table, key)[rows] for key in ("prompt", "output", "limit", "predicted", "priority")}
        return Requests(arrival / rate, **columns, name=self.name)


def between(name: str, prompt: float, output: float, ratio: float) -> Source:
    """Return uniform lengths, up to `ratio` away from their means."""
    ends = 1 - ratio, 1 + ratio
    return Source(name, (Service(1.0, tuple(prompt * end for end in ends), tuple(output * end for end in ends)),))


SHARES = (0.0, 0.05, 0.15, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 0.93, 0.97, 0.99, 0.995, 0.999, 1.0)
"""Shares of a class of requests below each fitted quantile."""


def fitted_services(name: str) -> tuple[Service, ...]:
    """Return services fitted to Azure's LLM traces of 2023."""
    # Azure LLM inference traces of 2023, CC-BY 4.0 (Splitwise, ISCA 2024).
    text = (Path(__file__).parent / "services.json").read_text(encoding="utf-8")
    return tuple(Service(weight, tuple(p), tuple(o), SHARES) for weight, p, o in json.loads(text)[name])


def named_sources() -> dict[str, Source]:
    sources = (
        Source("llm/conv-like", fitted_services("conversation"), 0.045, 333.0),
        Source("llm/code-like", fitted_services("code"), 1.08, 151.0),
        between("llm/random-1000-5000", 1000, 5000, 0.2),
        between("llm/theorem", 129, 113, 0.0),  # Dai, Deng, Li, Peng, Fig. 1
    )
    return {source.name: source for source in sources}


def find_source(text: str | Source | Requests) -> Source:
    """Find a source: name, PROMPT+OUTPUT, PROMPT+OUTPUT~RATIO, or file. Raises InputError."""
    if isinstance(text, Source):
        return text
    if isinstance(text, Requests):
        return Source(text.name, table=text)
    sources = named_sources()
    if text in sources:
        return sources[text]
    if (lengths := LENGTHS.fullmatch(text)) is not None:
        prompt, output, ratio = int(lengths[1]), int(lengths[2]), float(lengths[3] or 0)
        if prompt < 1 or output < 1 or ratio >= 1:
            raise InputError(f"requests {text!r}: lengths from 1 on, and a ratio from 0 to below 1")
        return between(text, prompt, output, ratio)
    if Path(text).suffix or Path(text).is_file():
        from packenv_llm.readers import read_requests

        table = read_requests(Path(text))
        return Source(table.name, table=table)
    forms = "a file, or lengths such as 1000+200 or 1000+200~0.2"
    raise InputError(f"unknown requests {text!r}{nearest(text, [*sources])}, {forms}")
