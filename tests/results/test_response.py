"""Response times and bounded slowdowns, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.results.job_times import bounded_slowdown

THREE = Jobs.of(arrival=[0, 0, 2], size=[1, 1, 1], service=[30, 4, 20])  # start in slots 0, 30 and 34


def test_runs_below_the_bound_and_of_no_time() -> None:
    wait, run = np.array([25, 3, 0, 60]), np.array([0, 2, 0, 40])
    assert bounded_slowdown(wait, run, 10.0).tolist() == [2.5, 1.0, 1.0, 2.5]


def test_by_hand() -> None:
    """Waits 0, 30 and 32, so responses 30, 34, 52; slowdowns 1, 34/10, 52/20."""
    workload = packenv.Workload(jobs=THREE, servers=1, slot_seconds=1.0)
    response = packenv.simulate(workload, "fifo-ff", drain=True).response
    assert response is not None and response.slowdown_bound == 10
    assert response == pytest.approx((116 / 3, 52, 52, (1 + 3.4 + 2.6) / 3, 3.4, 3.4, 10))
    tighter = packenv.simulate(workload, "fifo-ff", drain=True, slowdown_bound=2.0).response
    assert tighter is not None and tighter.max_slowdown == 34 / 4
    minutes = packenv.simulate(workload.with_(slot_seconds=60.0), "fifo-ff", drain=True).response  # 10 s: no run is shorter
    assert minutes is not None and minutes.max_slowdown == 34 / 4


def test_what_waits_for_others_counts_from_then_on() -> None:
    jobs = Jobs.of(arrival=[0, 0], size=[0.5, 0.5], service=[30, 20], predecessors=packenv.Ragged.of([[], [0]]))
    response = packenv.simulate(packenv.Workload(jobs=jobs, servers=1), "fifo-ff", drain=True).response
    assert response is not None and response.max_response == 30 and response.max_slowdown == 1


def test_streams_if_asked() -> None:
    """The measures of a stream are those of the table of its tasks, of those that became eligible after the warm-up."""
    stream = packenv.workload("paper/fig3a", rate=0.012)
    assert packenv.simulate(stream, "fifo-ff", slots=20_000).response is None
    run = packenv.simulate(stream, "fifo-ff", slots=20_000, slowdown_bound=50)
    table = packenv.simulate(stream.tabulated(0, 20_000), "fifo-ff", slots=20_000, warmup=2_000, slowdown_bound=50)
    assert run.response is not None and run.response == table.response
    assert run.mean_delay is not None and run.response.mean_response > run.mean_delay + 50


@pytest.mark.parametrize("policy", ["fifo-ff", "bf-js", "vqs", "slot-fair"])
def test_mean_response_of_every_run(policy: str) -> None:
    """Without a record of the schedule it is the mean of (end - eligible) of the same tasks."""
    stream = packenv.workload("paper/fig3a", rate=0.012)
    run, recorded = (packenv.simulate(stream, policy, slots=20_000, slowdown_bound=bound) for bound in (None, 50))
    assert recorded.response is not None and run.mean_response == recorded.mean_response == recorded.response.mean_response
    evaluated = packenv.evaluate(stream, [policy], slots=20_000, seeds=1)
    assert evaluated.records[0]["mean_response"] == run.mean_response
    assert "response" in evaluated.table().markdown()


def test_a_gang_responds_when_its_last_task_ends() -> None:
    jobs = Jobs.of([0, 0, 1], [0.6, 0.7, 0.6], [5, 8, 3], gang=[0, 0, -1])
    run = packenv.simulate(packenv.Workload(jobs=jobs, servers=2), "fifo-ff", drain=True)
    assert run.mean_response == (8 + 7) / 2


def test_shown_where_asked_and_in_records() -> None:
    workload = packenv.Workload(jobs=THREE, servers=1)
    plain = packenv.evaluate(workload, ["fifo-ff"], drain=True)
    assert plain.records[0]["mean_slowdown"] == pytest.approx(7 / 3)
    assert "slowdown" not in str(plain.table())
    assert "slowdown" in str(packenv.evaluate(workload, ["fifo-ff"], drain=True, slowdown_bound=10).table())
    assert "slowdown" in str(packenv.evaluate(workload.with_(processors=256), ["fifo-ff"], drain=True).table())
    with pytest.raises(InputError, match="slowdown_bound must be a number of seconds above 0, not 0"):
        packenv.simulate(workload, "fifo-ff", slowdown_bound=0)


def test_a_log_of_parallel_jobs(tmp_path: Path) -> None:
    """A run of 0 s is dropped and counted; s is the log's clock, n its processors."""
    row = "{} {} -1 {} {} -1 -1 -1 {} -1 1 1 1 1 1 1 -1 -1\n"
    lines = [row.format(*job) for job in [(1, 1_000, 0, 2, 60), (2, 1_005, 30, 4, 60), (3, 1_006, 3, 4, 60)]]
    path = tmp_path / "log.swf"
    path.write_text("; MaxProcs: 4\n" + "".join(lines))
    workload = packenv.workload(path, servers=1, slot_seconds=1)
    assert (workload.processors, workload.began) == (4, 1_005)
    assert workload.left_out["duration missing or <= 0"] == 1
    response = packenv.simulate(workload, "fifo-ff", drain=True).response
    assert response is not None and response.max_slowdown == 3.2
