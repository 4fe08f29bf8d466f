"""`packenv.evaluate` at several loads: the same runs as one load at a time, a figure, and as many seeds as `until` needs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import stdtrit

import packenv
from packenv.content.charts import LineChart
from packenv.content.tables import Column, Table, numbers
from packenv.options.verbs import MOST_SEEDS
from packenv.report.tables import latex_of
from packenv.runs.evaluate import FEWEST_SEEDS
from packenv.runs.statistics import DOUBT_IN_LOOKS, mean_and_half
from packenv.runs.sweep import Sweep
from packenv.workloads.laws import ARRIVALS, Discrete, Geometric, parse_arrivals, parse_law
from packenv.workloads.laws.arrivals import Batch, Bernoulli, Modulated, Periodic, Poisson
from packenv.workloads.servers import Servers
from tests.cli.evaluating import evaluate

POLICIES = ["bf-js", "fifo-ff"]
LOADS = [0.5, 0.9, 1.2]
OF_THE_MACHINE = {"seconds", "tasks_per_second", "interval"}


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    result = packenv.evaluate("paper/fig4b", POLICIES, intensity=reversed(LOADS), slots=5000, seeds=3)
    assert isinstance(result, Sweep)
    return result


def test_runs_are_those_of_each_load(sweep: Sweep) -> None:
    assert sweep.values == LOADS
    for load in LOADS:
        alone = packenv.evaluate("paper/fig4b", POLICIES, intensity=load, slots=5000, seeds=3)
        ours = [record for record in sweep.records if record["intensity"] == load]
        for one, other in zip(ours, alone.records, strict=True):
            assert {key: one[key] for key in other if key not in OF_THE_MACHINE} == {
                key: other[key] for key in other if key not in OF_THE_MACHINE
            }
    assert [(row["policy"], row["intensity"]) for row in sweep.rows] == [(policy, load) for policy in POLICIES for load in LOADS]
    assert sweep.to_frame()["intensity"].to_pylist() == [load for load in LOADS for _ in range(6)]


def test_table_has_a_row_for_each_policy_and_load(sweep: Sweep) -> None:
    (table,) = sweep.tables()
    assert [row[:2] for row in table.rows] == [[policy, f"{load:g}"] for policy in POLICIES for load in LOADS]
    assert [column.heading for column in table.columns][:3] == ["policy", "intensity", "mean queue"]


def test_tables_of_options_for_each_load() -> None:
    options = {"slots": 2000, "by": "class", "by_size": True, "reject": True}
    sweep = packenv.evaluate("paper/fig3a", ["bf-js"], load=[0.5, 0.9], **options)
    alone = packenv.evaluate("paper/fig3a", ["bf-js"], load=0.9, **options)
    titles = [table.title for table in alone.tables()[1:]]
    assert len(titles) == 3
    assert [table.title for table in sweep.tables()[1:]] == [f"load {load}: {title}" for load in (0.5, 0.9) for title in titles]
    assert [table.rows for table in sweep.tables()[4:]] == [table.rows for table in alone.tables()[1:]]


@pytest.mark.parametrize("measure", ["mean_queue", "mean_delay", "delay_p95"])
def test_figure(sweep: Sweep, measure: str) -> None:
    (figure,) = sweep.charts(measure).figures
    chart = figure.chart
    assert isinstance(chart, LineChart)
    for policy, line in zip(POLICIES, chart.lines, strict=True):
        rows = [row for row in sweep.rows if row["policy"] == policy]
        assert line.label == policy and line.x == LOADS and line.y == [row[measure] for row in rows]
        assert line.high == [row[measure] + row["interval"][measure] for row in rows]
        assert [point.shape == "x" for point in line.points] == [row["verdict"] == "unstable" for row in rows]
        assert [not point.filled for point in line.points] == [row["verdict"] == "undecided" for row in rows]
        assert max(line.high) <= chart.top and min(line.y) > chart.bottom > 0, "nothing leaves a logarithmic chart"
    with pytest.raises(packenv.InputError, match=r"'mean_queu' is not a measure of a figure .* did you mean mean_queue"):
        sweep.charts("mean_queu")


def test_zeros_have_a_linear_axis() -> None:
    result = packenv.evaluate("paper/fig4b", ["bf-js"], rate=[1e-9, 0.02], slots=2000, seeds=2)
    (figure,) = result.charts("max_queue").figures
    assert isinstance(figure.chart, LineChart) and figure.chart.bottom == 0 and result.plot().axes


def test_until_runs_as_many_seeds_as_are_needed() -> None:
    few = packenv.evaluate("paper/fig4b", ["bf-js"], intensity=0.5, slots=5000, until="20%")
    queues = [run.mean_queue for run in few.all_runs]
    assert [run.seed for run in few.all_runs] == [*range(len(queues))] and len(queues) in (8, 16, 32, 64, 128)
    mean, half = mean_and_half(queues, DOUBT_IN_LOOKS)
    before, half_before = mean_and_half(queues[: len(queues) // 2], DOUBT_IN_LOOKS)
    assert mean and half and half <= 0.2 * mean and not few.not_reached
    assert len(queues) == 8 or (before and half_before and half_before > 0.2 * before)
    assert few.summaries[0]["interval"]["mean_queue"] == half
    some = packenv.evaluate("paper/fig4b", ["bf-js"], intensity=[0.5, 0.7], slots=500, seeds=1, until=0.001)
    assert {len(comparison.all_runs) for comparison in some.comparisons} == {MOST_SEEDS}
    assert f"wider than ± 0.1 % after {MOST_SEEDS} seeds" in str(some.table())


@pytest.mark.parametrize("cv", [0.02, 0.035, 0.05])
@pytest.mark.parametrize("first", [FEWEST_SEEDS, 8])
def test_until_covers(first: int, cv: float) -> None:
    """Of 10,000 sets of runs whose means have a gamma law, 94 % or more end with an interval that holds the true mean, 1."""
    runs = np.random.default_rng(first).gamma(1 / cv**2, cv**2, (10_000, MOST_SEEDS))
    seeds, covered, left = first, 0, runs
    while len(left):
        means, errors = left[:, :seeds].mean(axis=1), left[:, :seeds].std(axis=1, ddof=1) / math.sqrt(seeds)
        halves = stdtrit(seeds - 1, 1 - DOUBT_IN_LOOKS / 2) * errors
        ended = (halves <= 0.02 * means) | (seeds == MOST_SEEDS)
        covered += int((abs(means - 1) <= halves)[ended].sum())
        left, seeds = left[~ended], 2 * seeds
    assert covered >= 9_400


def test_the_command(sweep: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("paper/fig4b", "--intensity", "0.5,0.9,1.2", "--slots", 5000, "--seeds", 3, "-p", "bf-js", "-p", "fifo-ff")
    picture = ("--plot", tmp_path / "f.svg", "--width", "89mm", "--no-title", "--measure", "mean_delay")
    evaluate(
        *words, "--processes", 1, *picture, "--json", tmp_path / "f.json", "--report", tmp_path / "f.html", "--format", "latex"
    )
    out = capsys.readouterr().out
    assert out.count("\\\\\n") == 7 and "\\toprule" in out and "fifo-ff & 1.2 &" in out and "±" not in out.partition("\n")[2]
    records = json.loads((tmp_path / "f.json").read_text())
    assert [(one["policy"], one["intensity"], one["mean_queue"]) for one in records if one["kind"] == "run"] == [
        (one["policy"], one["intensity"], one["mean_queue"]) for one in sweep.records
    ]
    assert len(records) == 18 + 6 and 'width="252.28' in (tmp_path / "f.svg").read_text()  # 89 mm in points
    assert "Mean delay over the intensity" in (tmp_path / "f.html").read_text()


def test_other_commands_take_one_load(capsys: pytest.CaptureFixture[str]) -> None:
    from packenv.cli.main import main

    with pytest.raises(SystemExit):
        main(["compare", "bf-js", "fifo-ff", "paper/fig4b", "--intensity", "0.5,0.7"])
    assert "'0.5,0.7' is not a number; this command takes one; packenv evaluate takes several" in capsys.readouterr().err


def test_bad_lists() -> None:
    for changes, problem in (
        ({"intensity": []}, "`intensity` must be a number, or a list of numbers"),
        ({"intensity": "high"}, "`intensity` must be a number, or a list of numbers"),
        ({"intensity": [0.5, -1]}, "intensity must be"),
        ({"intensity": [0.5], "load": [0.5]}, "give one of"),
        ({"intensity": [0.5], "backlog": 3}, "`backlog` sets how many tasks wait"),
        ({"intensity": 0.5, "measure": "mean_delay"}, "`measure` is for a figure over several loads"),
        ({"intensity": 0.5, "until": "no"}, "'no' is not a share"),
    ):
        with pytest.raises(packenv.InputError, match=problem):
            packenv.evaluate("paper/fig4b", ["bf-js"], slots=100, **changes)


def test_latex_keeps_every_sign() -> None:
    table = Table("A & B\n50 %", numbers("a_b", "50 %"), [["1 ± 2", "x & y # {z} $ ~ ^ \\ < >"]])
    assert latex_of(table).splitlines() == [
        "% A & B 50 %",
        r"\begin{tabular}{rr}",
        r"\toprule",
        r"a\_b & 50 \% \\",
        r"\midrule",
        r"1 $\pm$ 2 & x \& y \# \{z\} \$ \textasciitilde{} \textasciicircum{} \textbackslash{} \textless{} \textgreater{} \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


ARRIVAL_TEXTS = {
    "poisson": Poisson(),
    "bernoulli": Bernoulli(),
    "periodic:1,3,2:1440": Periodic([1, 3, 2], 1440),
    "periodic:1,3:1h": Periodic([1, 3], 360),
    "modulated:1,10:500,50": Modulated([1, 10], [500, 50]),
    "modulated:1,10,0:1min,50,7:uniform": Modulated([1, 10, 0], [6, 50, 7], "uniform"),
    "batch:geometric:4": Batch(Geometric(4)),
    "gang:discrete:1@0.8,8@0.2": Batch(Discrete([1, 8], [0.8, 0.2]), gang=True),
}


def test_arrivals_by_text() -> None:
    assert {text.partition(":")[0] for text in ARRIVAL_TEXTS} == {*ARRIVALS}
    for text, process in ARRIVAL_TEXTS.items():
        assert parse_arrivals(text, "--arrivals", slot_seconds=10.0) == process
    for text in (
        "poisson:1",
        "periodic:1,2",
        "modulated:1:2,3",
        "modulated:1,2:3,4:any",
        "batch:2",
        "gang",
        "none",
        "periodic:1,x:3",
    ):
        with pytest.raises(packenv.InputError, match=f"--arrivals '{text}'"):
            parse_arrivals(text, "--arrivals")


def test_bursts_of_the_command(tmp_path: Path) -> None:
    words = ("--arrivals", "modulated:1,10:500,50", "--intensity", 0.5, "--slots", 2000, "-p", "bf-js", "--processes", 1)
    for source in (("paper/fig4b",), ("--sizes", "uniform:0.1:0.9", "--servers", 5)):
        evaluate(*source, *words, "--json", tmp_path / "f.json")
        record = json.loads((tmp_path / "f.json").read_text())[0]
        changes = {"arrivals": Modulated([1, 10], [500, 50]), "intensity": 0.5}
        workload = packenv.workload("paper/fig4b", **changes)  # the same laws under two names
        ours = packenv.simulate(workload, "bf-js", slots=2000)
        assert (record["arrived"], record["mean_queue"]) == (ours.arrived, ours.mean_queue)


def test_a_measure_without_mean_suggests_it() -> None:
    with pytest.raises(packenv.InputError, match="did you mean mean_delay"):
        packenv.evaluate("paper/fig4b", ["bf-js"], intensity=[0.5, 0.7], measure="delay")


def test_a_load_above_rho_is_named() -> None:
    """Intensity 0.76 is below 1, and the load is proved to be above ρ*."""
    law = parse_law("discrete:4@1/4,6@3/4", "sizes")
    workload = packenv.Workload(sizes=law, service=Geometric(10), servers=Servers(np.array([[10.0]])), load=1.03)
    above, at = packenv.resolved(workload), packenv.resolved(workload.with_(load=1.0))
    assert above.intensity < 1 and above.overloaded and above.overload.startswith("load is above ρ*")
    assert not at.overloaded


def test_latex_has_no_speed_of_the_computer() -> None:
    table = Table("t", [Column("policy"), Column("tasks/s", True, of_machine=True), Column("max", True)], [["a", "9", "2"]])
    assert "tasks/s" not in latex_of(table) and "\\begin{tabular}{lr}" in latex_of(table) and "a & 2" in latex_of(table)
