"""The workload as a whole: what it knows, refuses, and keeps through a file."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.theory.stability.judgment import Lasting
from packenv.units import UNIT
from packenv.workloads.find import workload
from packenv.workloads.laws import (
    Beta,
    Conditional,
    Constant,
    Discrete,
    Empirical,
    Exponential,
    Fixed,
    Geometric,
    Histogram,
    HyperExponential,
    Joint,
    LogNormal,
    Mixture,
    Pareto,
    Uniform,
)
from packenv.workloads.laws.arrivals import Batch, Bernoulli, Modulated, Periodic
from packenv.workloads.named.registry import names
from packenv.workloads.workload import Workload, load_workload


def small(**changes):
    return Workload(**{"sizes": Uniform(0.1, 0.9), "service": Geometric(100), "servers": 5, "rate": 0.05} | changes)


@pytest.mark.parametrize(
    ("name", "levels", "rate", "intensity", "area_bound", "largest"),
    [
        ("paper/fig3a", 2, 0.014, 0.7, 2.0, 0.6),
        ("paper/fig3b", 3, 0.0306, 0.918, 10 / 3, 5.0),
        ("paper/fig4a", 7, 0.45, 0.9, 50.0, 0.19),
        ("paper/fig4b", 4, 0.09, 0.9, 10.0, 0.9),
    ],
)
def test_the_papers_workloads(name, levels, rate, intensity, area_bound, largest):
    named = workload(name)
    assert named.name == name and named.D == 1
    assert named.default_levels() == levels
    assert named.rate == pytest.approx(rate) and named.intensity == pytest.approx(intensity)
    assert named.area_bound == pytest.approx(area_bound)
    assert named.largest_size() == int(largest * UNIT + 1e-3)


def test_what_is_offered():
    one = small(intensity=0.9, rate=None)
    assert one.rate == pytest.approx(0.09) and one.mean_service == 100 and one.mean_size == pytest.approx([0.5])
    assert one.with_(rate=0.05).intensity == pytest.approx(0.5)
    assert one.with_(servers=10).rate == pytest.approx(0.18)
    assert one.with_(service=LogNormal(50, 1)).intensity == 0.9
    assert one.with_(sizes=Uniform(0.1, 0.3), rate=0.2).given == ("rate", 0.2)
    assert one.with_(load=0.5).load == 0.5 and one.load is None
    with pytest.raises(InputError, match=r"load is a share of rho\*: packenv\.resolved"):
        _ = one.with_(load=0.5).rate
    with pytest.raises(InputError, match="load is a share"):
        one.with_(load=0.5).source([0])
    assert one.with_(load=0.5).with_(intensity=0.9) == one


def test_area_bound_of_several_resources():
    two = small(sizes=(Constant(0.5), Constant(0.1)), servers="3x1:0.5,1x1:0.25")
    assert two.area_bound == pytest.approx(min(4 / 0.5, 1.75 / 0.1))
    unused = small(sizes=Joint([[0.5, 0.0]]), servers=[[1.0, 0.0]])
    assert unused.area_bound == 2 and unused.largest_size() == UNIT // 2 and unused.default_levels() == 2


def test_long_services_of_large_tasks_count_in_the_area():
    sizes = Joint([[0.2], [0.8]])
    linked = small(sizes=sizes, service=Conditional([Fixed(10), Fixed(90)]), servers=1)
    assert linked.mean_service == 50 and linked.mean_size == pytest.approx([0.5])
    assert linked.mean_size_in_service == pytest.approx([0.1 * 0.2 + 0.9 * 0.8])
    table = Workload(jobs=linked.jobs_table(0, 20_000), servers=1)
    assert table.mean_size_in_service == pytest.approx(linked.mean_size_in_service, rel=0.02)
    assert table.area_bound == pytest.approx(linked.area_bound, rel=0.02)


def test_a_table_is_a_workload():
    jobs = Jobs.of([0, 1, 9], [0.5, 0.25, 0.25], [4, 2, 3])
    table = Workload(jobs=jobs, servers=2, name="three")
    assert table.D == 1 and table.mean_service == 3 and table.mean_size == pytest.approx([1 / 3]) and table.rate == 0.3
    assert table.largest_size() == UNIT // 2 and table.default_levels() == 3
    assert table.with_(servers=3).jobs is jobs and table.with_(servers=3) != table and table.with_() == table
    with pytest.raises(InputError, match=r"row 1: a demand of 0\.25 fits in no server"):
        Workload(jobs=jobs, servers="1x0.2")
    with pytest.raises(InputError, match="service and rate do not go with a Jobs table"):
        Workload(jobs=jobs, servers=1, service=Fixed(1), rate=1)
    with pytest.raises(InputError, match="table already"):
        table.jobs_table(0, 5)
    with pytest.raises(InputError, match="save it as a trace"):
        table.to_dict()


def test_tasks_of_a_table_come_faster_or_slower():
    jobs = Jobs.of([0, 5, 9], [0.5, 0.5, 0.5], [3, 3, 3])
    table = Workload(jobs=jobs, servers=1)
    slower, faster = table.with_(intensity=0.15), table.with_(rate=0.5)
    assert slower.jobs.arrival.tolist() == [0, 15, 27] and slower.intensity == pytest.approx(0.15, rel=0.1)
    assert faster.jobs.arrival.tolist() == [0, 3, 5] and faster.rate == 0.5
    assert table.with_(servers=2, intensity=0.15).jobs.arrival.tolist() == [0, 7, 13]
    for changes, problem in (
        ({"load": 0.5}, "custom is a table: give its intensity or rate in place of a load"),
        ({"intensity": 0.5, "rate": 1}, "give one of intensity and rate"),
        ({"intensity": 0}, "intensity must be positive"),
    ):
        with pytest.raises(InputError, match=problem):
            table.with_(**changes)
    with pytest.raises(InputError, match="all tasks arrive in slot 0"):
        Workload(jobs=Jobs.of([0, 0], [0.5, 0.5], [3, 3]), servers=1).with_(intensity=0.5)

    drawn = workload("gpu/openb-like", intensity=0.5)
    assert [drawn.intensity, drawn.at(3).intensity] == pytest.approx([0.5, 0.5], rel=1e-4)
    assert isinstance(drawn.draw, Lasting) and len(drawn.draw.longer(2)(0)) == 80_000


@pytest.mark.parametrize(
    ("sizes", "servers"),
    [
        (Uniform(0.002, 0.3), 1),
        (Exponential(0.05), 3),
        (Beta(2, 5, 0, 4), "2x4,1x1"),
        ((Uniform(0, 0.5), Uniform(0, 0.2)), [[1.0, 0.25], [0.5, 2.0]]),
        (Joint([[0.01, 0.2], [0.5, 0.01], [0.01, 0.01]], [0.5, 0.495, 0.005]), "2x1:3"),
    ],
)
def test_default_levels_against_a_sample(sizes, servers):
    setting = small(sizes=sizes, servers=servers)
    demand = setting.jobs_table(0, 100_000).demand
    share = (demand / setting.servers.units.max(axis=0)).max(axis=1)
    levels = setting.default_levels()
    assert np.mean(share <= 2.0**-levels) <= 0.0115
    assert levels == 2 or np.mean(share <= 2.0 ** (1 - levels)) > 0.0085
    assert Workload(jobs=setting.jobs_table(0, 100_000), servers=servers).default_levels() in (levels, levels + 1)
    assert (demand / setting.servers.units.max(axis=0)).max() <= setting.largest_size() / setting.servers.units.max() + 1e-6


def test_levels_stop_at_16():
    assert small(sizes=Pareto(1, 1e-6, 1)).default_levels() == 16


WORKLOADS = [
    small(),
    small(rate=None, load=0.7, arrivals=Bernoulli()),
    small(sizes=(Beta(2, 5), Discrete([0.1, 0.2], [0.3, 0.7])), servers="2x1:0.5,1x0.30000000000000004:2.25"),
    small(sizes=Joint([[0.1, 0.2], [0.5, 0.0]]), service=Conditional([Fixed(3), LogNormal(3, 1)])),
    small(rate=None, intensity=0.9, arrivals=Periodic([1, 2], 100)),
    small(sizes=Mixture([Constant(0.5), Exponential(0.1)], [0.4, 0.6]), service=Exponential(100, math.inf)),
    small(sizes=Histogram([0, 0.1, 0.4], [0.2, 0.8]), service=HyperExponential([1, 10]), arrivals=Modulated([1, 5], [9, 3])),
    small(sizes=Empirical([0.1, 0.1, 0.4]), service=Pareto(2, 1, 1000)),
    small(arrivals=Batch(Geometric(3), Modulated([1, 2], [5, 6], "uniform"), alike=False)),
    small(name="two", resources=("cpu",), slot_seconds=0.1),
]


@pytest.mark.parametrize("setting", WORKLOADS, ids=repr)
def test_json_round_trip(setting, tmp_path):
    assert Workload.from_dict(json.loads(json.dumps(setting.to_dict(), allow_nan=False))) == setting
    setting.save(tmp_path / "a.json")
    again = load_workload(tmp_path / "a.json")
    assert again == setting and hash(again) == hash(setting) and workload(tmp_path / "a.json") == setting
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    assert again.with_(rate=0.01).jobs_table(3, 50).demand.tolist() == setting.with_(rate=0.01).jobs_table(3, 50).demand.tolist()


def test_a_workload_may_lie_under_its_key(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"about": "…", "workload": small().to_dict()}))
    assert load_workload(tmp_path / "a.json") == small()


def test_a_failed_save_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.write_text", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        small().save(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(colour=1), "unknown key 'colour'"),
        (lambda d: d.update(ratee=1), "did you mean rate"),
        (lambda d: d["sizes"].update(lo=1), "sizes: unknown key 'lo'"),
        (lambda d: d["sizes"].update(type="Unifrom"), "sizes: unknown type 'Unifrom'; did you mean Uniform"),
        (lambda d: d["sizes"].pop("high"), "sizes: missing 1 required positional argument: 'high'"),
        (lambda d: d["sizes"].update(high=0.05), "sizes: uniform: high 0.05 must be above low 0.1"),
        (lambda d: d["sizes"].update(type=["Uniform"]), "sizes: unknown type \"['Uniform']\""),
        (lambda d: d.pop("servers"), "missing key 'servers'"),
        (lambda d: d.update(servers="5y1"), "servers '5y1'"),
        (lambda d: d.update(service="geometric"), "service must be a law"),
        (lambda d: d.update(intensity=0.9), "exactly one of load, intensity and rate, not intensity and rate"),
        (lambda d: d.update(arrivals={"type": "Batch", "size": {"type": "Fixed"}}), "arrivals.size: missing"),
    ],
)
def test_bad_files_name_file_and_key(change, says, tmp_path):
    plain = small().to_dict()
    change(plain)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(plain))
    with pytest.raises(InputError) as caught:
        load_workload(file)
    assert str(caught.value).startswith(str(file)) and says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "says"), [("{", "not JSON"), ("[]", "expected an object"), (None, "no such file")])
def test_files_that_are_no_workload(text, says, tmp_path):
    file = tmp_path / "bad.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=says):
        load_workload(file)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: small(rate=None), "not none"),
        (lambda: small(load=0.9), "not load and rate"),
        (lambda: small(rate=0), "rate must be positive"),
        (lambda: small(rate=math.inf), "rate must be positive and finite"),
        (lambda: small(rate=1e99), "1e+99 tasks per slot are too many: at most 5,000,000"),
        (lambda: small(rate=None, load=1).knowing(1e99, 1e99), "tasks per slot are too many"),
        (lambda: small(rate=None, intensity=90), "intensity 90: must be a share, such as 0.9, not per cent"),
        (lambda: small(rate=None, intensity=math.nan), "intensity must be positive"),
        (lambda: small(sizes=0.5), "sizes must be a law"),
        (lambda: small(sizes=()), "sizes must be a law"),
        (lambda: small(service=100), "service must be a law"),
        (lambda: small(service=Exponential(100)), "high=inf"),
        (lambda: small(service=Pareto(0.5, 1, math.inf)), "no finite mean"),
        (lambda: small(service=Conditional([Fixed(1)])), "needs Joint sizes"),
        (lambda: small(sizes=Joint([[1.0], [0.5]]), service=Conditional([Fixed(1)])), "one demand vector for each"),
        (lambda: small(sizes=Uniform(0.5, 1.5)), "a demand of 1.5 fits in no server; the largest has 1"),
        (lambda: small(sizes=(Constant(0.9), Constant(0.9)), servers="1x1:0.5,1x0.5:1"), "a demand of 0.9, 0.9 fits in no"),
        (lambda: small(sizes=Joint([[0.1, 0.2], [0.6, 0.6]]), servers="1x1:0.5,1x0.5:1"), "a demand of 0.6, 0.6 fits"),
        (lambda: small(sizes=Exponential(0.1, math.inf)), "unbounded"),
        (lambda: small(sizes=Discrete([0, 0.5])), "0 in every resource"),
        (lambda: small(servers="2x1:1"), "tasks have 1 resources, servers have 2"),
        (lambda: small(resources=("cpu", "memory")), "2 names of resources for 1"),
        (lambda: small(slot_seconds=0), "slot_seconds must be positive"),
        (lambda: small().with_(intensty=0.9), "did you mean intensity"),
        (lambda: small().jobs_table(0, 0), "at least 1 row"),
        (lambda: workload("paper/fig4c"), "did you mean paper/fig4"),
        (lambda: workload("paper/fig4b", rate=0.1, load=0.5), "not load and rate"),
    ],
)
def test_bad_workloads_get_one_line(make, says):
    with pytest.raises(InputError) as caught:
        make()
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_names():
    assert names()[:4] == ["paper/fig3a", "paper/fig3b", "paper/fig4a", "paper/fig4b"]
    assert workload("paper/fig4b", intensity=0.95).rate == pytest.approx(0.095)


def test_the_package_lends_its_names_without_loading_the_compiler():
    """And without the room for Kubernetes, also of those who name a workload."""
    script = "import sys, packenv.workloads as w; [getattr(w, name) for name in w.__all__]; print('numba' in sys.modules); "
    script += "import packenv; packenv.workload('paper/fig4b'); print('packenv_kubernetes' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_table_of_a_stream_has_a_row():
    """Also where nothing arrives before its end: then the row arrives later."""
    stream = workload("paper/fig4b", rate=0.001)
    table = stream.tabulated(0, 1).jobs
    assert len(table) == 1 and table.arrival[0] >= 1


def test_every_named_workload_makes_rows():
    for name in names():
        known = workload(name)
        table = known.jobs_table(0, 100) if known.jobs is None else known.jobs
        assert len(table) == 100 or known.jobs is not None
        assert table.resources == known.D


@pytest.mark.parametrize("size", [1e13, 1e18, 1e300])
def test_a_size_that_integers_cannot_hold_fits_in_no_server(size: float) -> None:
    with pytest.raises(InputError, match="fits in no server"):
        Workload(sizes=Discrete([size, 0.6]), service=Geometric(10), servers=1, rate=0.1)
    with pytest.raises(InputError, match="fits in no server"):
        Workload(jobs=Jobs.of([0, 0], [size, 0.6], [1, 1]), servers=1)
