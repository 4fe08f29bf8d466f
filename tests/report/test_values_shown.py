"""What results and workloads show of themselves: text, HTML, plain values, frames and pictures."""

from __future__ import annotations

import itertools
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.legend import Legend
from matplotlib.text import Text

import packenv
from packenv.content.charts import GREY, ChartRow, GridChart, Guide, Key, Line, LineChart, RowChart, Square, shares_in_bins
from packenv.content.page import Charts, Figure
from packenv.report.pictures import picture_of
from packenv.report.plot_style import CAPTION
from packenv.report.schedule_drawing import on_devices, stacked

TABLE = packenv.Workload(
    jobs=packenv.Jobs.of([0, 0, 1, 9], [0.6, 0.5, 0.4, 1.0], [4, 3, 2, 5], job=np.array([7, 7, 8, 9])), servers=2, name="<four>"
)


@pytest.fixture(scope="module")
def result() -> packenv.Result:
    return packenv.simulate(TABLE, "fifo-ff", slots=12, schedule=True)


def test_a_few_lines(result: packenv.Result) -> None:
    others = packenv.workload("google2011-like"), packenv.workload("dag"), TABLE.with_(servers="1x1,3x2,1x1")
    for value in (result, TABLE, *others):
        lines = repr(value).splitlines()
        assert 3 < len(lines) < 10 and max(map(len, lines)) < 170
    assert "4 arrived, 4 started" in repr(result) and "2 of 1" in repr(TABLE) and "4 of 3 jobs" in repr(TABLE)
    assert "&lt;four&gt;" in TABLE._repr_html_() and "&lt;four&gt;" in result._repr_html_()


def test_plain_values(result: packenv.Result) -> None:
    plain = json.loads(json.dumps(result.to_dict()))
    assert (plain["policy"], plain["workload"], plain["arrived"], plain["verdict"]) == ("fifo-ff", "<four>", 4, "undecided")
    assert plain["trajectory"]["queue"] == result.trajectory.queue.tolist() and plain["mean_completion"] == result.jobs.mean  # type: ignore[union-attr]


def test_frames(result: packenv.Result) -> None:
    queue, tasks = result.to_frame(), result.to_frame("schedule")
    assert queue.column_names == ["slot", "queue", "waiting_size"] and tasks["job"].to_pylist() == [7, 7, 8, 9]
    assert repr(result.trajectory).startswith(
        f"Trajectory of {queue.num_rows} bins of {result.trajectory.bin_slots} slots: means of"
    )
    assert tasks["start"].to_pylist() == result.schedule.start.tolist()  # type: ignore[union-attr]
    assert TABLE.to_frame()["size"].to_pylist() == pytest.approx([0.6, 0.5, 0.4, 1.0], abs=1e-6)
    assert packenv.workload("paper/fig4b").to_frame(tasks=5).num_rows == 5
    pandas = pytest.importorskip("pandas")
    assert isinstance(result.to_frame("schedule", "pandas"), pandas.DataFrame)


def test_pictures(result: packenv.Result) -> None:
    assert [axes.get_ylabel() for axes in result.plot("schedule").axes] == ["waiting", "server"]
    assert "<four>" in TABLE.plot().get_suptitle() and "<four>" in result.plot().get_suptitle()
    assert result.plot()._repr_png_().startswith(b"\x89PNG")
    by_size = result.plot("schedule", colour="size", first=1, last=3)
    assert by_size.axes[-1].get_ylabel().startswith("size") and by_size.axes[0].get_xlim() == (1, 3)


def test_from_another_process(result: packenv.Result) -> None:
    sent = pickle.loads(pickle.dumps(result))
    with pytest.raises(packenv.InputError, match="pass workload="):
        sent.plot()
    assert sent.to_frame("schedule", workload=TABLE) == result.to_frame("schedule")


def test_what_cannot_be_shown(result: packenv.Result) -> None:
    plain = packenv.simulate(TABLE, "fifo-ff")
    for call in (plain.plot, plain.to_frame):
        with pytest.raises(packenv.InputError, match="has no schedule"):
            call("schedule")
    with pytest.raises(packenv.InputError, match="did you mean schedule"):
        result.plot("scedule")
    with pytest.raises(packenv.InputError, match="arrow, pandas, polars"):
        result.to_frame(library="excel")
    with pytest.raises(packenv.InputError, match="one before the other"):
        result.plot("schedule", first=5, last=5)


TASKS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(1, 5)), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(tasks=TASKS, capacity=st.integers(5, 12))
def test_places_in_a_server(tasks: list[tuple[int, int, int]], capacity: int) -> None:
    """Pieces add up to the demand, no two tasks share a place at a time, and none lies higher than it must."""
    start, length, demand = (np.array(column, np.int64) for column in zip(*tasks, strict=True))
    places = stacked(start, start + length, demand, capacity)
    assert [sum(high - low for low, high in pieces) for pieces in places] == demand.tolist()
    for slot in range(20):
        here = [k for k in range(len(tasks)) if start[k] <= slot < start[k] + length[k]]
        pieces: list[Any] = sorted(piece for k in here for piece in places[k])
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(pieces))
        most = max((int(demand[(start <= s) & (s < start + length)].sum()) for s in range(20)), default=0)
        if most <= capacity:
            assert all(high <= capacity for _, high in pieces)


def test_tasks_lie_on_their_devices() -> None:
    """Two devices of 6: a task of both, then shares of 4 and 2 on the second, and the first one whole. No device: nowhere."""
    start, end, demand = np.array([0, 5, 5, 6, 0]), np.array([5, 9, 9, 8, 9]), np.array([12, 4, 2, 6, 0])
    places = on_devices(start, end, demand, np.array([0b11, 0b10, 0b10, 0b01, 0]), 2, 12)
    assert places == [[(0, 6), (6, 12)], [(6, 10)], [(10, 12)], [(0, 6)], []]


def test_a_schedule_has_the_dates_of_its_table() -> None:
    """Three tasks an hour apart from half past eleven on: the axis has hours of that day and of the next."""
    log = {"submit_time_s": [f"2026-03-01 {hour}:30:00" for hour in (11, 12, 13)], "duration_s": [3600] * 3, "cpu": [1.0] * 3}
    workload = packenv.workload(log, servers=1, slot_seconds=60)
    axis = packenv.simulate(workload, "fifo-ff", drain=True, schedule=True).plot("schedule").axes[1].xaxis
    assert axis.get_label_text() == "from 2026-03-01 11:30 on"
    labels = [tick.get_text() for tick in axis.get_ticklabels()]
    assert "14:00" in labels
    noon = labels.index("12:00")
    assert axis.get_ticklocs()[noon] == pytest.approx(0.5)  # hours since slot 0


def test_a_picture_as_narrow_as_a_column_is_not_cut() -> None:
    """At 3.5 inches titles are folded, legends stand below, and no text of an axis runs out of the picture."""
    charts = packenv.evaluate(TABLE, ["bf-js", "fifo-ff"], drain=True).charts()
    picture = picture_of(charts, width=3.5)
    FigureCanvasAgg(picture).draw()
    title = picture._suptitle
    assert title is not None and title.get_window_extent().width <= picture.bbox.width + 1
    assert len(picture.subfigs) == len(charts.figures)  # nothing side by side
    for axes in picture.axes:
        first, last = axes.get_xlim()
        shown = [text for at, text in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True) if first <= at <= last]
        extents = [text.get_window_extent() for text in shown]
        assert all(extent.x0 >= -1 and extent.x1 <= picture.bbox.width + 1 for extent in extents)


LONG = "Supported fraction of ρ* on discrete:0.55@0.3,0.3@0.4,0.2@0.3,0.1@0.2"
CURVES = LineChart([Line("a", "#0072b2", [0, 1], [0, 1])], "slot", "waiting tasks", 1.0, [Guide(0.5, "bound")])
ROWS = RowChart([ChartRow("bf-js", "#0072b2", 0.9, 1.0, text="0.900 – 1.000")], "supported", (0.0, 1.05), bars=True)
GRID = GridChart(["bf-js"], ["paper/fig4b"], [[Square(0.5, "0.5")]])
BINS = shares_in_bins(range(9), "size", "tasks")


@pytest.mark.parametrize("width", [89 / 25.4, None])
@pytest.mark.parametrize("chart", [CURVES, ROWS, GRID, BINS], ids=lambda chart: type(chart).__name__)
def test_pictures_without_a_title(chart: Any, width: float | None) -> None:
    """One chart alone has no heading, several have small ones; with a title, both are folded and within the picture."""
    alone, two = Charts("The title", [Figure(LONG, "", chart)]), Charts("The title", [Figure(LONG, "", chart)] * 2)
    picture = picture_of(alone, width)
    FigureCanvasAgg(picture).draw()
    (heading,) = headings_of(picture)
    assert heading.get_window_extent().x1 <= picture.bbox.width + 1
    assert "".join(heading.get_text().split()) == "".join(LONG.split())
    assert texts_of(picture_of(alone, width, titled=False)).isdisjoint({"The title", LONG})
    assert not headings_of(picture_of(alone, width, titled=False))
    untitled = picture_of(two, width, titled=False)
    assert "The title" not in texts_of(untitled)
    assert [heading.get_fontsize() for heading in headings_of(untitled)] == [CAPTION] * 2


def test_charts_with_the_same_legend_have_it_once_when_narrow() -> None:
    rows = RowChart([ChartRow("a", "#0072b2", 1.0, 2.0)], "delay", (0.0, 3.0), marks=[Key(GREY, "not known to be stable", "o")])
    picture = picture_of(Charts("", [Figure(name, "", rows) for name in ("one", "two")]), width=3.3)
    assert len(picture.findobj(Legend)) == 1


def test_schedules_without_a_title(result: packenv.Result) -> None:
    """A schedule has panels of its own: the name of one policy alone is a heading, too."""
    for charts in (result.charts("schedule"), packenv.evaluate(TABLE, ["bf-js"], drain=True).charts("schedule")):
        assert charts.title in texts_of(picture_of(charts)) and headings_of(picture_of(charts))
        assert charts.title not in texts_of(picture_of(charts, titled=False))
        assert not headings_of(picture_of(charts, titled=False))


def texts_of(picture: Any) -> set[str]:
    return {text.get_text() for text in picture.findobj(Text)}


def headings_of(picture: Any) -> list[Text]:
    every = [title for axes in picture.axes for title in (axes.title, axes._left_title, axes._right_title)]
    return [title for title in every if title.get_text()]


def test_numbers_and_legends_of_a_narrow_picture_are_whole() -> None:
    delays = "1,095 / 12,804 / 13,122"
    rows = RowChart([ChartRow("sparrow:ratio=3,minimum=4,delay=0.25", "#0072b2", 1.0, 2.0, text=delays)], "delay", (0.0, 3.0))
    named = [Line(f"agent:fig{n}b of its own: undecided", "#0072b2", [0, 1], [0, 1]) for n in (4, 5)]
    lines = LineChart(named, "slot", "waiting tasks", top=1.0)
    picture = picture_of(Charts("", [Figure("Delays", "", rows), Figure("Queue", "", lines)]), width=3.3)
    FigureCanvasAgg(picture).draw()
    assert delays in [text.get_text() for text in picture.axes[0].texts]
    for legend in (legend for part in picture.subfigs for legend in part.legends):
        assert legend.get_window_extent().x1 <= picture.bbox.width + 1
