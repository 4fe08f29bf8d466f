"""What keys of runs depend on, what a log gives back, and paths of runs of unlike lengths."""

from __future__ import annotations

import multiprocessing
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import packenv
from packenv.compiled import sources
from packenv.errors import InputError
from packenv.planning.goals import parse_goal
from packenv.planning.request import PlanLog
from packenv.results.stability import Verdict
from packenv.runs import keys
from packenv.runs.keys import digest_of_policy, digest_of_workload, keys_of
from packenv.runs.log import RunLog
from packenv.runs.measured import Measured, mean_path, measured, scalar_measures
from packenv.runs.measured import Path as MeanPath
from packenv.runs.run import Run
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


def test_an_edit_changes_the_keys_of_the_runs_that_depend_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a copy of the package: whatever is loaded, and as far as it is imported by what decides a run's result."""
    package = tmp_path / "packenv"
    shutil.copytree(sources.PACKAGE, package, ignore=lambda folder, names: [n for n in names if "." in n and n[-3:] != ".py"])
    monkeypatch.setattr(sources, "PACKAGE", package)
    monkeypatch.setattr(keys, "base", lambda: tmp_path)
    runs = [Run(packenv.workload("paper/fig4b"), policy, slots=100) for policy in ("bf-js", "tetris", "agent:fig4b")]
    plans = PlanLog(None, [parse_goal("p95 wait <= 5", None)])

    def keys_now() -> dict[str, str]:
        return dict(zip("btaBTA", [*keys_of(runs), *plans.keys(runs)], strict=True))

    unchanged = keys_now()

    def changed_by(file: str, edit: str = "\nEDITED = 1\n") -> str:
        """First letters of the policies whose runs have another key after an edit of the file; of runs of a plan in capitals."""
        path = package / file
        text = path.read_text()
        path.write_text(text + edit)
        edited = keys_now()
        path.write_text(text)
        return "".join(run for run in edited if edited[run] != unchanged[run])

    assert changed_by("runs/measured.py") == "bta" and changed_by("planning/trials.py") == "BTA"
    for file in ("cluster/slots.py", "workloads/sampling.py", "results/stability.py", "theory/capacity/max_workload.py"):
        assert changed_by(file) == "btaBTA", file
    for file in (
        "cli/main.py",
        "learning/training/train.py",
        "planning/request.py",
        "runs/tensorboard.py",
        "testing/policies.py",
    ):
        assert changed_by(file) == "", file
    assert changed_by("policies/tetris/tetris.py") == "tT" and changed_by("envs/server_fill.py") == "aA"
    assert changed_by("runs/measured.py", "\n# a comment\n") == ""


def test_what_the_log_gives_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run = measured(packenv.simulate(packenv.workload("paper/fig3a"), "bf-js", 5000))
    RunLog(path).keep("key", run)
    with path.open("a") as file:
        file.write('{"run": "another", "outcome": [[], 0]}\n')  # a judgment's
    assert RunLog(path).values == {"key": run}
    path.write_text('{"run": "key", "measured": {"seed": 1}}\n')
    with pytest.raises(InputError, match=r"log\.jsonl, line 1"):
        RunLog(path)


PATH = MeanPath(1, [1.0] * 200, [1.0] * 200)
VALUES = {measure.key: [0.5] if measure.key == "utilisation" else 1.0 for measure in scalar_measures()}
MEASURED = Measured(0, 10, Verdict("stable", 0.0, 1.0, 0.9, 0.1), None, PATH, VALUES)

FOREIGN = [
    b"my thesis\nwithout a last newline",
    b"one word",
    b'{"run": 5}\n',
    b"[1, 2]\n",
    b'{"run": "a", "other": 1}\nnot JSON',
    b"\x00\x01\x02",
    b"\n\n",
    b"[" * 100_000 + b"\n",
]


@pytest.mark.parametrize("content", FOREIGN, ids=lambda content: repr(content[:20]))
def test_a_file_that_is_no_log_is_left_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"thesis\.txt, (last line|line \d+): not a run's outcome"):
        RunLog(path)
    assert path.read_bytes() == content
    (tmp_path / "pipe").mkdir()
    with pytest.raises(InputError, match="a log of runs is a regular file"):
        RunLog(tmp_path / "pipe")


@pytest.mark.parametrize("left", [1, 5, 40])
def test_a_line_cut_short_is_removed_and_said(left: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.jsonl"
    RunLog(path).keep("first", MEASURED)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:left])
    assert [*RunLog(path).values] == ["first"] and path.read_bytes() == whole
    assert capsys.readouterr().err == f"packenv: {path}: a last line of {left} bytes was cut short, and removed\n"
    log = RunLog(path)
    path.write_bytes(whole + whole[:left])  # by another process that was killed
    log.keep("second", MEASURED)
    assert [*RunLog(path).values] == ["first", "second"]


def keep_many(path: Path, name: str) -> None:
    for n in range(150):
        RunLog(path).keep(f"{name} {n}", MEASURED)  # reads all of it, too, while another writes


@pytest.mark.slow
def test_two_processes_on_one_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        for done in [processes.submit(keep_many, path, name) for name in "ab"]:
            done.result()
    assert len(RunLog(path).values) == 300 == len(path.read_text().splitlines())


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
