"""Row i is a pure function of (seed, i): chunk, batch, process and load do not change it."""

import resource
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packenv.errors import InputError
from packenv.units import to_units
from packenv.workloads.laws import Beta, Conditional, Discrete, Exponential, Geometric, Joint, LogNormal, Mixture, Uniform
from packenv.workloads.laws.arrivals import Batch, Bernoulli, Modulated, Periodic, Poisson
from packenv.workloads.source import refill
from packenv.workloads.workload import Workload

PROCESSES = [
    Poisson(),
    Bernoulli(),
    Periodic([1, 0, 3], 50),
    Modulated([1, 10], [300, 30]),
    Modulated([0, 1, 5], [20, 30, 40], next="uniform"),
    Batch(Geometric(3)),
    Batch(Discrete([1, 4]), Bernoulli(), alike=False),
    Batch(Geometric(3), Modulated([1, 10], [300, 30])),
    Batch(Geometric(3), Periodic([2, 1], 7)),
]
DEMANDS = [
    (Uniform(0.1, 0.9), Geometric(100)),
    (Mixture([Exponential(0.1), Beta(2, 5)]), LogNormal(50, 2)),
    ((Uniform(0.1, 0.5), Discrete([0.1, 0.9])), Geometric(10)),
    (Joint([[0.5, 0.1], [0.1, 0.5]]), Conditional([Geometric(5), Geometric(50)])),
]


def a_workload(arrivals, demand=0, rate=0.3):
    sizes, service = DEMANDS[demand]
    return Workload(sizes=sizes, service=service, servers=3, arrivals=arrivals, rate=rate)


def columns(source, e, rows):
    """The first `rows` rows that cluster e sees."""
    parts = {"arrival": [], "demand": [], "service": [], "job": []}
    while sum(map(len, parts["arrival"])) < rows:
        refill(source, e)
        for name, chunks in parts.items():
            chunks.append(getattr(source, name)[e].copy())
    return {name: np.concatenate(chunks)[:rows] for name, chunks in parts.items()}


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in a)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(PROCESSES),
    st.integers(0, len(DEMANDS) - 1),
    st.integers(0, 2**63 - 1),
    st.lists(st.integers(1, 300), min_size=1, max_size=4),
    st.sampled_from([0.01, 0.3, 0.9]),
)
def test_chunk_and_batch_row_do_not_change_a_row(arrivals, demand, seed, chunks, rate):
    workload = a_workload(arrivals, demand, rate)
    alone = columns(workload.source([seed], chunk=500), 0, 500)
    assert (np.diff(alone["arrival"]) >= 0).all()
    for place, chunk in enumerate(chunks):
        batch = [7] * place + [seed] + [9] * (3 - place)
        assert same(alone, columns(workload.source(batch, chunk=chunk), place, 500))


@pytest.mark.parametrize("arrivals", PROCESSES, ids=str)
def test_jobs_table_is_what_a_run_sees(arrivals):
    workload = a_workload(arrivals)
    table, seen = workload.jobs_table(5, 3000), columns(workload.source([5]), 0, 3000)
    assert np.array_equal(table.arrival, seen["arrival"]) and np.array_equal(table.demand, seen["demand"])
    assert np.array_equal(table.service, seen["service"])
    assert (table.job is None) != isinstance(arrivals, Batch)


SCRIPT = """
import zlib
from tests.workloads.test_rows import PROCESSES, a_workload, checksum
print([checksum(a_workload(arrivals, demand)) for arrivals in PROCESSES for demand in range(4)])
"""


def checksum(workload):
    table = workload.jobs_table(11, 2000)
    return zlib.crc32(table.arrival.tobytes() + table.demand.tobytes() + table.service.tobytes())


def test_another_process_makes_the_same_rows():
    here = [checksum(a_workload(arrivals, demand)) for arrivals in PROCESSES for demand in range(4)]
    there = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
    assert there.strip() == str(here)
    assert len(set(here)) == len(here)


@pytest.mark.parametrize("arrivals", PROCESSES, ids=str)
def test_load_changes_arrivals_only(arrivals):
    slow, fast = (a_workload(arrivals, rate=rate).jobs_table(3, 2000) for rate in (0.05, 0.5))
    assert np.array_equal(slow.demand, fast.demand) and np.array_equal(slow.service, fast.service)
    assert (slow.arrival >= fast.arrival).all() and slow.arrival[-1] > fast.arrival[-1]


def test_poisson_load_sweep_scales_the_same_arrivals():
    fine, coarse = (a_workload(Poisson(), rate=rate).jobs_table(3, 5000).arrival for rate in (2.0**-12, 2.0**-4))
    assert np.array_equal(fine >> 8, coarse)


def reference_uniform(seed, column, index):
    """The generator once more, in Python's integers."""
    golden, mask = 0x9E3779B97F4A7C15, 2**64 - 1

    def mix(word):
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & mask
        word = (word ^ word >> 27) * 0x94D049BB133111EB & mask
        return word ^ word >> 31

    key = mix(mix(seed + golden & mask) + column * golden & mask)
    return ((mix(key + index * golden & mask) >> 12) + 0.5) / 2**52


@pytest.mark.parametrize("first", [0, 2**40, 2**61])
def test_rows_are_a_function_of_seed_column_and_index(first):
    workload = a_workload(Poisson(), rate=0.5)
    source = workload.source([2**62 + 5], chunk=50)
    source.stream["first_row"], source.stream["job"], source.stream["clock"] = first, first - 1, float(first)
    refill(source, 0)
    uniforms = {c: np.array([reference_uniform(2**62 + 5, c, first + k) for k in range(50)]) for c in (1, 4, 5)}
    clock = np.cumsum(np.concatenate([[float(first)], -np.log(uniforms[1])]))[1:]
    assert np.abs(source.arrival[0] - np.minimum(clock // 0.5, 2.0**60)).max() <= 1
    assert np.array_equal(source.demand[0, :, 0], to_units(0.1 + uniforms[4] * 0.8))
    assert np.array_equal(source.service[0], 1 + np.floor(np.log(uniforms[5]) / np.log1p(-1 / 100)).astype(int))


def test_splitmix64_is_splitmix64():
    """First outputs of the published generator with state 0."""
    from packenv.compiled.decorators import compiled
    from packenv.workloads.sampling import word_at

    @compiled
    def words(key, index):
        return word_at(key, index)

    assert hex(words(np.uint64(0), 1)) == "0xe220a8397b1dcdaf"
    assert hex(words(np.uint64(0), 2)) == "0x6e789e6aa1b965f4"


def test_columns_seeds_and_neighbours_are_uncorrelated():
    workload = a_workload(Poisson(), demand=2)
    series = []
    for seed in (0, 1, 2, 2**40):
        table = workload.jobs_table(seed, 50_000)
        first, second = table.demand.T
        series += [first, second, table.service, np.diff(table.arrival, prepend=0), np.roll(first, 1), np.roll(second, 1)]
    matrix = np.corrcoef(np.array(series, float)) - np.eye(len(series))
    assert np.abs(matrix).max() < 5 / np.sqrt(50_000)


@pytest.mark.parametrize("arrivals", [Poisson(), Batch(Geometric(3), Modulated([1, 10], [300, 30]))], ids=str)
def test_memory_stays_flat(arrivals):
    source = a_workload(arrivals).source([0], chunk=4096)
    refill(source, 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10_000_000 // 4096):
        refill(source, 0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KiB
    assert source.stream["first_row"][0] == 10_000_000 // 4096 * 4096


def test_a_table_is_one_chunk():
    table = a_workload(Batch(Geometric(2))).jobs_table(0, 100)
    source = Workload(jobs=table, servers=3).source([0, 1])
    assert source.stream["ended"][0] == 1 and source.stream["filled"][0] == 100
    assert source.arrival.shape == (1, 100) and source.job.shape == (1, 100)


def test_large_batches_have_short_chunks():
    assert a_workload(Poisson()).source(range(4096)).arrival.shape == (4096, 256)
    assert a_workload(Poisson()).source([0]).arrival.shape == (1, 1024)


@pytest.mark.parametrize("seeds", [[], [-1], [2**63]])
def test_bad_seeds(seeds):
    with pytest.raises(InputError):
        a_workload(Poisson()).source(seeds)
