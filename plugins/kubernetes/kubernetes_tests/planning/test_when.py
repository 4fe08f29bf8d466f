"""When waiting tasks would start: against closed forms, and on held-back parts of two real traces."""

from __future__ import annotations

import heapq
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubernetes_tests.sample import container, listed, node, pod
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.workloads.laws import Empirical
from packenv.workloads.traces import read_trace
from packenv_kubernetes.commands.command import DRAWS
from packenv_kubernetes.planning.queue import NEVER, intervals
from packenv_kubernetes.started import remaining


def test_intervals_are_order_statistics() -> None:
    times = np.array([[n, NEVER if n > 4 else 7] for n in (8, 3, 1, 9, 2, 5, 4, 7, 6)])
    first, second = intervals(times)  # nine draws: from the first to the last
    assert first == (1, 5, 9, 1.0)
    assert second == (7, NEVER, NEVER, 4 / 9)
    with pytest.raises(InputError, match="8 draws are too few for 80% intervals: at least 9"):
        intervals(times[:8])


def test_one_more_draw_falls_into_the_interval_with_the_chance_promised() -> None:
    """Of 199 draws from the 20th to the 180th: 160 of the 200 gaps. 20,000 tasks: a standard error of 0.003."""
    times = np.random.default_rng(0).geometric(1e-6, (DRAWS + 1, 20_000))
    held = [own.low <= true <= own.high for own, true in zip(intervals(times[:-1]), times[-1].tolist(), strict=True)]
    assert np.mean(held) == pytest.approx(0.8, abs=0.012)


def cluster(folder: Path) -> Path:
    """One node that a pod of a minute's age fills, a second one that waits for it, and a third that waits for both."""
    nodes = [node("only", "4")]
    pods = [pod("runs", container(cpu="4"), on="only", started="2024-05-01T11:59:00Z")]
    pods += [pod(f"waits-{n}", container(cpu="4"), created=f"2024-05-01T11:0{n}:00Z") for n in (1, 2)]
    return listed(folder / "cluster.json", [*nodes, *pods])


def when(*words: object) -> None:
    main(["kubernetes", "when", *map(str, words), "--processes", "1", "-p", "bf-js"])


def test_starts_against_closed_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exponential services have no memory: the first pod starts after Exp(600), the next after a gamma time of two."""
    out = tmp_path / "when.json"
    when(cluster(tmp_path), "--service", "exponential:600", "--slots", 100_000, "--draws", 99, "--json", out)
    shown = capsys.readouterr().out
    assert "team/waits-1" in shown and "1 pod runs at the start for a time that is drawn" in shown
    first, second = json.loads(out.read_text())
    assert (first["pod"], second["pod"], first["policy"], first["level"]) == ("team/waits-1", "team/waits-2", "bf-js", 0.8)
    gamma = {"low_s": (63.2, 319.1), "median_s": (415.9, 1007.0), "high_s": (1381.6, 2333.8)}  # quantiles of 10, 50 and 90 %
    density = {"low_s": (0.0015, 0.00052), "median_s": (0.000833, 0.00052), "high_s": (0.000167, 0.000133)}
    for name, chance in (("low_s", 0.1), ("median_s", 0.5), ("high_s", 0.9)):
        for record, quantile, slope in zip((first, second), gamma[name], density[name], strict=True):
            error = np.sqrt(chance * (1 - chance) / 99) / slope  # of an order statistic
            assert record[name] == pytest.approx(quantile, abs=4 * error)
    assert first["started"] == second["started"] == 1


def test_without_a_law_nothing_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "when.json"
    when(cluster(tmp_path), "--slots", 1000, "--draws", 9, "--json", out)
    shown = capsys.readouterr().out
    assert "team/waits-1   never\n" in shown and "intervals" not in shown
    assert [(own["low_s"], own["started"]) for own in json.loads(out.read_text())] == [(None, 0.0)] * 2


def test_nothing_is_drawn_of_a_fixed_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pod that runs has 540 s left: one time, no interval, and nothing on how many of them hold."""
    out = tmp_path / "when.json"
    when(cluster(tmp_path), "--service", "fixed:600", "--slots", 10_000, "--draws", 9, "--json", out)
    shown = capsys.readouterr().out
    assert "1 pod runs at the start for what is left of its service" in shown and "drawn" not in shown
    assert "start of waiting pods, from now; a run" in shown and "[" not in shown and "intervals" not in shown
    assert [(record["median_s"], record["covered"]) for record in json.loads(out.read_text())] == [(540, None), (1140, None)]


def test_with_a_node_more_and_without_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a second node the first pod starts at once. Without the first the pod that ran is last, and runs 600 s anew."""
    file, out = cluster(tmp_path), tmp_path / "when.json"
    fixed = "--service", "fixed:600", "--slots", 10_000, "--draws", 9, "--json", out
    when(file, *fixed, "--add", "only")
    assert "waiting pods with 1 more node like only, from now" in capsys.readouterr().out
    assert [record["median_s"] for record in json.loads(out.read_text())] == [0, 540]
    when(file, *fixed, "--add", "2xonly")
    assert "waiting pods with 2 more nodes like only, from now" in capsys.readouterr().out
    assert [record["median_s"] for record in json.loads(out.read_text())] == [0, 0]
    with pytest.raises(SystemExit):
        when(file, *fixed, "--add", "0xonly")
    assert "--add 0xonly: from 1 to 10,000 nodes" in capsys.readouterr().err
    when(file, *fixed, "--add", "only", "--without", "only")
    assert "1 pod of these nodes would start again, behind the waiting pods: team/runs.\n" in capsys.readouterr().out
    times = {record["pod"]: record["median_s"] for record in json.loads(out.read_text())}
    assert times == {"team/waits-1": 0, "team/waits-2": 600, "team/runs": 1200}


@pytest.mark.parametrize(
    ("rows", "share"),
    [(("0,300,0.5", "1,400,0.5"), "5% and 54%"), (("0,300,0.5", "1,400,0.5") * 80, "21% and 7%")],
)
def test_the_intervals_say_what_they_held(tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: Any, share: str) -> None:
    """By what is known of durations: one law (few of a trace are one stretch), or stretches of a trace."""
    trace, out = tmp_path / "trace.csv", tmp_path / "when.json"
    trace.write_text("\n".join(["submit_time_s,duration_s,cpu", *rows]) + "\n")
    when(cluster(tmp_path), "--durations", trace, "--slots", 1000, "--draws", 9, "--json", out)
    promise = "the intervals hold 80% of starts if durations are drawn independently, as is assumed here; of what two real traces"
    assert f"{promise} recorded, in order, they held {share}" in capsys.readouterr().out
    assert [f"{each:.0%}" for each in json.loads(out.read_text())[0]["covered"]] == share.split(" and ")


def test_durations_of_a_trace(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace.csv", tmp_path / "when.json"
    trace.write_text("submit_time_s,duration_s,cpu\n0,300,0.5\n1,300,0.5\n")
    when(cluster(tmp_path), "--durations", trace, "--slots", 1000, "--draws", 9, "--json", out)
    assert [(own["low_s"], own["high_s"]) for own in json.loads(out.read_text())] == [(240, 240), (540, 540)]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("CLUSTER", "--add", "onyl"), "--add onyl: neither a node of"),
        (("CLUSTER", "--without", "only"), "no node is left"),
        (("gone.json",), "gone.json: no such file"),
        (("CLUSTER", "-g", "max queue <= 5"), "No such option"),
        (("CLUSTER", "--draws", 5), "5 draws are too few for 80% intervals"),
        (("CLUSTER", "--durations", "gone.csv"), "gone.csv: no such file"),
        (("CLUSTER", "--durations", "gone.csv", "--service", "fixed:5"), "give one of --service and --durations"),
        (("CLUSTER", "--resources", "disk"), "no resource disk; known: cpu, memory"),
    ],
)
def test_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(SystemExit):
        when(*(cluster(tmp_path) if word == "CLUSTER" else word for word in words))
    said = capsys.readouterr().err.strip()
    assert problem in said and "\n" not in said


MOMENTS, SLOT = 100, "0.01"  # short slots, so that few starts are equal


def fifo(free: list[float], services: list[int]) -> list[float]:
    """When tasks that take a server each start, in order; `free`: when each server is free."""
    heapq.heapify(free)
    found = []
    for service in services:
        found.append(max(heapq.heappop(free), 0.0))
        heapq.heappush(free, found[-1] + service)
    return found


@pytest.mark.skipif("PACKENV_TRACES" not in os.environ, reason="PACKENV_TRACES is not set: the real traces are not here")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["google2011_hawk_jobs", "alibaba2023_openb_pods"])
def test_intervals_cover_what_was_held_back(name: str) -> None:
    """One half of a trace's durations is the law; the other half, in random order, goes through ten servers in order.

    At random moments one knows the age of each server's task, and of ten that wait nothing.
    """
    random = np.random.default_rng(0)
    trace = read_trace(Path(os.environ["PACKENV_TRACES"]) / f"{name}.parquet")
    known, held_back = np.array_split(random.permutation(trace.jobs(slot_seconds=SLOT).jobs.service), 2)
    law, start = Empirical(known), np.array(fifo([0.0] * 10, held_back.tolist()))
    end, covered = start + held_back, []
    for now in random.integers(1, start[-20], MOMENTS):
        first = int(np.searchsorted(start, now, "right"))
        running = np.flatnonzero((start <= now) & (end > now))
        waiting = [*range(first, first + 10)]
        age = np.tile(now - start[running], (DRAWS, 1))
        true = np.array(fifo((end[running] - now).tolist(), held_back[waiting].tolist()))
        left, asked = remaining(law, age, random.random(age.shape)), random.choice(known, (DRAWS, 10))
        drawn = np.array([fifo(own.tolist(), services.tolist()) for own, services in zip(left, asked, strict=True)])
        held = [each.low <= one <= each.high for each, one in zip(intervals(drawn.astype(np.int64)), true, strict=True)]
        covered.append(np.mean(held))
    assert 0.75 <= np.mean(covered) <= 0.85
