"""`packenv.compare` and the command: by hand, against Erlang's formula, and what cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import packenv
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.planning.pair import OPEN, WORSE, default_measure, is_servers
from packenv.policies import BestFit
from packenv.runs.statistics import DOUBT, doubt_at
from tests.cli.evaluating import trace
from tests.planning.test_plans import CENTRE, erlang_c_wait


def status(*words: object) -> int:
    try:
        main(["compare", "--processes", "1", *map(str, words)])
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        return ended.code
    return 0


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """On two servers FIFO puts 0.4 + 0.4 on the first and keeps one 0.6 waiting for 10 slots; largest first keeps none."""
    return trace(tmp_path, "0,0.4,10", "0,0.4,10", "0,0.6,10", "0,0.6,10", "20,1,10", "20,1,10", "20,1,10")


def test_records_of_a_table_in_slots(tasks: Path) -> None:
    """Nobody said how long a slot is, and its work ends: of neither there is anything to say."""
    pair = packenv.compare(tasks, "fifo-ff", "bf-s", servers=2).to_dict()
    assert pair["slot_seconds"] is None and [side["stability"] for side in pair["sides"]] == [None, None]
    [plan] = packenv.plan(tasks, "mean wait <= 8", policies=["fifo-ff"]).to_dict()["plans"]
    assert plan["slot_seconds"] is None
    assert packenv.compare(tasks, "fifo-ff", "bf-s", servers=2, slot_seconds=2).to_dict()["slot_seconds"] == 2
    with pytest.raises(InputError, match="the length of a slot is unknown"):
        packenv.plan(tasks, "mean wait <= 8s", policies=["fifo-ff"])


def test_a_trace_by_hand(tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last three tasks are whole servers: one waits for 10 slots with both. So 20 slots in all with FIFO, and 10 without."""
    out = tmp_path / "pair.json"
    words = (tasks, "--servers", 2, "--json", out)
    assert status("fifo-ff", "bf-s", *words) == 1
    assert "worse: the mean wait with fifo-ff is 2 times that with bf-s. At most 1.05 is allowed." in capsys.readouterr().out
    record = json.loads(out.read_text())
    assert [side["values"] for side in record["sides"]] == [[20 / 7], [10 / 7]] and record["ratio"] == [2, None, None]
    assert status("bf-s", "fifo-ff", *words) == 0
    assert status("fifo-ff", "bf-s", *words, "--margin", "100%") == 0 and status("fifo-ff", "bf-s", *words, "--margin", 0.99) == 1
    assert status("fifo-ff", "bf-s", *words, "--measure", "max wait") == 0
    assert status(2, 3, *words[:1], "-p", "bf-s") == 1 and status(3, "3x1,1x0.5", *words[:1]) == 0


def test_of_jobs_and_nothing_waiting() -> None:
    jobs = packenv.Jobs.of([0, 0, 0], [1, 1, 1], [10, 20, 30], job=packenv.Jobs.of([0, 0, 0], [1] * 3, [1] * 3).arrival)
    table = packenv.Workload(jobs=jobs, servers=3)
    assert default_measure(table, None) == "mean completion" and default_measure(table, 5) == "mean queue"
    pair = packenv.compare(table, 2, 3)
    assert pair.verdict == WORSE and pair.ratio.mean == pytest.approx(40 / 30) and pair.status == 1
    pair = packenv.compare(table, 2, 3, measure="mean wait")
    assert (pair.verdict, pair.reason) == (WORSE, "the mean wait is 3.33 with 2 servers and 0 with 3 servers")
    assert packenv.compare(table, 4, 3, measure="mean wait").status == 0


def test_servers_of_an_erlang_queue() -> None:
    """57 servers make calls wait 4.0 s, 58 2.8 s on average: 1.43 times as long."""
    truth = erlang_c_wait(48, 57, 240) / erlang_c_wait(48, 58, 240)
    pair = packenv.compare(CENTRE, 57, 58, measure="mean wait", slots=50_000)
    low, high = pair.ratio[1:]
    assert pair.status == 1 and low is not None and high is not None and low < truth < high and len(pair.first.runs) >= 4
    assert packenv.compare(CENTRE, 58, 57, measure="mean wait", slots=50_000).status == 0
    assert "57 servers and 58 servers on call centre" in repr(pair) and "mean wait (s)" in str(pair.table())


def test_runs_on_and_gives_up() -> None:
    """Two policies that are nearly one: two seeds do not tell, and with no time left that is what is said."""
    words = {"slots": 5_000, "intensity": 0.8, "margin": 0.0, "seeds": 2}
    pair = packenv.compare("paper/fig4b", "bf-s", BestFit(), time=1e-9, **words)  # type: ignore[arg-type]
    assert pair.verdict == OPEN and pair.status == 3 and len(pair.first.runs) == 2
    longer = packenv.compare("paper/fig4b", "bf-s", BestFit(), time=3, **words)  # type: ignore[arg-type]
    assert len(longer.first.runs) == len(longer.second.runs) > 2
    assert longer.first.values[:2] == pair.first.values and longer._repr_html_().startswith("<p>bf-s and bf-js on ")


def test_all_looks_together_err_as_one() -> None:
    assert 0.95 * DOUBT < sum(doubt_at(look) for look in range(1, 100)) < DOUBT


def test_unstable_beside_stable() -> None:
    """Four servers cannot carry what keeps 70 % of eight busy."""
    pair = packenv.compare("paper/fig4b", 4, 8, intensity=0.7, slots=50_000)
    assert pair.status == 1 and pair.reason == "the queue grows without end with 4 servers, and not with 8 servers"
    assert packenv.compare("paper/fig4b", 8, 4, rate=pair.first.workload.rate, slots=50_000).status == 0
    both = packenv.compare("paper/fig4b", 2, 3, rate=pair.first.workload.rate, slots=20_000, seeds=2)
    assert both.status == 1 and both.reason.endswith("With both the queue grows without end, and its growth is compared")


@pytest.mark.parametrize(
    "words, problem",
    [
        (("bf-js", "3"), "compare two policies, or two sets of servers"),
        (("bf-js", "bf-js"), "both sides are bf-js"),
        (("bf-js", "bf-jss"), "did you mean"),
        (("3", "4", "--servers", "5"), "leave out --servers when you compare two sets of servers"),
        (("bf-js", "bf-s", "--margin", "-1"), "--margin must be a share of at least 0"),
        (("bf-js", "bf-s", "--margin", "much"), "'much' is not a share such as 0.05 or 5%"),
        (("bf-js", "bf-s", "--time", "0"), "Invalid value for '--time': must be above 0, not 0"),
        (("bf-js", "bf-s", "--measure", "utilisation"), "not compared; measures are mean queue"),
        (("bf-js", "bf-s", "--measure", "wait"), "of a wait there are mean, max, and quantiles such as p80"),
        (("bf-js", "bf-s", "--measure", "makespan"), "make no jobs"),
    ],
)
def test_bad_input(words: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(*words[:2], "paper/fig4b", *words[2:]) == 2
    assert problem in capsys.readouterr().err.splitlines()[-1]


def test_a_rule_is_named_by_its_file_alone(tmp_path: Path) -> None:
    """As after -p; the file of a cluster's servers is no rule."""
    for name in ("mine.py", "servers.json"):
        (tmp_path / name).write_text("")
    assert [is_servers(str(tmp_path / name)) for name in ("mine.py", "servers.json")] == [False, True]


def test_a_wrong_order_is_answered_with_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "paper/fig4b", "bf-js", "fifo-ff:stall"])
    assert "fifo-ff:stall is a policy, not a workload: the order is A B WORKLOAD" in capsys.readouterr().err
