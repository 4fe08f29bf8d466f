"""Statistics worked by hand, and workloads fitted to made-up traces whose laws are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from packenv.cli.main import main
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.units import to_units
from packenv.workloads.fitting import profile as profile_module
from packenv.workloads.fitting.laws import Phases, cells, fit_phases, group, job_sizes, phase_dispersion, significant
from packenv.workloads.fitting.profile import describe, goodness, kept_sample, profile, shares_of
from packenv.workloads.fitting.statistics import Sample, correlations, dispersion, ks_distance, spread, summary
from packenv.workloads.laws import Conditional, Discrete, Geometric, Joint
from packenv.workloads.laws.arrivals import Batch, Modulated
from packenv.workloads.traces import Trace, read_trace
from packenv.workloads.workload import Workload, load_workload
from tests.workloads.traces import samples
from tests.workloads.traces.samples import native_folder


def sample(submit: list[float], size: list[float], duration: list[float], job: list[int] | None = None) -> Sample:
    jobs = None if job is None else np.array(job)
    return Sample(np.array(submit), np.array(size)[:, None], np.array(duration), jobs, ("cpu",))


def test_summary_by_hand() -> None:
    found = summary(sample([0, 0, 4, 10], [0.5, 0.25, 0.25, 0.5], [10, 20, np.nan, 4], [1, 1, 2, 3]))
    assert (found["tasks"], found["jobs"], found["span_s"], found["tasks_per_s"]) == (4, 3, 10.0, 0.4)
    assert found["distinct"] == {"cpu": 2, "joint": 2, "size": 2}
    assert found["offered_load"] == {"size": 1.2, "cpu": 1.2}
    assert found["tasks_per_job"]["max"] == 2.0
    assert found["interarrival_cv"] == pytest.approx(np.std([0, 4, 6]) / (10 / 3), abs=1e-5)
    assert found["dispersion"]["10"] is None


def test_dispersion_counts_whole_windows() -> None:
    # windows of 1 s: 3, 0, 1, 0, 0 tasks, and the last task opens a window that is not whole
    assert dispersion(np.array([0.0, 0.1, 0.2, 2.5, 5.0]), 1.0) == pytest.approx(1.36 / 0.8)
    assert dispersion(np.array([0.0, 4.9]), 1.0) is None


def test_correlations_and_distance() -> None:
    demand = np.array([[1.0, 1.0], [2.0, 4.0], [3.0, 9.0], [4.0, 16.0]])
    made = Sample(np.arange(4.0), demand, np.array([4.0, 3.0, 2.0, 1.0]), None, ("a", "b"))
    found = correlations(made)
    assert found["a, b"]["spearman"] == pytest.approx(1.0)
    assert found["a, b"]["pearson"] == pytest.approx(0.984374)
    assert found["size, duration"]["spearman"] == pytest.approx(-1.0)
    assert ks_distance([1, 2, 3, 4], [3, 4, 5, 6]) == pytest.approx(0.5)
    assert ks_distance([1, 1, 2], [1, 1, 2]) == 0.0
    assert spread([]) == {"mean": None}


def test_describe_counts(tmp_path: Path) -> None:
    found = describe(read_trace(native_folder(tmp_path)))
    assert (found["rows"], found["in_snapshot"], found["submitted"], found["kept"]) == (9, 2, 7, 3)
    assert found["distinct"]["rows"] == {"cpu": 6, "memory": 4, "joint": 6, "size": 5}
    assert sum(found["dropped"].values()) == 7
    assert found["kept_tasks"]["offered_load"]["size"] == pytest.approx((0.25 * 0.200001 + 0.3 * 1.0) / 0.4, rel=1e-5)
    json.dumps(found, allow_nan=False)


def test_cells_keep_mean_and_range() -> None:
    random = np.random.default_rng(0)
    for values in (random.lognormal(5, 1, 5_000), random.lognormal(5, 1, 37), np.array([3.0, 3.0, 3.0]), np.array([7.0])):
        edges, weights = cells(values)
        assert np.all(np.diff(edges) > 0)
        assert weights.sum() == pytest.approx(1.0)
        assert weights @ (edges[1:] + edges[:-1]) / 2 == pytest.approx(values.mean(), rel=0.03)
        assert edges[-1] <= significant(values.max()[None])[0]


def test_groups_are_few_and_keep_the_work() -> None:
    random = np.random.default_rng(0)
    levels = random.uniform(0.01, 0.5, (300, 2))
    demand = levels[np.minimum(random.geometric(0.02, 20_000), 300) - 1]
    made = Sample(np.arange(20_000.0), demand, random.exponential(100, 20_000), None, ("a", "b"))
    groups = group(made)
    assert len(groups.weights) <= 60
    assert groups.weights.sum() == pytest.approx(1.0)
    work = groups.vectors[groups.member] * made.duration[:, None]
    assert work.sum(axis=0) == pytest.approx((made.demand * made.duration[:, None]).sum(axis=0), rel=1e-3)


def test_job_sizes_keep_small_ones_and_the_mean() -> None:
    tasks = np.concatenate([np.ones(500), np.full(50, 2), np.arange(100, 600)]).astype(np.int64)
    values, weights = job_sizes(tasks)
    assert values[:2].tolist() == [1, 2]
    assert len(values) <= 60
    assert weights @ values == pytest.approx(tasks.mean(), rel=0.01)


def test_shares_sum_to_one_exactly() -> None:
    assert sum(round(share * 1e6) for share in shares_of(np.full(7, 1 / 7))) == 1_000_000


def test_phase_dispersion_of_a_constant_rate_and_in_the_limit() -> None:
    assert phase_dispersion(Phases(np.ones(3), np.array([1.0, 2.0, 3.0])), 5.0, (1.0, 100.0)) == pytest.approx([1.0, 1.0])
    # two phases, rates 0 and 2, sojourns 10 s: c(u) = exp(-u/5) at mean 1, so 1 + 2·5 as the window grows
    on_off = Phases(np.array([0.0, 2.0]), np.array([10.0, 10.0]))
    assert phase_dispersion(on_off, 1.0, (1e7,)) == pytest.approx([11.0], rel=1e-4)


def test_simulated_phases_have_the_dispersion_of_the_formula() -> None:
    phases = Phases(np.array([0.2, 3.0, 20.0]), np.array([400.0, 60.0, 5.0]))
    arrivals = Modulated(phases.rates.tolist(), phases.sojourns.tolist(), next="uniform")
    workload = Workload(sizes=Discrete([0.5]), service=Geometric(2), servers=9, arrivals=arrivals, rate=0.5)
    submit = workload.jobs_table(1, 500_000).arrival.astype(np.float64)
    expected = phase_dispersion(phases, 0.5, (10.0, 60.0))
    assert [dispersion(submit, 10), dispersion(submit, 60)] == pytest.approx(expected, rel=0.1)


@pytest.fixture(scope="module")
def known() -> Workload:
    vectors = [[0.1, 0.02], [0.05, 0.2], [0.3, 0.3]]
    return Workload(
        sizes=Joint(vectors, [0.5, 0.3, 0.2]),
        service=Conditional([Geometric(50), Geometric(500), Geometric(200)]),
        arrivals=Batch(Discrete([1, 2, 20], [0.6, 0.3, 0.1]), Modulated([0.5, 6.0], [500.0, 50.0]), alike=True),
        servers=40,
        rate=0.5,
        resources=("cpu", "memory"),
        slot_seconds=1.0,
    )


@pytest.mark.slow
def test_a_known_workload_is_found_again(known: Workload) -> None:
    trace = Trace.in_slots(known.jobs_table(3, 100_000), ("cpu", "memory"), "made-up")
    found = profile(trace, "again", slot_seconds=1)
    again = Workload.from_dict(found["workload"])
    assert again.name == "again"
    assert again.resources == ("cpu", "memory")
    assert again.rate == pytest.approx(100_000 / int(trace.table.arrival[-1] - trace.table.arrival[0]), rel=1e-5)
    assert again.rate == pytest.approx(known.rate, rel=0.1)  # jobs are bursty: 100,000 tasks have about 7 % of scatter
    assert again.mean_service == pytest.approx(known.mean_service, rel=0.03)
    assert again.mean_size == pytest.approx(known.mean_size, rel=0.03)
    load = found["match"]["expected_load"]
    for name, (here, _) in found["match"]["offered_load"].items():
        assert load[name] == pytest.approx(here, rel=0.01)
    assert max(found["match"]["ks"].values()) < 0.05
    assert {len(law["edges"]) for law in found["workload"]["service"]["laws"]} <= {15, 16}  # two quantiles may coincide


def test_goodness_sees_a_wrong_workload(known: Workload) -> None:
    rows = known.jobs_table(3, 50_000)
    slower = Jobs(rows.arrival, to_units(rows.demand / 3e6), rows.service * 2, rows.job)
    match = goodness(known, slower, slot_seconds=1)
    assert match["ks"]["duration_s"] > 0.1
    assert match["ks"]["size"] > 0.2


def test_a_trace_without_jobs_or_time(known: Workload) -> None:
    alone = Trace.in_slots(Jobs.of([0, 0, 0], [0.5, 0.5, 0.5], [1, 1, 1]), ("size",), "at once")
    with pytest.raises(InputError, match="at once: a profile needs tasks with at least two submission times"):
        profile(alone, "x")
    random = np.random.default_rng(0)
    arrival = np.cumsum(random.geometric(0.3, 3_000))
    single = Trace.in_slots(Jobs.of(arrival, random.uniform(0.1, 0.9, 3_000), random.geometric(0.01, 3_000)), ("size",), "single")
    found = profile(single, "single-like", servers=7)
    assert found["workload"]["arrivals"]["size"] == {"type": "Discrete", "values": [1.0], "weights": [1.0]}
    assert len(Workload.from_dict(found["workload"]).servers) == 7
    assert found["match"]["ks"]["duration_s"] < 0.05


def test_phases_of_a_short_sample_are_one() -> None:
    made = kept_sample(Jobs.of([0, 9], [0.5, 0.5], [1, 1]))
    assert fit_phases(made).rates.tolist() == [1.0]


def cores(folder: Path) -> Path:
    """Eight cores and 32 GB for 100 s at 0 s and at 100 s: 16 cores and 64 GB in use over the 100 s between."""
    samples.text(folder / "cores.csv", "At,For,Cores,GB", "0,100,8,32", "100,100,8,32")
    return folder / "cores.csv"


OURS = ("--columns", "submit_time_s=At,duration_s=For,cpu=Cores,memory=GB")


def test_servers_in_the_users_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two servers of 32 cores and 64 GB they take a quarter of the cores, half of the memory; there is no size."""
    path, out = str(cores(tmp_path)), tmp_path / "described.json"
    main(["trace", "describe", path, *OURS, "--servers", "2x32:64", "--json", str(out)])
    found = json.loads(out.read_text())["servers"]
    assert found["share"] == {"size": None, "cpu": 0.25, "memory": 0.5}
    assert found["like"] == {"size": None, "cpu": 0.5, "memory": 1}
    printed = capsys.readouterr().out
    assert "share of 2x32:64" in printed and "size" not in printed  # cores and GB have no maximum
    main(["trace", "describe", path, *OURS, "--servers", "4x64", "--json", str(out)])
    assert json.loads(out.read_text())["servers"]["share"] == {"size": 0.25, "cpu": 0.0625, "memory": 0.25}
    with pytest.raises(SystemExit):
        main(["trace", "describe", path, *OURS, "--servers", "2x32:64:1"])
    assert "--servers 2x32:64:1: 3 capacities, and the trace has 2: cpu, memory" in capsys.readouterr().err


def test_a_workload_like_a_trace_in_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(profile_module, "COMPARED_TASKS", 2000)
    path, out = str(cores(tmp_path)), tmp_path / "like.json"
    with pytest.raises(SystemExit):
        main(["trace", "profile", path, *OURS])
    asked = "tasks need up to 8 of cpu, 32 of memory: give their capacities, such as --servers 1x64:256"
    assert asked in capsys.readouterr().err
    main(["trace", "profile", path, *OURS, "--servers", "2x32:64", "--out", str(out)])
    assert "size" not in capsys.readouterr().out
    fitted = load_workload(out)
    assert str(fitted.servers) == "2x32:64" and fitted.sizes.mean().tolist() == [8, 32]  # type: ignore[union-attr]
    main(["evaluate", str(out), "-p", "fifo-ff", "--slots", "100"])  # with the resources of the file
    assert "2 servers" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["evaluate", str(out), "-p", "fifo-ff", "--slots", "100", "--resources", "max"])
    assert "has no single size: use --resources all" in capsys.readouterr().err
