"""Rows of random workloads: functions of seed, column and index.

The generator is counter-based. Draw number `index` of a column is the SplitMix64 finaliser (Steele, Lea and Flood, OOPSLA
2014) of key + index · golden, where the key is a hash of seed and column. So the size of the chunks, the place in a batch,
the policy and the load never change a row. Only arrival times are sums, which the stream carries from row to row.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import apart, compiled
from packenv.units import UNIT
from packenv.workloads.laws.encoding import (
    BERNOULLI,
    CONDITIONAL,
    EXPONENTIAL,
    GEOMETRIC,
    LINEAR,
    LOGNORMAL,
    MIXTURE,
    MODULATED,
    NONE,
    PARETO,
    PERIODIC,
    STEPS,
    UNIFORM,
    Builder,
    Laws,
)

NO_LAWS: Laws = Builder().laws()
"""The laws of a source that is a Jobs table: none."""

LATEST = 2.0**60
"""Limit of arrivals, beyond any run; services are limited to 2^53 slots."""

stream_type = np.dtype(
    [
        ("first_row", "i8"),  # row at the start of the chunk
        ("filled", "i8"),  # rows in the chunk
        ("ended", "i8"),  # 1 if this is the last chunk
        ("rate", "f8"),  # jobs per slot
        ("arrival_key", "u8"),  # keys of the columns: hashes of the seed
        ("batch_key", "u8"),
        ("phase_key", "u8"),
        ("size_key", "u8"),
        ("service_key", "u8"),
        ("job", "i8"),  # the last job that has begun, NONE before the first
        ("unseen", "i8"),  # number of its tasks that are not drawn yet
        ("slot", "i8"),  # the slot in which it arrives
        ("clock", "f8"),  # time of its arrival, in mean interarrival times (in slots for modulated arrivals)
        ("phase", "i8"),  # modulating phase
        ("phase_end", "f8"),  # slots
        ("sojourns", "i8"),  # number of phases begun
    ],
    align=True,
)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S12 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(12)


@compiled
def mix(word: np.uint64) -> np.uint64:
    """Apply SplitMix64's finaliser, a bijection with independent-looking results."""
    word = (word ^ (word >> S30)) * FIRST
    word = (word ^ (word >> S27)) * SECOND
    return word ^ (word >> S31)


@compiled
def word_at(key: np.uint64, index: int) -> np.uint64:
    """Return random word number `index` of the column with this key."""
    return mix(key + np.uint64(index) * GOLDEN)


@compiled
def uniform(word: np.uint64) -> float:
    """Map a word to one of 2^52 cells' middles in (0, 1)."""
    return (float(word >> S12) + 0.5) * 2.0**-52


@compiled
def another(word: np.uint64) -> np.uint64:
    """Return a second random word for the same draw."""
    return mix(word + FIRST)


@compiled
def row_above(table: NDArray[np.float64], first: int, count: int, u: float) -> int:
    """Return the first row whose cumulative weight exceeds u."""
    low, high = first, first + count - 1
    while low < high:
        middle = (low + high) >> 1
        if table[middle, 0] > u:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def interpolate(table: NDArray[np.float64], first: int, count: int, u: float) -> float:
    """Return the u-quantile of a piecewise-linear distribution function of rows."""
    k = row_above(table, first, count, u)
    share: float = (u - table[k - 1, 0]) / (table[k, 0] - table[k - 1, 0])
    low, high = float(table[k - 1, 1]), float(table[k, 1])
    return min(low + share * (high - low), high)


@apart
def draw(laws: Laws, number: int, word: np.uint64) -> float:
    """Draw from node `number` by inversion (log-normal: Box-Muller)."""
    node = laws.node[number]
    u = uniform(word)
    # A mixture leads to one of its laws, which has a number of its own to draw with.
    while node.kind == MIXTURE:
        k = row_above(laws.table, node.first, node.count, u)
        node = laws.node[int(laws.table[k, 1])]
        word = another(word)
        u = uniform(word)
    # Invert the distribution function of the law.
    x: float = node.a  # CONSTANT
    if node.kind == UNIFORM:
        x = min(node.a + u * node.b, node.c)
    elif node.kind == EXPONENTIAL:
        x = min(-node.a * math.log(1.0 - u * node.b), node.c)
    elif node.kind == GEOMETRIC:
        x = 1.0 + math.floor(-node.a * math.log(u))
    elif node.kind == STEPS:
        x = laws.table[row_above(laws.table, node.first, node.count, u), 1]
    elif node.kind == LINEAR:
        x = interpolate(laws.table, node.first, node.count, u)
    elif node.kind == PARETO:
        x = min(node.a * (1.0 - u * node.b) ** laws.table[node.first, 1], node.c)
    elif node.kind == LOGNORMAL:
        angle = 2.0 * math.pi * uniform(another(word))
        x = math.exp(node.a + node.b * math.sqrt(-2.0 * math.log(u)) * math.cos(angle))
    return x


def rows_drawn(laws: Laws, number: int, key: int, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of a mixture's or discrete law's table behind each draw.

    index  (n,) places in the column with this key
    """
    node = laws.node[number]
    words = inspect.unwrap(mix)(np.uint64(key) + index.astype(np.uint64) * GOLDEN)
    weights = laws.table[node["first"] : node["first"] + node["count"], 0]
    return np.searchsorted(weights, ((words >> S12) + 0.5) * 2.0**-52, side="right")


@compiled
def whole(x: float) -> int:
    """Round a draw up to slots or tasks, at least 1."""
    return int(min(max(math.ceil(x), 1.0), 2.0**53))


@compiled
def units_of(x: float) -> int:
    """Round a draw to integer units, like `packenv.units.to_units`."""
    units = math.floor(x * UNIT + 1e-3)
    return 1 if units == 0 and x > 0.0 else units


@compiled
def begin_phase(laws: Laws, stream: Any) -> None:
    """Begin the next phase, stationary at first, and draw its end."""
    phases = laws.phase.shape[0]
    word = word_at(stream.phase_key, stream.sojourns)
    u = uniform(word)
    # Choose the phase: by its share of time at first, then in order or at random.
    if stream.sojourns == 0:
        stream.phase = 0
        while laws.phase[stream.phase, 2] <= u:
            stream.phase += 1
    elif laws.plan[0].cyclic == 1:
        stream.phase = (stream.phase + 1) % phases
    elif phases > 1:
        place = min(int(u * (phases - 1)), phases - 2)
        stream.phase = place + (1 if place >= stream.phase else 0)
    # Draw an exponential sojourn in it.
    stream.phase_end += -laws.phase[stream.phase, 1] * math.log(uniform(another(word)))
    stream.sojourns += 1


@compiled
def modulated_time(laws: Laws, stream: Any, hazard: float) -> float:
    """Return when the modulated rate's integral from stream.clock reaches `hazard`."""
    if stream.sojourns == 0:
        begin_phase(laws, stream)
    time: float = stream.clock
    # Integrate the rate phase by phase.
    while True:
        rate: float = stream.rate * laws.phase[stream.phase, 0]
        if hazard <= (stream.phase_end - time) * rate:
            return time + hazard / rate
        hazard -= (stream.phase_end - time) * rate
        time = stream.phase_end
        begin_phase(laws, stream)


@compiled
def next_job(laws: Laws, stream: Any) -> None:
    """Draw the next job's arrival slot and number of tasks."""
    plan = laws.plan[0]
    stream.job += 1
    # The time to the next arrival, exponential of mean 1: at once in slots, or as a time in units of the rate.
    wait = -math.log(uniform(word_at(stream.arrival_key, stream.job)))
    if plan.arrivals == BERNOULLI:
        stream.slot += 1 + int(min(wait / -math.log1p(-stream.rate), LATEST - stream.slot))
    else:
        if plan.arrivals == MODULATED:
            stream.clock = modulated_time(laws, stream, wait)
            time = stream.clock
        else:
            stream.clock += wait
            time = stream.clock / stream.rate
        # The clock of a constant rate, bent to the profile of the period.
        if plan.arrivals == PERIODIC:
            profile = laws.node[plan.profile]
            turns = math.floor(time / plan.period)
            within = min(time / plan.period - turns, 1.0 - 2.0**-53)
            time = (turns + interpolate(laws.table, profile.first, profile.count, within)) * plan.period
        stream.slot = int(min(time, LATEST))
    stream.unseen = 1
    # Tasks that come together.
    if plan.batch != NONE:
        stream.unseen = whole(draw(laws, plan.batch, word_at(stream.batch_key, stream.job)))


@compiled
def fill_chunk(
    laws: Laws,
    stream: Any,  # one record of stream_type; its rows from first_row on are written
    arrival: NDArray[np.int64],  # (n,) slots
    demand: NDArray[np.int64],  # (n, D) units
    service: NDArray[np.int64],  # (n,) slots
    job: NDArray[np.int64],  # (n,) or (0,)
) -> int:
    """Draw the workload's next n rows, and return n."""
    plan = laws.plan[0]
    resources = demand.shape[1]
    rows: int = arrival.shape[0]
    for k in range(rows):
        row = stream.first_row + k
        # The arrival.
        if stream.unseen == 0:
            next_job(laws, stream)
        stream.unseen -= 1
        arrival[k] = stream.slot
        if job.shape[0] > 0:
            job[k] = stream.job
        # The demand, of tasks of one job the same if they are alike: a vector of a list, or one draw a resource.
        like = stream.job if plan.alike == 1 else row
        serve = plan.service
        if plan.vectors != NONE:
            v = int(draw(laws, plan.vectors, word_at(stream.size_key, like)))
            for r in range(resources):
                demand[k, r] = laws.vector[v, r]
            if laws.node[serve].kind == CONDITIONAL:
                serve = int(laws.table[laws.node[serve].first + v, 1])
        else:
            for r in range(resources):
                demand[k, r] = units_of(draw(laws, laws.size[r], word_at(stream.size_key, like * resources + r)))
        # The service.
        service[k] = whole(draw(laws, serve, word_at(stream.service_key, row)))
    return rows


@compiled
def begin(stream: Any, seed: int, rate: float) -> None:
    """Set a stream to before row 0, with `rate` jobs per slot."""
    start = mix(np.uint64(seed) + GOLDEN)
    stream.first_row = 0
    stream.filled = 0
    stream.ended = 0
    stream.rate = rate
    stream.arrival_key = word_at(start, 1)
    stream.batch_key = word_at(start, 2)
    stream.phase_key = word_at(start, 3)
    stream.size_key = word_at(start, 4)
    stream.service_key = word_at(start, 5)
    stream.job = NONE
    stream.unseen = 0
    stream.slot = -1
    stream.clock = 0.0
    stream.phase = 0
    stream.phase_end = 0.0
    stream.sojourns = 0
