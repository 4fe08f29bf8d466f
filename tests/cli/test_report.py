"""What `--report` of each command writes, and when it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.finding import Settings
from experiments.reproduce import finding_of, reproduce_page
from packenv.cli.main import main
from packenv.cli.options import workload as options
from packenv.content.charts import COLOURS, GridChart, Square
from packenv.content.page import Figure, Image
from packenv.errors import InputError
from packenv.report.page import page_of
from packenv.results.stability import Verdict
from packenv.runs.contest import Contest
from packenv.runs.leaderboard import Leaderboard
from packenv.runs.measured import Measured
from packenv.runs.measured import Path as QueuePath
from packenv.runs.ranking import Ranking, Standing
from packenv.theory.stability.judgment import Evidence, Judgment, Judgments
from packenv.workloads.find import workload
from tests.report.pages import Page

STABLE, UNSTABLE = Verdict("stable", 0.0, 0.5, 0.001, 0.999), Verdict("unstable", 0.1, 9.0, 0.999, 0.001)
UNDECIDED = Verdict("undecided", 0.0, 1.0, 0.5, 0.5)
NAME = "<img src=x onerror=alert(1)>.csv"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Eight tasks of half a server at once, for 10 slots each, in a file with a hostile name."""
    file = tmp_path / NAME
    file.write_text("\n".join(["arrival,size,service", *["0,0.5,10"] * 8]) + "\n")
    return file


def run(*words: object) -> None:
    main([*map(str, words)])


def cells(page: Page) -> list[str]:
    return [each.said for each in page.all("th", "td")]


def test_plan(tasks: Path, tmp_path: Path) -> None:
    """Twice the same bytes; the answer, what was tried, and the trace."""
    out = tmp_path / "plan.html"
    words = ("plan", tasks, "-g", "max queue <= 4", "-p", "bf-js", "-p", "fifo-ff", "--processes", "1", "--report", out)
    run(*words)
    first = out.read_bytes()
    run(*words)
    assert out.read_bytes() == first
    page = Page(first.decode())
    assert page.all("h1")[0].said == f"How many servers for {NAME}" and not page.all("img")
    answer = next(each.said for each in page.elements if each.attributes.get("class") == "answer")
    answers = "2 servers are enough with bf-js or fifo-ff for max queue <= 4.", "Any policy needs at least 1 server, 50% fewer."
    assert answer.startswith(" ".join(answers))
    (curve,) = (each.said for each in page.all("figcaption") if "Filled marks" in each.said)
    assert curve.startswith("bf-js: 4 with 2 servers, 6 with one less; fifo-ff: 4 with 2 servers, 6 with one less")
    assert {"bf-js: 2", "fifo-ff: 2", "max queue <= 4", "any policy: 1 at least"} <= {each.said for each in page.all("text")}
    assert {"All 0.5.", "All 10 slots."} <= {each.said for each in page.all("figcaption")}
    assert page.all("code")[0].said.startswith("packenv plan '") and NAME in page.all("code")[0].said


def test_evaluate(tasks: Path, tmp_path: Path) -> None:
    """On two servers four tasks run at a time: all of the capacity is in service until both halves are done, at slot 20.

    Twice the same bytes: nothing of how fast the machine was.
    """
    out = tmp_path / "evaluate.html"
    words = ("evaluate", tasks, "--servers", 2, "-p", "bf-js", "-p", "fifo-ff", "--drain", "--processes", 1, "--report", out)
    run(*words)
    first = out.read_bytes()
    run(*words)
    assert out.read_bytes() == first
    page = Page(first.decode())
    said = {each.said for each in page.all("figcaption")}
    assert "On average in service: bf-js 100%, at most 100%; fifo-ff 100%, at most 100%." in said
    assert any(each.startswith("Median, 95 % and 99 % in slots: bf-js 0 / 10 / 10") for each in said)
    assert "tasks/s" not in cells(page) and "mean queue" in cells(page)


def test_evaluate_seeds(tmp_path: Path) -> None:
    """A workload has no trace to show; several seeds have intervals."""
    out = tmp_path / "evaluate.html"
    run("evaluate", "paper/fig4b", "--slots", 3000, "--seeds", 2, "-p", "bf-js", "--processes", 1, "--report", out)
    headings = [each.said for each in Page(out.read_text()).all("h2", "h3")]
    assert "Mean queue, 95 % interval over the seeds" in headings and "The trace" not in headings


SLURM = [
    "JobID|Partition|Submit|Start|End|State|NCPUS",
    *(f"{n}|cpu|2026-03-01T12:00:00|2026-03-01T12:00:00|2026-03-01T12:00:09|COMPLETED|2" for n in range(8)),
    "8|big|2026-03-01T12:00:00|2026-03-01T12:00:00|Unknown|RUNNING|2",
]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (("evaluate", "--drain"), "bf-js on jobs.txt, partition cpu"),
        (("plan", "-g", "max queue <= 4"), "How many servers for jobs.txt, partition cpu"),
        (("plan", "-g", "max queue <= 4", "--types", "4=1,8=3"), "Which machines for jobs.txt, partition cpu"),
        (("plan", "-g", "max queue <= 4", "--without", "n1"), "What if servers of jobs.txt, partition cpu fail"),
    ],
)
def test_what_is_left_out_of_a_trace(
    words: tuple[str, ...], title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page says of the log and its nodes what the console says."""
    log, nodes, out = tmp_path / "jobs.txt", tmp_path / "nodes.txt", tmp_path / "page.html"
    log.write_text("\n".join(SLURM))
    nodes.write_text("NODELIST CPUS MEMORY STATE PARTITION\nn1 4 1024 idle cpu\nn2 4 1024 idle cpu\nn3 4 1024 drained cpu\n")
    servers = () if "--types" in words else ("--servers", nodes)
    options._note.cache_clear()  # each line is said once in a process
    run(*words, log, *servers, "--partition", "cpu", "-p", "bf-js", "--processes", 1, "--report", out)
    printed = capsys.readouterr()
    page = Page(out.read_text())
    assert page.all("h1")[0].said == title
    notes = {each.said for each in page.all("p") if each.attributes.get("class") == "note"}
    lines = {line.removeprefix("packenv: jobs.txt: ") for line in (printed.out + printed.err).splitlines()}
    left_out = "left out: 1 of other partitions" + ", 1 node that takes no jobs: n3 (drained)" * bool(servers)
    no_zone = "times have no zone, as sacct prints them: the hour that occurs twice in autumn is ambiguous"
    assert {left_out, no_zone} <= lines & notes


def test_judge() -> None:
    """Of judgments made by hand."""
    setting = workload("paper/fig3a")
    seen = Evidence(0.75, STABLE, 1000, 2, 3.0)
    held = Judgment("bf-js", setting.name, 0.9, 1.0, (2.0, 2.0), 0.5, "held", "not claimed", (seen,), setting)
    broken = Judgment("vqs", setting.name, 0.4, 0.45, (2.0, 2.0), 2 / 3, "broken", "broken", (seen,), setting)
    judgments = Judgments((held, broken))
    assert [str(cell) for cell in judgments.table().tables[0].rows[1]] == [
        "",
        "vqs",
        "0.400 – 0.450",
        "broken",
        "broken",
        "0.667",
    ]
    assert judgments.footnotes()[0] == "vqs: at least 0.667 on paper/fig3a is proved"
    assert judgments.notices == []
    assert judgments.to_dict()["judgments"][0] == held.to_dict() and held.to_dict()["evidence"][0]["verdict"]["kind"] == "stable"
    assert judgments.to_frame("pandas")[["policy", "load"]].values.tolist() == [["bf-js", 0.75], ["vqs", 0.75]]
    assert repr(held).splitlines()[1:] == ["  bf-js on paper/fig3a: 0.900 to 1.000"] and "0.900 – 1.000" in held._repr_html_()
    assert held.plot()._repr_png_().startswith(b"\x89PNG")
    report = judgments.page()
    assert report.answer == "bf-js supports 0.900 to 1.000 of ρ* on paper/fig3a; the guarantee of vqs on paper/fig3a is broken."
    page = Page(page_of(report, "packenv judge"))
    assert cells(page).count("paper/fig3a") == 2  # also where the terminal shows nothing
    assert "bf-js supports 0.900 to 1.000; vqs supports 0.400 to 0.450. Pale: not decided." in [
        each.said for each in page.all("figcaption")
    ]


def standing(policy: str, queues: Sequence[float], verdict: Verdict) -> Standing:
    path, others = QueuePath(1, [], []), {"mean_delay": None, "utilisation": [0.5]}
    runs = [Measured(n, 9, verdict, None, path, {"mean_queue": queue, **others}) for n, queue in enumerate(queues)]
    return Standing(policy, tuple(runs))


def test_leaderboard() -> None:
    """Of standings made by hand: half and ten times the reference's queue; the latter is unstable, and beyond the axis."""
    contest = Contest(workload("paper/fig4b"), "paper/fig4b", "0.95", 9)
    standings = (
        standing("bf-js", [2.0, 4.0], STABLE),
        standing("vqs", [20.0, 40.0], UNSTABLE),
        standing("fifo-ff", [1.0, 2.0], STABLE),
    )
    report = Leaderboard((Ranking(contest, standings, "bf-js"),), "bf-js").page()
    assert report.answer == "fifo-ff has the shortest mean queue of the policies that are stable."
    (figure,) = report.sections[0].figures
    assert figure.finding == "The least: at 0.95 fifo-ff has 0.5 times the mean queue of bf-js. Triangles lie beyond the axis."
    page = Page(page_of(report, "packenv leaderboard"))
    assert {"10 [10, 10]", "0.5 [0.5, 0.5]"} <= {each.said for each in page.all("text")}
    assert {"bf-js", "vqs", "fifo-ff"} <= set(cells(page)) and len(page.all("svg")) == 2


def test_matrix() -> None:
    """The page of two loads begins with a grid: half the queue is blue, ten times orange, the reference has no colour."""
    contests = [Contest(workload("paper/fig4b"), "paper/fig4b", at, 9) for at in ("0.9", "0.95")]
    queues = {"bf-js": [(2.0, STABLE), (4.0, STABLE)], "vqs": [(1.0, UNDECIDED), (40.0, UNSTABLE)]}
    rankings = []
    for n, contest in enumerate(contests):
        of_contest = ((policy, *values[n]) for policy, values in queues.items())
        standings = (standing(policy, [queue, queue], verdict) for policy, queue, verdict in of_contest)
        rankings.append(Ranking(contest, tuple(standings)))
    board = Leaderboard(tuple(rankings), None)
    report = board.page()
    (figure,) = report.sections[0].figures
    assert isinstance(figure, Figure) and isinstance(figure.chart, GridChart)
    assert figure.heading == "Ratios of mean queue to bf-js; ?: undecided"
    assert figure.finding == "vqs below 1 on 1 of 2, unstable on 1."
    assert figure.chart.columns == ["paper/fig4b at 0.9", "paper/fig4b at 0.95"] and figure.chart.rows == ["bf-js", "vqs"]
    (mean, _), (half, ten) = figure.chart.squares
    assert (mean.text, mean.shade[1]) == ("mean\n2", 0)
    assert (half.text, half.shade) == ("0.5 ?", (COLOURS[0], 1.0))
    assert (ten.text, ten.shade) == ("10\nunstable", (COLOURS[1], 1.0))
    assert Square(2**-0.5, "").shade[1] == pytest.approx(0.5) and Square(1.0, "").shade[1] == 0
    assert board.plot("matrix")._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"unknown kind of picture 'grid'"):
        board.plot("grid")


def test_reproduce() -> None:
    """The picture, the claims, and tables that are unfolded when asked for."""
    report = reproduce_page({"fig2": finding_of("fig2", Settings())}, "")
    assert report.answer == "2 of 2 claims shown."
    (picture,) = report.sections[0].figures
    assert isinstance(picture, Image) and isinstance(picture.png, bytes) and picture.png.startswith(b"\x89PNG")
    page = Page(page_of(report, "packenv reproduce fig2"))
    (image,) = page.all("img")
    assert image.attributes["src"].startswith("data:image/png;base64,") and "2 of 2 claims shown" in image.attributes["alt"]
    assert len(page.all("details")) == 2 and len(page.all("table")) == 3


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        ("plan.pdf", "plan.pdf: a report is .html"),
        ("nowhere/plan.html", "nowhere/plan.html: its folder does not exist"),
    ],
)
def test_it_is_checked_before_anything_runs(
    report: str, problem: str, tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (
        ("plan", tasks, "-g", "p95 wait <= 5"),
        ("evaluate", tasks, "--servers", 2),
        ("judge", "paper/fig3a"),
        ("leaderboard",),
        ("reproduce", "fig2"),
    ):
        with pytest.raises(SystemExit) as ended:
            run(*words, "--json", "all.json", "--report", report)
        assert ended.value.code == 2
        assert capsys.readouterr().err == f"packenv: {problem}\n"
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == [NAME]
