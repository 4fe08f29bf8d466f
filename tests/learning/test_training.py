"""`packenv train` from end to end, in small: both ways, the same weights for the same seed, runs that go on."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

import packenv
from packenv.cli.main import main
from packenv.cli.train import training_from
from packenv.learning.agents.saved import load_agent
from packenv.learning.settings import Settings
from packenv.learning.training.run import TrainingRun
from packenv.learning.training.run_folder import read_checkpoint
from packenv.options.shared import WorkloadOptions
from packenv.options.verbs import ArrivalOptions, LearningOptions, TrainingOptions
from packenv.simulation import setting_of
from tests.words import over

SMALL = [
    *("--horizon", "500", "--population", "4", "--threads", "1"),
    *("--guard-limit", "60", "--evaluation-slots", "2000", "--evaluation-seeds", "1", "--judge-every", "0"),
]

EVOLVED = "--network linear --population 6 --horizon 500 --intensity 0.8:0.9"


def train(folder: Path, *more: str, name: str = "run") -> dict[str, NDArray[np.float32]]:
    """The weights of the agent that a run saves."""
    main(["train", *over(SMALL, "--logdir", str(folder), "--name", name, *more)])
    return load_file(folder / name / "agent.safetensors")


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as leave:
        main(["train", *over(SMALL, *arguments)])
    assert leave.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    "arguments",
    [
        "--network sum --imitate bf-s --imitation-steps 30",
        "--network varying --types 12 --intensity 0.5:0.6",
        pytest.param("paper/fig3a --env Placement --network sum --rate 0.014 --guard vqs", marks=pytest.mark.slow),
        pytest.param("paper/fig3b --env Configuration --network sum --rate 0.0306 --guard none", marks=pytest.mark.slow),
    ],
)
def test_everything_learns_and_is_saved(arguments: str, tmp_path: Path) -> None:
    weights = train(tmp_path, *arguments.split(), "--samples", "600", "--out", str(tmp_path / "mine"))
    assert all(np.isfinite(array).all() for array in weights.values())
    agent = load_agent(tmp_path / "mine")
    assert same(weights, agent.weights)
    assert agent.about["samples"] <= 3000 and "train" in agent.about["command"]
    assert any("ratio to bf-js" in name for name in agent.about["measured"])
    workload = packenv.workload("paper/fig3a" if "fig3a" in arguments else "paper/fig4b")
    assert packenv.simulate(workload, agent, 2000).started > 5
    assert read_checkpoint(tmp_path / "run" / "checkpoint.safetensors").counters["num_timesteps"] >= 600
    assert list((tmp_path / "run").glob("events.out.tfevents.*"))


def test_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command's agent, with its curve as a table, a picture and a frame; its run's folder names it as a policy."""
    words = ["paper/fig3a", *EVOLVED.split(), "--samples", "600", "--evaluation-slots", "2000", "--evaluation-seeds", "1"]
    weights = train(tmp_path, *words, "--judge-every", "0", "--keep", "best", name="a")
    printed = capsys.readouterr().out
    settings: dict[str, Any] = {"network": "linear", "population": 6, "samples": 600}
    settings |= {"horizon": 500, "guard_limit": 60, "intensity": (0.8, 0.9)}
    trained = packenv.train(
        "paper/fig3a", logdir=tmp_path, name="b", threads=1, judge_every=0, evaluation_slots=2000, evaluation_seeds=1, **settings
    )
    assert same(weights, load_agent(tmp_path / "b").weights)
    assert repr(trained).splitlines()[1:-1] == printed.splitlines()[1:-1]
    loads = ["intensity 0.8", "intensity 0.85", "intensity 0.9"]
    last = [each for each in trained.curve if each.samples == trained.samples]
    assert [each.at for each in last] == loads and all(each.ratio and each.ratio > 0 for each in last)
    table = trained.table().tables[0]
    assert [column.heading for column in table.columns] == ["samples", *loads]
    assert table.rows[-1][0] == f"{trained.samples:,}" and "samples" in trained._repr_html_()
    assert trained.to_frame("pandas")["agent"].tolist() == [each["agent"] for each in trained.to_dict()["curve"]]
    assert trained.plot()._repr_png_().startswith(b"\x89PNG")
    played = [packenv.simulate("paper/fig3a", policy, 2000).mean_queue for policy in (trained.policy, f"agent:{tmp_path / 'b'}")]
    assert played[0] == played[1]
    assert packenv.judge("paper/fig3a", f"agent:{tmp_path / 'b'}", seeds=1, width=0.9).evidence
    with pytest.raises(packenv.InputError, match=r"`intensity` must be a number above 0, or \(low, high\)"):
        packenv.train("paper/fig3a", intensity=(0.9, 0.8), logdir=tmp_path)


@pytest.mark.slow
def test_an_untouched_library_learns_and_its_agent_plays(tmp_path: Path) -> None:
    """`--way ppo`: TensorBoard's scalars, an agent of the run's folder, and what the last update changed is evaluated too."""
    pytest.importorskip("sb3_contrib")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    small: dict[str, Any] = {"samples": 400, "horizon": 300, "evaluation_slots": 4000, "evaluation_seeds": 2}
    trained = packenv.train("paper/fig4b", intensity=(0.6, 0.8), way="ppo", logdir=tmp_path, name="run", **small)
    assert trained.against == "bf-js" and trained.curve[-1].samples == trained.samples >= 400
    assert {point.at for point in trained.curve} == {"intensity 0.7"}
    assert trained.measured["mean queue ratio to bf-js at intensity 0.6"] > 0
    agent = load_agent(tmp_path / "run")
    assert agent.about["algorithm"] == "MaskablePPO" and agent.about["seed"] == 0 and agent.guard is None
    assert agent.notice(setting_of(packenv.workload("paper/fig4b"))) is None
    assert packenv.simulate("paper/fig4b", f"agent:{tmp_path / 'run'}", 2000).started > 5
    events = EventAccumulator(str(tmp_path / "run"), size_guidance={"tensors": 0})
    events.Reload()
    shown = set(events.Tags()["scalars"])
    assert {"eval/ratio", "cluster/ratio", "train/value_loss", "final/mean queue ratio to bf-js"} <= shown
    with pytest.raises(packenv.InputError, match="holds this run already"):
        packenv.train("paper/fig4b", intensity=(0.6, 0.8), way="ppo", logdir=tmp_path, name="run", **small)
    for words, problem in (({"threads": 3}, "`threads` is of evolution"), ({"resume": True}, "`resume` is of evolution")):
        with pytest.raises(packenv.InputError, match=problem):
            packenv.train("paper/fig4b", way="ppo", logdir=tmp_path, name="other", **words)


def test_evolution_needs_no_torch(tmp_path: Path) -> None:
    """Nor does what plays its agent."""
    program = f"""
import sys, packenv
trained = packenv.train("paper/fig4b", logdir={str(tmp_path)!r}, name="run", samples=200, horizon=300, population=4, threads=1,
                        judge_every=0, evaluation_slots=2000, evaluation_seeds=1)
packenv.simulate("paper/fig4b", trained.policy, 500)
print([name for name in ("torch", "stable_baselines3") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_one_seed_gives_one_agent(tmp_path: Path) -> None:
    """However often it is looked at and saved."""
    arguments = ["--samples", "1000", "--keep", "last", "--imitate", "bf-s", "--imitation-steps", "20"]
    first = train(tmp_path, *arguments, name="a")
    again = train(tmp_path, *arguments, "--evaluate-every", "200", "--checkpoint-every", "150", name="b")
    other = train(tmp_path, *arguments, "--seed", "1", name="c")
    assert same(first, again)
    assert not same(first, other)


@pytest.mark.slow  # five trainings
def test_an_evolved_agent_does_not_depend_on_processes_or_interruptions(tmp_path: Path) -> None:
    """A run that stopped goes on as if it had not: every generation has a seed of its own."""
    arguments = [*EVOLVED.split(), "--samples", "8000", "--keep", "last"]
    whole = train(tmp_path, *arguments, "--checkpoint-every", "3000", name="a")
    assert same(whole, train(tmp_path, *arguments, "--threads", "2", "--evaluate-every", "2500", name="b"))

    class Stopped(Exception):
        pass

    def stop(self: Any) -> None:
        written(self)
        if 0 < self.learner.samples < 8000:
            raise Stopped

    written = TrainingRun.checkpoint
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(TrainingRun, "checkpoint", stop)
        train(tmp_path, *arguments, "--checkpoint-every", "3000", name="c")
    assert not same(whole, load_file(tmp_path / "c" / "agent.safetensors"))
    assert same(whole, train(tmp_path, *arguments, "--checkpoint-every", "3000", "--resume", name="c"))
    assert not same(whole, train(tmp_path, *arguments, "--seed", "1", name="d"))


def test_interrupted_in_the_closing_evaluation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that was learned is kept: the run goes on with the evaluation, and its agent says that it is not the last word."""
    arguments = ["--samples", "200", "--keep", "last"]

    def interrupt(self: TrainingRun) -> None:
        if self.learner.samples > 200:
            raise KeyboardInterrupt
        evaluate(self)

    evaluate = TrainingRun.evaluate
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(TrainingRun, "evaluate", interrupt)
        train(tmp_path, *arguments)
    said = capsys.readouterr().err
    assert re.search(r"samples: evaluating\n", said)
    assert re.search(r"run: the same command with --resume goes on after [\d,]+ samples\n", said)
    learned, agent = load_file(tmp_path / "run" / "agent.safetensors"), load_agent(tmp_path / "run")
    setting = setting_of(packenv.workload("paper/fig4b"))
    assert "has not ended" in str(agent.notice(setting)) and "--resume goes on after" in str(agent.notice(setting))
    assert same(learned, train(tmp_path, *arguments, "--resume"))
    assert load_agent(tmp_path / "run").notice(setting) is None
    (tmp_path / "run" / "agent.json").unlink()
    with pytest.raises(packenv.InputError, match="has not ended; its command with --resume goes on"):
        load_agent(tmp_path / "run" / "agent")


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """kill −9 after a checkpoint: what is lost is at most what came after it, and the run ends where it should."""
    every, samples = 2000, 120_000
    arguments = ["--samples", str(samples), "--checkpoint-every", str(every), "--evaluate-every", "100000", "--keep", "last"]
    run = tmp_path / "run"
    words = over(SMALL, "--logdir", str(tmp_path), "--name", "run", *arguments)
    command = [sys.executable, "-m", "packenv.cli.main", "train", *words]
    environment = os.environ | {"PYTHONPATH": str(Path(packenv.__file__).parent.parent)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    patience = time.monotonic() + 300
    while not (run / "checkpoint.safetensors").exists():
        assert process.poll() is None and time.monotonic() < patience
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    reached = read_checkpoint(run / "checkpoint.safetensors").counters["num_timesteps"]
    assert every <= reached < samples
    assert len([left for left in run.iterdir() if left.name.startswith(".")]) <= 1  # what was being written, whichever file
    capfd.readouterr()
    main(["train", *words, "--resume"])
    assert f"goes on after {reached:,} samples" in capfd.readouterr().err
    after = read_checkpoint(run / "checkpoint.safetensors")
    assert samples <= after.counters["num_timesteps"] < samples + 5000
    assert load_agent(run / "agent").about["samples"] == after.counters["num_timesteps"]


def test_going_on_takes_up_weights_moments_and_counters(tmp_path: Path) -> None:
    """A resumed run of which nothing is left gives the same agent; its checkpoint keeps every array."""
    train(tmp_path, "--samples", "600")
    path = tmp_path / "run" / "checkpoint.safetensors"
    before = read_checkpoint(path)
    train(tmp_path, "--samples", "600", "--resume")
    after = read_checkpoint(path)
    assert same(before.arrays, after.arrays)
    assert before.counters == after.counters
    assert {name.split("/")[0] for name in before.arrays} == {
        *("mean", "step", "covariance", "step_path", "path", "generation"),
        "best",
    }


def test_one_agent_begins_where_another_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So little learning that the weights are nearly those of the first."""
    first = train(tmp_path, "--samples", "200", "--keep", "last", name="a")
    more = ["--from", str(tmp_path / "a" / "agent"), "--samples", "200", "--keep", "last", "--learning-rate", "1e-12"]
    second = train(tmp_path, *more, name="b")
    assert all(np.allclose(first[name], second[name], atol=1e-6) for name in first)
    capsys.readouterr()
    where = ["--logdir", str(tmp_path), "--name", "c"]
    assert "not of the kind and size" in refused(capsys, *where, *more, "--network", "sum")
    assert "not both" in refused(capsys, *where, *more, "--imitate", "bf-s")
    assert "no agent" in refused(capsys, *where, "--from", "nobody")
    assert not (tmp_path / "c").exists()


def test_seeds_depend_on_how_far_the_run_is() -> None:
    workload = packenv.workload("paper/fig3a")
    runs = [Settings(workload, seed=seed) for seed in range(20)]
    seeds = {run.seed_after(samples) for run in runs for samples in range(0, 20_000, 1000)}
    assert len(seeds) == 400 and max(seeds) < 2**32


def test_folders_that_hold_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(tmp_path, "--samples", "200")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    where = ["--logdir", str(tmp_path), "--name", "run"]
    capsys.readouterr()
    assert "continue it with --resume" in refused(capsys, *where, "--samples", "200")
    assert "another run: population is 4 there, not 6" in refused(
        capsys, *where, "--samples", "200", "--population", "6", "--resume"
    )
    assert kept == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    assert "holds no training run" in refused(capsys, "--logdir", str(tmp_path), "--name", "other")
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0garbage!")
    assert "not a checkpoint" in refused(capsys, *where, "--samples", "200", "--resume")


def test_loading_a_checkpoint_executes_nothing(tmp_path: Path) -> None:
    """A pickle, which would execute something, is refused; and the reader does not know how to unpickle."""

    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "boom"),)

    (tmp_path / "bad.safetensors").write_bytes(pickle.dumps({"weights": Bomb()}))
    with pytest.raises(packenv.InputError, match="not a checkpoint"):
        read_checkpoint(tmp_path / "bad.safetensors")
    assert not (tmp_path / "boom").exists()
    for name in ("training/run_folder.py", "agents/saved.py", "training/train.py", "evolution.py"):
        source = (Path(packenv.__file__).parent / "learning" / name).read_text()
        assert "pickle" not in source


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--env ServrFill", "did you mean ServerFill"),
        ("--network shared", "unknown network"),
        ("--population 3", "at least 4"),
        ("--types 1", "types must be a whole number from 2"),
        ("--types 8 --guard vqs", "types of equal width; use bf-js"),
        ("--types 8 --env Configuration --network sum", "Configuration takes J, not types"),
        ("--intensity 0.9 --load 0.9", "give one of"),
        ("--intensity 0.9:0.8", "LOW:HIGH"),
        ("--option order", "KEY=VALUE"),
        ("--option ordr=index", "did you mean"),
        ("--option order=loudest", "unknown order"),
        ("--guard vq", "unknown policy"),
        ("--imitate bf", "unknown policy"),
        ("--against nothing", "unknown policy"),
        ("--samples -1", "samples must be"),
        ("--way dqn", "'dqn' is not one of 'evolution', 'ppo'"),
        ("--way ppo", "--population is of evolution: leave it out, or choose another --way"),
        ("--name a/b", "not a path"),
        ("--checkpoint-every -1", "must not be negative"),
        ("--out nowhere/agent", "folder does not exist"),
        ("nonsense", "unknown workload"),
    ],
)
def test_bad_input_is_one_line(arguments: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(capsys, "--logdir", str(tmp_path), *arguments.split())
    assert not list(tmp_path.iterdir())


def test_without_tensorboard(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packenv.learning.training.training_log.tensorboard_is_installed", lambda: False)
    assert "pip install tensorboard" in refused(capsys, "--logdir", str(tmp_path))


def test_what_tensorboard_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, small in (("JUDGE_TASKS", (200,)), ("JUDGE_SEEDS", 1), ("JUDGE_WIDTH", 100), ("FIRST_SERVICES", 20)):
        monkeypatch.setattr(f"packenv.learning.training.evaluation.{name}", small)
    monkeypatch.setattr("packenv.learning.training.evaluation.bound_or_zero", lambda workload: workload.intensity)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(tmp_path, "--samples", "1000", "--judge-every", "900", "--intensity", "0.4")
    events = EventAccumulator(str(tmp_path / "run"), size_guidance={"tensors": 0})
    events.Reload()
    shown = set(events.Tags()["scalars"])
    assert {
        "speed/samples per second",
        "train/step size",
        "evaluation/mean queue ratio to bf-js",
        "evaluation/lower bound (durations unknown) at intensity 0.4",
        "judge/agent, lower end",
        "judge/guarantee two thirds",
    } <= shown
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings["arrivals"] == {"intensity": [0.4, 0.4]}


def test_a_trace_in_ones_own_columns(tmp_path: Path) -> None:
    """`packenv train` reads a trace as other commands do: `--columns`, `--slot-seconds`."""
    (tmp_path / "tasks.csv").write_text("At,For,Cores\n0,100,0.5\n100,50,0.25\n")
    columns = "submit_time_s=At,duration_s=For,cpu=Cores"
    of_workload = WorkloadOptions(str(tmp_path / "tasks.csv"), servers="4", slot_seconds="10", columns=columns)
    with click.Context(click.Group("packenv")):
        learning = LearningOptions(environment="JobFill")
        jobs = training_from(of_workload, ArrivalOptions(), learning, TrainingOptions()).settings.workload.jobs
    assert jobs is not None and (jobs.arrival.tolist(), jobs.service.tolist()) == ([0, 10], [10, 5])
