"""`packenv.evaluate`: the same numbers as the command's, ratios that are paired, and how a comparison shows itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.cli.main import main
from packenv.cluster import NONE, estimate_of, fits, next_in_queue, oldest, place
from packenv.policy import distinct_names
from packenv.runs.comparison_tables import legend
from packenv.runs.measures import LESS, MEASURES, QUEUE, TASKS, Measure
from packenv.runs.statistics import ratio_of_means
from tests.cli.evaluating import evaluate

POLICIES = ["bf-js", "fifo-ff"]


@pytest.fixture(scope="module")
def comparison() -> packenv.Comparison:
    return packenv.evaluate("paper/fig4b", POLICIES, slots=5000, seeds=3, intensity=0.8, schedule=True)


def test_numbers_of_the_command(comparison: packenv.Comparison, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    words = ("--intensity", "0.8", "--slots", "5000", "--seeds", "3", "--processes", "1", "-p", "bf-js", "-p", "fifo-ff")
    evaluate("paper/fig4b", *words, "--json", out)
    plain, measured = comparison.to_dict(), {"seconds", "tasks_per_second", "interval", "kind"}
    for ours, theirs in zip([*plain["runs"], *plain["policies"]], json.loads(out.read_text()), strict=True):
        assert {key: json.loads(json.dumps(ours[key])) for key in theirs.keys() - measured} == {
            key: theirs[key] for key in theirs.keys() - measured
        }
    printed = capsys.readouterr().out
    assert all(cell in printed for cell in str(comparison.table()).splitlines()[4].split()[:2])


def test_ratio(comparison: packenv.Comparison) -> None:
    above, below = ([run.mean_queue for run in comparison.results[name]] for name in POLICIES)
    assert comparison.ratio(*POLICIES) == ratio_of_means(above, below)
    assert comparison.ratio(*POLICIES, "mean_delay").mean != comparison.ratio(*POLICIES).mean
    for policies, measure, problem in (
        (("bf-js", "vqs"), "mean_queue", "no policy 'vqs' in this comparison: bf-js, fifo-ff"),
        (POLICIES, "queue", "'queue' is not a measure; choose from .*mean_queue"),
    ):
        with pytest.raises(packenv.InputError, match=problem):
            comparison.ratio(*policies, measure)


def test_shown(comparison: packenv.Comparison) -> None:
    assert len(repr(comparison).splitlines()) == 3 and "bf-js" in repr(comparison)
    assert comparison._repr_html_().count("<tr>") == 3 and "| policy |" in comparison.table().markdown()
    frame = comparison.to_frame()
    assert frame.num_rows == 6 and frame["seed"].to_pylist() == [0, 1, 2] * 2 and "utilisation.0" in frame.column_names
    assert [axes.get_title("left") for axes in comparison.plot("schedule", first=0, last=500).axes[::2][:2]] == POLICIES
    assert "paper/fig4b" in comparison.plot().get_suptitle()


@pytest.fixture
def fullest_bin() -> Iterator[Measure]:
    row = Measure(
        *("fullest_bin", "fullest bin", TASKS, LESS, lambda run, _: float(run.trajectory.queue.max()), QUEUE),
        *("the largest mean over a bin", "result/fullest bin", 2),
    )
    MEASURES.append(row)
    yield row
    MEASURES.remove(row)


def test_a_new_measure_is_one_row(fullest_bin: Measure, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is in text, Markdown, HTML, frames and plain values; in CSV, JSON and pages; in TensorBoard, logs and leaderboards."""
    comparison = packenv.evaluate("paper/fig4b", POLICIES, slots=3000, seeds=2, intensity=0.8)
    key, heading = fullest_bin.key, fullest_bin.heading
    for text in (str(comparison.table()), comparison.table().markdown(), comparison.table()._repr_html_()):
        assert heading in text
    values = [run.trajectory.queue.max() for run in comparison.all_runs]
    assert comparison.to_frame()[key].to_pylist() == values
    plain = comparison.to_dict()["policies"][0]
    assert plain[key] == pytest.approx(sum(values[:2]) / 2) and plain["interval"][key] > 0
    assert comparison.ratio(*POLICIES, key).mean == pytest.approx(sum(values[:2]) / sum(values[2:]))
    kind = ("--slots", "3000", "--seeds", "2", "--processes", "1", "-p", "bf-js", "-p", "fifo-ff")
    words = ("evaluate", "paper/fig4b", "--intensity", "0.8", *kind, "--json", str(tmp_path / "out.json"), "--format", "csv")
    main([*words, "--report", str(tmp_path / "out.html"), "--tensorboard", str(tmp_path / "runs")])
    assert key in capsys.readouterr().out.splitlines()[0] and f">{heading}</th>" in (tmp_path / "out.html").read_text()
    assert [record[key] for record in json.loads((tmp_path / "out.json").read_text())[:4]] == values
    (folder,) = (tmp_path / "runs").glob("*/bf-js")
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    assert events.Scalars(fullest_bin.scalar)[0].value == pytest.approx(plain[key])
    board = ("leaderboard", "-w", "paper/fig4b@0.8", *kind, "--no-judge", "--log", str(tmp_path / "board.jsonl"))
    main([*board, "--json", str(tmp_path / "board.json")])
    assert f"0.8, {heading}" in capsys.readouterr().out
    standing = json.loads((tmp_path / "board.json").read_text())[1]
    assert standing[key]["by_seed"] == values[2:] and standing[key]["ratio"] > 0
    assert key in (tmp_path / "board.jsonl").read_text()


def test_a_trace_once() -> None:
    table = {"submit_time_s": [0, 3, 5], "duration_s": [10, 5, 4], "cpu": [0.5, 0.5, 0.25]}
    found = packenv.evaluate(table, POLICIES, servers=1, slot_seconds=1, drain=True)
    assert [len(runs) for runs in found.by_policy] == [1, 1] and "seconds" in str(found.table())
    assert found.ratio(*POLICIES, "mean_delay") == (1, None, None)


@pytest.mark.parametrize(
    ("first", "options", "span", "busy"),
    [
        (0, {"drain": True}, "from the first arrival to the last end", 10 / 13),
        (100, {"drain": True}, "from slot 0 to the last end", 10 / 113),
        (0, {"drain": True, "warmup": 3}, "from the end of the warm-up to the last end", 8.5 / 10),
        (0, {"slots": 50}, "over all 50 slots of a run, also those after the last end", 10 / 50),
        (0, {"slots": 50, "warmup": 3}, "over all 47 slots of a run after the warm-up, also those after the last end", 8.5 / 47),
    ],
)
def test_the_span_of_the_utilisation(first: int, options: dict[str, Any], span: str, busy: float) -> None:
    """Two tasks of half a server and ten slots, the second one three slots later."""
    workload = packenv.Workload(jobs=packenv.Jobs.of([first, first + 3], [0.5, 0.5], [10, 10]), servers=1)
    found = packenv.evaluate(workload, ["bf-js"], **options)
    assert found.all_runs[0].utilisation == (pytest.approx(busy),)
    assert f"utilisation: {span}" in legend(found)


def test_what_had_not_started_is_said() -> None:
    """Three tasks of two slots arrive at once on a server that holds one of them, and a last one in slot 2."""
    jobs = packenv.Jobs.of([0, 0, 0, 2], np.full((4, 1), 0.9), [2, 2, 2, 2])
    table = packenv.Workload(jobs=jobs, servers="1x1")
    cut = packenv.evaluate(table, ["bf-js"]).table().notes
    assert any("not started when the table ended: 2 of 4 tasks (bf-js)" in note for note in cut)
    assert not any("not started" in note for note in packenv.evaluate(table, ["bf-js"], drain=True).table().notes)


class Never:
    """Starts nothing, ever."""

    def schedule(self, cluster: Any, state: Any) -> None:
        pass


def test_what_never_starts_is_said_without_advice_that_was_followed() -> None:
    jobs = packenv.Jobs.of([0, 0, 2], np.full((3, 1), 0.9), [2, 2, 2])
    table = packenv.evaluate(packenv.Workload(jobs=jobs, servers="1x1"), [Never()], drain=True).table()
    assert "not started to the end: 3 of 3 tasks (Never); delays are of the others" in table.notes
    assert not any("undecided" in text for text in (*table.notes, repr(table)))


def over_first_policy(comparison: packenv.Comparison) -> list[str]:
    return [note for note in comparison.table().notes if "on the same tasks" in note]


def test_how_sure_a_difference_is() -> None:
    """Below the table: ratios to the first policy that keeps up, not of queues that grow as long as a run lasts."""
    found = packenv.evaluate("paper/fig4b", ["fifo-ff", "bf-js", "vqs-bf"], slots=100_000, seeds=3, intensity=0.85)
    assert found.summaries[0]["verdict"] == "unstable"
    assert over_first_policy(found) == [f"mean queue over bf-js's, on the same tasks: vqs-bf {found.ratio('vqs-bf', 'bf-js')}"]
    backlog = packenv.evaluate("paper/fig4b", ["bf-js", "vqs-bf"], slots=5000, seeds=2, backlog=20)
    assert not over_first_policy(backlog) and not any("undecided" in note for note in backlog.table().notes)


def test_how_sure_a_difference_of_jobs_is() -> None:
    """Only of policies under which all jobs ended: those that did not end are the long ones."""
    drained = packenv.evaluate("price/fig5", ["tetris", "srpt"], seeds=2, drain=True)
    line = f"mean completion over tetris's, on the same tasks: srpt {drained.ratio('srpt', 'tetris', 'mean_completion')}"
    assert over_first_policy(drained) == [line]
    assert not over_first_policy(packenv.evaluate("price/fig5", ["tetris", "srpt"], seeds=2, slots=10))


def own_policy() -> object:
    class Mine:
        def schedule(self, cluster: object, state: object) -> None:
            """Start nothing."""

    return Mine()


def test_classes_of_one_name_in_two_modules() -> None:
    policies = [own_policy(), own_policy()]
    type(policies[1]).__module__ = "elsewhere"
    assert distinct_names(["bf-js", *policies]) == [
        "bf-js",
        *(f"{name}:own_policy.<locals>.Mine" for name in (__name__, "elsewhere")),
    ]


def test_an_answer_about_a_trace() -> None:
    """Tasks of 3 and of 1 hours, in this order, on one server: the mean wait is 2 hours, or by srpt 40 minutes."""
    jobs = packenv.Jobs.of([0, 0, 0], np.full((3, 2), 0.9), [3, 3, 1])
    workload = packenv.Workload(jobs=jobs, servers="1x1:1", resources=("cpu", "memory"), slot_seconds=3600)
    found = packenv.evaluate(workload, ["fifo-ff", "srpt"], drain=True)
    waits = [np.mean([0, 3, 6]), np.mean([0, 1, 4])]
    assert [summary["mean_delay"] for summary in found.summaries] == waits
    table, answer = found.table().tables[0], found.table().notes[0]
    headings = [column.heading for column in table.columns]
    assert {"cpu utilisation", "memory utilisation"} < {*headings} and "verdict" not in headings and "utilisation" not in headings
    assert table.rows[1][headings.index("mean delay")] == "1 h 40 min"
    less = f"{100 * (1 - waits[1] / waits[0]):.3g} % less than fifo-ff"
    assert answer == (
        f"srpt has the shortest mean wait, 1 h 40 min: {less}, the next (one run of each). srpt uses true durations of tasks."
    )
    assert "undecided" not in repr(found) + str(found.table())


def test_policies_that_lose_different_tasks_are_compared_by_their_losses() -> None:
    """Best fit puts 0.4 next to 0.6 and has room for the long task; first fit puts it next to 0.5, and has none."""
    jobs = {"arrival": [0, 1, 2, 3], "service": [1000, 1000, 1000, 100_000], "size": [0.5, 0.6, 0.4, 0.5]}
    for table in (jobs, jobs | {"job": [0, 1, 2, 3]}):
        lossy = packenv.evaluate(table, ["fifo-ff", "bf-js"], servers=2, reject=True, drain=True)
        assert [run.rejected["size"] for run in lossy.all_runs if run.rejected is not None] == [1, 0]
        text = "\n".join(map(str, lossy.footnotes()))
        assert "bf-js turns away the smallest share of the tasks, 0.00%." in text
        assert "shortest mean" not in text and "the same mean" not in text and "--drain" not in text
        assert lossy.usual_measure == "rejected" and lossy.ratio("bf-js", "fifo-ff").mean == 0
        assert all("lower bound" not in str(table.rows) for table in lossy.tables())
        assert lossy.title.endswith("bf-js did all the work; fifo-ff turned away 25.00% of the tasks")
    same = packenv.evaluate(jobs, ["fifo-ff", "bf-js"], servers=1, reject=True, drain=True)
    assert "fifo-ff and bf-js turn away the same share of the tasks, 50.00%." in same.footnotes()[0]
    none = packenv.evaluate(jobs, ["fifo-ff", "bf-js"], servers=4, reject=True, drain=True)
    assert none.footnotes()[0] == "fifo-ff and bf-js have the same mean wait, 0 slots."


def test_what_loses_tasks_has_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """Erlang's loss system is stable at every load: at 3 erlangs it loses 3 of 4 tasks; nothing waits, of a trace neither."""
    stream = {"sizes": "constant:1", "service": "geometric:10", "rate": 0.3, "servers": 1, "resources": "max"}
    lossy = packenv.evaluate(packenv.workload("paper/fig3a", **stream), ["fifo-ff"], slots=20_000, seeds=1, reject=True)
    assert lossy.summaries[0]["verdict"] is None and "turned away" in lossy.title
    assert lossy.summaries[0]["rejected"] / lossy.summaries[0]["arrived"] == pytest.approx(0.75, abs=0.05)
    words = "--sizes constant:1 --service geometric:10 --rate 0.3 --servers 1 --slots 20000 --reject -p fifo-ff"
    evaluate(*words.split())
    out = capsys.readouterr().out
    assert "intensity is 1 or more: every policy turns tasks away in the long run" in out
    assert "stable" not in out and "undecided" not in out


def test_a_class_with_two_values_of_a_parameter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told apart by what differs from its default; so is a rule whose function has its usual name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    lines = "class Mine:\n    def __init__(self, skip: int = 0): self.skip = skip\n    def schedule(self, cluster, state): pass\n"
    (tmp_path / "mine_of_two.py").write_text(lines)
    (tmp_path / "rule_of_one.py").write_text("def priority(task, server, cluster, w=1.0):\n    return w * task.size\n")
    names = ["mine_of_two:Mine", "mine_of_two:Mine:skip=1", "rule_of_one.py:w=3"]
    assert distinct_names(names) == ["Mine", "Mine:skip=1", "rule_of_one.py:priority:w=3"]


class NextAfterPlace:
    """A mistake of a policy's author: the next task is asked for when the first has left the queue."""

    def schedule(self, cluster: Any, state: object) -> None:
        if (task := oldest(cluster)) != NONE and fits(cluster, task, 0):
            place(cluster, task, 0)
            next_in_queue(cluster, task)


class NoSchedule:
    """Another."""


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        (NextAfterPlace(), "policy NextAfterPlace: next_in_queue of a task that has been placed: ask for the next one before"),
        (NoSchedule(), r"policy NoSchedule has no schedule\(cluster, state\)"),
    ],
)
def test_mistakes_of_a_policy(policy: object, problem: str) -> None:
    with pytest.raises(packenv.InputError, match=problem):
        packenv.simulate("paper/fig4b", policy, slots=300)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"policies": ["bf-js", "bf-js"]}, "two policies have the same name"),
        ({"policies": [own_policy(), own_policy()]}, "two policies have the same name: Mine, Mine"),
        ({"policies": ["bf-js", packenv.find_policy("bf-js")]}, "two policies have the same name"),
        ({"cutoff": 3.0}, "`cutoff` must be a number of seconds above 0"),
        ({"backlog": 5, "by_size": True}, "`by_size` needs arrival times, and `backlog` has none"),
        ({"policies": ["bf-jss"]}, "did you mean"),
    ],
)
def test_what_cannot_be_compared(arguments: dict[str, object], problem: str) -> None:
    with pytest.raises(packenv.InputError, match=problem):
        packenv.evaluate("paper/fig4b", **arguments)  # type: ignore[arg-type]


class Nothing:
    """A mistake of a policy's author."""

    def schedule(self, cluster: object, state: object) -> None: ...


def test_a_policy_that_starts_nothing_is_said() -> None:
    assert packenv.evaluate("paper/fig4b", [Nothing()], slots=300).remarks == ["Nothing: started no task"]


class AsksThroughAnother:
    """In plain Python: the shortest estimate first, which a function of its module asks for."""

    def schedule(self, cluster: Any, state: Any) -> None:
        task = oldest(cluster)
        waits = []
        while task != NONE:
            waits.append((_length_of(cluster, task), task))
            task = next_in_queue(cluster, task)
        for _, task in sorted(waits):
            if fits(cluster, task, 0):
                place(cluster, task, 0)


class AsksNothing:
    def schedule(self, cluster: Any, state: Any) -> None:
        while (task := oldest(cluster)) != NONE and fits(cluster, task, 0):
            place(cluster, task, 0)


def _length_of(cluster: Any, task: int) -> int:
    return estimate_of(cluster, task)


def test_whoever_is_told_durations_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Policies of one's own too, by their code: a rule, and a class that asks for estimates."""
    rule = tmp_path / "rule.py"
    rule.write_text("def priority(task, server, cluster):\n    return -task.estimate\n")
    table = "submit_time_s,duration_s,cores{}\n0,10,4{}\n1,20,8{}\n2,30,8{}\n"
    (tmp_path / "told.csv").write_text(table.format(",estimate_s", ",20", ",30", ",40"))
    (tmp_path / "untold.csv").write_text(table.format("", "", "", ""))
    own = [f"{__name__}:{name}" for name in ("AsksThroughAnother", "AsksNothing")]
    options = {"servers": "1x8", "slot_seconds": 1, "drain": True}
    told = packenv.evaluate(tmp_path / "told.csv", ["fifo-ff", "easy", *own, f"{rule}:priority"], **options)
    assert told.duration_aware == ("easy", "AsksThroughAnother", f"{rule}:priority")
    untold = packenv.evaluate(tmp_path / "untold.csv", ["fifo-ff", "easy", *own], **options)
    assert untold.duration_aware == ("easy",)
    words = ["--servers", "1x8", "--slot-seconds", "1", "--drain", "-p", "easy", "-p", own[0], "-p", own[1]]
    main(["evaluate", str(tmp_path / "untold.csv"), *words])
    said = capsys.readouterr().out
    assert "\npolicies that see true durations: easy\n" in said
    assert "\nAsksThroughAnother needs estimates, and untold.csv has none: it sees 0; --estimates exact gives" in said


def test_tables_run_to_their_end_are_compared_by_their_delays(tmp_path: Path) -> None:
    """A policy that takes longer spreads its waits over more slots: fifo-ff waits 0, 9, 9 in 12 slots, best fit 0, 9, 0 in 19."""
    (tmp_path / "table.csv").write_text("submit_time_s,duration_s,cores\n0,10,4\n1,9,8\n2,2,4\n")
    options = {"servers": "1x8", "slot_seconds": 1}
    drained = packenv.evaluate(tmp_path / "table.csv", ["fifo-ff", "bf-js"], drain=True, **options)
    waits = [run.mean_delay for runs in drained.results.values() for run in runs]
    assert drained.ratio("fifo-ff", "bf-js").mean == waits[0] / waits[1] != drained.ratio("fifo-ff", "bf-js", "mean_queue").mean
    assert drained.facts()[0] == ("fifo-ff", f"mean delay {waits[0]:.3g} slots")
    assert packenv.evaluate(tmp_path / "table.csv", ["fifo-ff", "bf-js"], **options).usual_measure == "mean_queue"
