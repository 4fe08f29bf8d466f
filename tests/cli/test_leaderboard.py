"""`packenv leaderboard`: ratios worked by hand, what competes where, what it writes, going on after a kill, bad input."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.cli.leaderboard import check_page, write_page
from packenv.cli.main import main
from packenv.options.verbs import JudgeOptions, LeaderboardOptions
from packenv.runs import leaderboard
from packenv.runs.contest import contest, contest_on
from packenv.runs.leaderboard import entries_of
from packenv.runs.measured import measured
from packenv.runs.ranking import Ranking, Standing
from packenv.runs.statistics import ratio_of_means
from tests.envs.playing import plain_env
from tests.words import over

ROOT = Path(packenv.__file__).parents[1]
SMALL = ("--seeds", "3", "--slots", "20000", "--processes", "1")
TWO = ("-w", "paper/fig3a@rate=0.014", "-w", "paper/fig3a@rate=0.018", "-p", "bf-js", "-p", "vqs")
PAGE = "# `<!-- leaderboard -->` and `<!-- /leaderboard -->`\n\n<!-- leaderboard -->\nold\n<!-- /leaderboard -->\n\nthe rest\n"


def compete(folder: Path, *more: object, judge: bool = False) -> list[dict[str, Any]]:
    out = folder / "standings.json"
    main(["leaderboard", *over(SMALL, "--judge" if judge else "--no-judge", "--json", str(out), *map(str, more))])
    return json.loads(out.read_text())


# --- who competes where --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, name, slots, intensity, servers",
    [
        ("paper/fig4b", "paper/fig4b at 0.9", 1000, 0.9, 5),
        ("paper/fig4b@0.95", "paper/fig4b at 0.95", 1000, 0.95, 5),
        ("paper/fig4b@.95,servers=50,slots=77", "paper/fig4b, 50 servers at 0.95", 77, 0.95, 50),
        ("paper/fig4b@servers=3x1,2x0.9,intensity=0.5", "paper/fig4b, 5 servers at 0.5", 1000, 0.5, 5),
        ("paper/fig3a@rate=0.014", "paper/fig3a at rate 0.014", 1000, 0.7, 1),
        ("paper/fig3a@load=0.5", "paper/fig3a at load 0.5", 1000, 0.5, 1),
    ],
)
def test_contests(text: str, name: str, slots: int, intensity: float, servers: int) -> None:
    found = contest(text, 1000)
    assert (found.name, found.slots, len(found.workload.servers)) == (name, slots, servers)
    assert found.workload.intensity == pytest.approx(intensity, rel=1e-5)


def test_agents_compete_at_home_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"agent:b": {"workload": "paper/fig4b"}, "agent:c": {"workload": {"name": "paper/fig3a"}}, "agent:d": {}}
    monkeypatch.setattr(leaderboard, "shipped_agents", lambda: [*about])
    monkeypatch.setattr(leaderboard, "find_policy", lambda name: SimpleNamespace(about=about[name]) if name in about else None)
    contests = ["paper/fig4b@0.95,servers=50", "paper/fig3a"]
    usual = ["bf-js", "vqs", "vqs-bf", "fifo-ff"]
    found = entries_of(contests, (), LeaderboardOptions(reference="bf-js"))
    assert [e.policy for e in found if e.contest.group.startswith("paper/fig4b")] == [*usual, "agent:b", "agent:d"]
    assert [e.policy for e in found if e.contest.group.startswith("paper/fig3a")] == [*usual, "agent:c", "agent:d"]
    found = entries_of(contests, (), LeaderboardOptions(reference="bf-js", matrix=True))
    assert [e.policy for e in found] == [*usual, *about] * 2
    found = entries_of(contests, ("agent:b", "vqs"), LeaderboardOptions(reference="vqs"))
    assert [e.policy for e in found] == ["vqs", "agent:b"] * 2


def test_a_matrix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each policy; its cells are the ratios of the records. Nothing is judged."""
    records = compete(tmp_path, *TWO, "--matrix", "--slots", "2000", "--format", "markdown", judge=True)
    shown = capsys.readouterr()
    head, _, *rows = shown.out.splitlines()
    assert head == "| policy | paper/fig3a at rate 0.014 | paper/fig3a at rate 0.018 |"
    cells = {row.split(" | ")[0][2:]: row.strip("| ").split(" | ")[1:] for row in rows if row.startswith("|")}
    assert [*cells] == ["bf-js", "vqs"]
    for record in records:
        place = ["rate 0.014", "rate 0.018"].index(record["at"])
        if record["policy"] != "bf-js":  # its row has means
            assert float(cells[record["policy"]][place].split()[0]) == pytest.approx(record["ratio"], rel=0.01)
    assert "Ratios of mean queue to bf-js on the same jobs" in shown.err


def test_shipped_agents_are_policies() -> None:
    for name in leaderboard.shipped_agents():
        assert packenv.policy.find_policy(name).about["workload"]


def untrained(path: Path, seed: int) -> None:
    """An agent for ServerFill as it is before it has learned anything."""
    torch = pytest.importorskip("torch")
    from packenv.learning.agents.saved import save_agent
    from tests.reference.networks.network import Network

    env: Any = plain_env("ServerFill", observation="actions", J=4)
    torch.manual_seed(seed)
    made = Network(env.observation_space, int(env.action_space.n), "shared", 16)
    for layer in made.actor.parameters():
        torch.nn.init.normal_(layer, std=0.4)
    environment = {"kind": "ServerFill", "resources": 1, "options": {"observation": "actions", "J": 4}}
    save_agent(path, {"environment": environment, "network": {"kind": "shared", "hidden": 16}, "guard": None}, made.exported())


def test_agents_compete(tmp_path: Path) -> None:
    """Beside a policy, on its jobs; other weights under the same name are another agent to the log."""
    agent = tmp_path / "mine"
    words = ("-w", "paper/fig4b@0.8", "-p", f"agent:{agent}", "--slots", 5000, "--log", tmp_path / "log.jsonl")
    untrained(agent, 1)
    best, first = compete(tmp_path, *words)
    direct = [packenv.simulate(packenv.workload("paper/fig4b", intensity=0.8), f"agent:{agent}", 5000, seed) for seed in range(3)]
    assert first["mean_queue_by_seed"] == [result.mean_queue for result in direct]
    assert (best["policy"], first["policy"], first["ratio"] is None) == ("bf-js", f"agent:{agent}", False)
    untrained(agent, 2)
    again, second = compete(tmp_path, *words)
    assert again == best and second["mean_queue_by_seed"] != first["mean_queue_by_seed"]


def test_in_python(tmp_path: Path) -> None:
    """What the command writes, as an object: table, frame, picture, plain values; what does not compete is said."""
    policies = ["bf-js", "vqs", "slot-fifo:slots=2"]
    board = packenv.leaderboard("paper/fig4b@0.8", policies, seeds=2, slots=3000, judge=False)
    words = ("-w", "paper/fig4b@0.8", *(word for policy in policies for word in ("-p", policy)), "--seeds", 2, "--slots", 3000)
    assert board.to_dict() == {"reference": None, "standings": compete(tmp_path, *words), "refusals": board.refusals}
    assert len(board.refusals) == 1 and "does not compete on paper/fig4b at 0.8" in str(board.table())
    frame = board.to_frame("pandas")
    assert [*frame["policy"]] == policies and frame["ratio"][1] == board.records[1]["ratio"]
    assert repr(board).splitlines()[0] == "Leaderboard of bf-js, vqs and slot-fifo:slots=2 on 1 workload"
    assert "<td style='text-align:left'>vqs</td>" in board._repr_html_() and "<br>" in board._repr_html_()
    assert board.plot()._repr_png_().startswith(b"\x89PNG")
    loaded = [
        packenv.workload("paper/fig4b", intensity=0.8),
        packenv.workload("paper/fig4b", intensity=0.8, sizes="constant:0.5"),
    ]
    with pytest.raises(packenv.InputError, match=r"two workloads have the name paper/fig4b at 0\.8"):
        packenv.leaderboard(loaded, ["bf-js"], judge=False)


# --- the command ---------------------------------------------------------------------------------------------------


def test_standings_page_and_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    found = compete(tmp_path, *TWO, "--plot", tmp_path / "ratios.png", "--markdown", page)
    assert [(one["at"], one["policy"]) for one in found] == [
        (at, p) for at in ("rate 0.014", "rate 0.018") for p in ("bf-js", "vqs")
    ]
    workload = packenv.workload("paper/fig3a", rate=0.018)
    queues = {p: [packenv.simulate(workload, p, 20_000, seed).mean_queue for seed in range(3)] for p in ("bf-js", "vqs")}
    best, vqs = found[2:]
    assert (best["mean_queue_by_seed"], vqs["mean_queue_by_seed"]) == (queues["bf-js"], queues["vqs"])
    expected = ratio_of_means(queues["vqs"], queues["bf-js"])
    assert (vqs["ratio"], vqs["ratio_interval"]) == (expected.mean, [expected.low, expected.high])
    assert vqs["mean_queue"] == pytest.approx(np.mean(queues["vqs"]))  # type: ignore[arg-type]
    assert (best["ratio"], best["supported"], best["refused"], vqs["reference"]) == (None, None, None, "bf-js")
    assert (tmp_path / "ratios.png").read_bytes().startswith(b"\x89PNG")
    out, text = capsys.readouterr().out, page.read_text()
    for shown in (f"{expected.mean:.3g} [", "rate 0.014", "paper/fig3a, 3 seeds of 20,000 slots"):
        assert shown in out
    head = "| `paper/fig3a`, 3 seeds of 20,000 slots | rate 0.014 | rate 0.018 |\n"
    assert text.startswith(PAGE.partition("old")[0] + head)
    assert text.endswith(".\n<!-- /leaderboard -->\n\nthe rest\n") and "old" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1 and f"<br>{expected.mean:.3g} [" in rows[3]


def test_judged_and_unstable_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard, "JUDGING", JudgeOptions(seeds=2, width=0.2))
    arguments = ("-w", "paper/fig3a@rate=0.014", "-w", "paper/fig3a@rate=0.022", "-p", "bf-js", "--slots", 100_000)
    log = tmp_path / "log.jsonl"
    below, above = compete(tmp_path, *arguments, "--log", log, judge=True)
    assert below["supported"] == above["supported"]
    assert below["supported"].keys() == {"low", "high", "claimed", "half", "two_thirds", "rho"}
    assert below["supported"]["low"] >= 0.8 and below["supported"]["half"] == "held"
    assert (below["verdict"], above["verdict"]) == ("stable", "unstable")
    out = capsys.readouterr().out
    assert "supported" in out and "held" in out and " ↑" in out and "↑ unstable: the mean depends on the length of the run" in out
    before = log.read_text()
    assert compete(tmp_path, *arguments, "--log", log, judge=True) == [below, above]
    assert log.read_text() == before


def test_a_trace_runs_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "tasks.csv"
    trace.write_text("\n".join(["arrival,size,service", *(f"{3 * n},{(1 + n % 6) / 10},{5 + n % 7}" for n in range(900))]) + "\n")
    found = compete(tmp_path, "-w", f"{trace}@servers=1", "-w", f"{trace}@servers=1,speedup=1.2", "-p", "bf-js", "-p", "fifo-ff")
    assert [(one["group"], one["at"], one["seeds"]) for one in found[1::2]] == [
        ("tasks.csv, 1 server", "", 1),
        ("tasks.csv, 1 server", "β = 1.2", 1),
    ]
    best, fifo = found[:2]
    delay = fifo["mean_delay"]
    assert delay["ratio"] == delay["mean"] / best["mean_delay"]["mean"] and delay["ratio_interval"] is None
    assert delay["by_seed"] == [packenv.simulate(trace, "fifo-ff", servers=1, drain=True).mean_delay] and fifo["slots"] is None
    out = capsys.readouterr().out
    assert "±" not in out and "tasks.csv, 1 server, 900 tasks, to the end" in out and "mean delay (slots)" in out


def test_a_table_is_run_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last task arrives in slot 30, and waits up to slot 98: a run that ends when it arrives knows nothing of it.

    `slots=N` stops a table, and its column says so.
    """
    trace = tmp_path / "tasks.csv"
    rows = [*(f"0,1,{service}" for service in (2, 2, 2, 2, 90)), "30,0.5,90"]
    trace.write_text("\n".join(["arrival,size,service", *rows]) + "\n")
    of = f"{trace}@servers=1"
    to_the_end, cut = compete(tmp_path, "-w", of, "-w", f"{of},slots=31", "-p", "fifo-ff", "--reference", "fifo-ff")
    run = packenv.simulate(trace, "fifo-ff", servers=1, drain=True)
    assert to_the_end["mean_delay"]["mean"] == run.mean_delay == (0 + 2 + 4 + 6 + 8 + 68) / 6 and "mean_queue" not in to_the_end
    assert cut["slots"] == 31 and cut["mean_queue"] == (4 * 2 + 3 * 2 + 2 * 2 + 1 * 2 + 1) / 31
    assert "mean queue in 31 slots" in capsys.readouterr().out


def test_a_task_that_never_starts_leaves_no_mean() -> None:
    """A policy under which the largest tasks wait for ever does not win by the delays of the others."""
    table = packenv.Workload(jobs=packenv.Jobs.of([0, 0, 3], [0.5, 0.9, 0.5], [5, 5, 5]), servers=1)
    found = contest_on(table, 1000)
    (delay,) = found.measures
    for slots, means in ((None, 8 / 3), (5, None)):
        run = packenv.simulate(table, "bf-js", slots, drain=slots is None)
        score = Ranking(found, (Standing("bf-js", runs=(measured(run),)),)).score("bf-js", delay)
        assert score is not None and score.in_slots.mean == means and (run.mean_delay is not None)


def test_bad_input_for_one_policy_stops_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best, slots = compete(tmp_path, "-w", "paper/fig4b@0.8", "-p", "bf-js", "-p", "slot-fifo:slots=2")
    assert best["mean_queue"] > 0
    assert (slots["mean_queue"], slots["seeds"], slots["verdict"], slots["ratio"]) == (None, 0, None, None)
    assert "larger than a slot" in slots["refused"]
    shown = capsys.readouterr()
    assert shown.out.count("\nslot-fifo:slots=2 does not compete on paper/fig4b at 0.8: ") == 1
    assert re.search(r"slot-fifo:slots=2 +–", shown.out)


def test_goes_on_after_a_kill(tmp_path: Path) -> None:
    """Killed in the middle, with its last line cut short: started again, it says the same and runs nothing twice."""
    log = tmp_path / "log.jsonl"
    words = [*TWO, "--seeds", "4", "--slots", "300000", "--processes", "1"]
    command = [sys.executable, "-m", "packenv.cli.main", "leaderboard", *words, "--no-judge", "--log", str(log)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not log.exists() or log.read_text().count("\n") < 3):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = log.read_text().count("\n")
    assert 3 <= done < 16
    with log.open("a") as file:
        file.write('{"run": "cut sh')
    resumed = compete(tmp_path, *words, "--log", log)
    lines = log.read_text().splitlines()
    assert len({json.loads(line)["run"] for line in lines}) == len(lines) == 16
    assert resumed == compete(tmp_path, *words)


def test_a_page_that_is_not_there(tmp_path: Path) -> None:
    """It is made, and filled again."""
    page = str(tmp_path / "board.md")
    for text in ("first", "second"):
        check_page(page)
        write_page(page, text)
    assert Path(page).read_text() == "<!-- leaderboard -->\nsecond\n<!-- /leaderboard -->\n"


def page_without_marks(folder: Path) -> Path:
    path = folder / "page.md"
    path.write_text("# Title\n<!-- leaderboard -->\n")
    return path


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("-w", "paper/fig9"), "unknown workload 'paper/fig9'"),
        (("-w", "paper/fig4b@often"), "paper/fig4b@often: intensity must be a number"),
        (("-w", "paper/fig4b@pace=2"), "paper/fig4b@pace=2: unknown setting 'pace'"),
        (("-w", "paper/fig4b@0.9,rate=1"), "give one of load, intensity and rate"),
        (("-w", "paper/fig4b@slots=0"), "slots must be a whole number"),
        (("-w", "no.parquet@servers=2"), "no.parquet"),
        (("-p", "vqz"), "unknown policy 'vqz'"),
        (("--reference", "bf-jss"), "unknown policy 'bf-jss'"),
        (("--warmup", "20000"), "leaves none of 20000 slots"),
        (("--plot", "x.txt"), "a plot is one of"),
        (("--log", "/no/such/folder/log"), "its folder does not exist"),
        (("--markdown", page_without_marks), "add the lines <!-- leaderboard --> and <!-- /leaderboard -->"),
        (("--tensorboard", __file__), "cannot be written (Not a directory)"),
    ],
)
def test_bad_input(
    arguments: tuple[str | Callable[[Path], Path], ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(word(tmp_path)) if callable(word) else word for word in arguments]
    with pytest.raises(SystemExit) as left:
        main(["leaderboard", *over(SMALL, *words)])
    assert left.value.code == 2
    error = capsys.readouterr().err.strip()
    assert message in error and "\n" not in error
