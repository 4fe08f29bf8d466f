"""What keys of runs depend on, what a log gives back, and paths of runs of unlike lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.runs.keys import digest_of_policy, digest_of_workload
from packenv.runs.log import RunLog
from packenv.runs.measured import mean_path, measured
from packenv.workloads.workload import Workload


class Weighed(NamedTuple):
    weights: np.ndarray  # type: ignore[type-arg]


def test_keys_name_all_that_matters() -> None:
    assert digest_of_policy(Weighed(np.zeros(3))) == digest_of_policy(Weighed(np.zeros(3)))
    others = [Weighed(np.zeros(4)), Weighed(np.zeros(3, np.float32)), Weighed(np.array([0, 0, 1e-9])), "bf-js", "vqs", "vqs:J=3"]
    assert len({digest_of_policy(one) for one in [Weighed(np.zeros(3)), *others]}) == 7

    def table(**more: Any) -> Workload:
        return Workload(jobs=packenv.Jobs.of([0, 0], [0.5, 0.6], [2, 3], **more), servers=1)

    workloads = [
        table(),
        table(job=np.array([0, 1])),
        table(job=np.array([0, 0])),
        packenv.workload("paper/fig4b"),
        packenv.workload("paper/fig4a"),
    ]
    assert len({digest_of_workload(one) for one in workloads}) == 5
    assert digest_of_workload(table(job=np.array([0, 1]))) == digest_of_workload(table(job=np.array([0, 1])))


def test_what_the_log_gives_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run = measured(packenv.simulate(packenv.workload("paper/fig3a"), "bf-js", 5000))
    RunLog(path).keep("key", run)
    with path.open("a") as file:
        file.write('{"run": "another", "outcome": [[], 0]}\n')  # a judgment's
    assert RunLog(path).known == {"key": run}
    path.write_text('{"run": "key", "measured": {"seed": 1}}\n')
    with pytest.raises(InputError, match=r"log\.jsonl, line 1"):
        RunLog(path)


def test_paths_of_unlike_lengths() -> None:
    workload = packenv.workload("paper/fig4b")
    long, short = (packenv.simulate(workload, "bf-js", slots, warmup=0) for slots in (70_000, 21_000))
    runs = [measured(long), measured(short)]
    assert all(100 <= len(run.path.queue) <= 200 for run in runs)
    ends, queue, size = mean_path(runs)
    width = runs[0].path.bin_slots
    assert [*ends] == [width * (n + 1) for n in range(21_000 // width)]
    for found, key in ((queue, "queue"), (size, "waiting_size")):
        for n in (0, len(ends) - 1):
            means = []
            for result in (long, short):
                group = width // result.trajectory.bin_slots
                means.append(getattr(result.trajectory, key)[n * group : (n + 1) * group].mean())
            assert found[n] == pytest.approx(np.mean(means), rel=1e-5)
