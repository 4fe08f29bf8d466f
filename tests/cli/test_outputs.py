"""Where results go: devices, pipes and links, full disks, folders that refuse; what can be kept is kept."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

import packenv
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.files import atomic_path, check_writable, write_json

ROOT = Path(packenv.__file__).parents[1]
EVALUATE = ("evaluate", "paper/fig4b", "-p", "fifo-ff", "--slots", "3000", "--processes", "1")
LIMITED = """
import resource, sys
from packenv.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))
main(sys.argv[1:])
"""


OF_SCORE = pytest.mark.skipif(find_spec("packenv_score") is None, reason="packenv_score is not installed")


def packenv_command(*arguments: object, most_bytes: int = 2**40, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command, which may write no file larger than `most_bytes`: as on a full disk, but for the error's name."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED.format(most_bytes), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},  # Python would keep the part that fits
        cwd=cwd,
        capture_output=True,
        text=True,
    )


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What was said on standard error, without what a slow compiler says."""
    return [line for line in done.stderr.splitlines() if not line.endswith("…")]


@pytest.fixture(scope="module", autouse=True)
def compiled_already() -> None:
    packenv.simulate(packenv.workload("paper/fig4b"), "fifo-ff", 10)


def test_a_device_stays_a_device() -> None:
    for device in ("/dev/null", "/dev/full"):
        before = Path(device).stat()
        if device == "/dev/full":
            with pytest.raises(InputError, match=r"^/dev/full: cannot be written \(No space left on device\)$"):
                write_json(device, [1])
        else:
            write_json(device, [1])
        assert stat.S_ISCHR(Path(device).stat().st_mode) and Path(device).stat().st_ino == before.st_ino


def test_a_device_that_is_full_is_one_line_and_costs_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*EVALUATE, "--json", "/dev/full", "--schedule", str(tmp_path / "s.parquet")])
    said = capsys.readouterr()
    assert left.value.code == 2 and said.err == "packenv: /dev/full: cannot be written (No space left on device)\n"
    assert "fifo-ff" in said.out and (tmp_path / "s.parquet").exists()


@pytest.mark.slow  # processes; in this one `test_json_alone_on_standard_output` asks it of every command
@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_gets_the_json_alone(name: str, tmp_path: Path) -> None:
    done = packenv_command(*EVALUATE, "--json", name, cwd=tmp_path)
    assert json.loads(done.stdout)[0]["policy"] == "fifo-ff"
    assert "mean queue" in done.stderr and not [*tmp_path.iterdir()]
    with (tmp_path / "out").open("w") as file:
        file.write("before\n")
        file.flush()
        program = [sys.executable, "-m", "packenv.cli.main", *EVALUATE, "--json", name]
        subprocess.run(program, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=file, stderr=subprocess.DEVNULL, check=True)
    first, rest = (tmp_path / "out").read_text().split("\n", 1)
    assert first == "before" and json.loads(rest)


def test_a_pipe_and_an_open_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_json(tmp_path / "pipe", {"a": 1})
    reader.join()
    assert json.loads(got[0]) == {"a": 1} and (tmp_path / "pipe").is_fifo()
    with (tmp_path / "file").open("w") as file:
        write_json(f"/dev/fd/{file.fileno()}", {"b": 2})
    assert json.loads((tmp_path / "file").read_text()) == {"b": 2}


def test_a_link_stays_a_link_and_a_private_file_private(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    target, link = tmp_path / "below" / "file.json", tmp_path / "link.json"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to("below/file.json")
    write_json(link, [1])
    assert link.is_symlink() and target.read_text() == "[\n 1\n]\n" and stat.S_IMODE(target.stat().st_mode) == 0o600
    (tmp_path / "new.json").symlink_to(tmp_path / "below" / "made.json")
    write_json(tmp_path / "new.json", [2])
    assert (tmp_path / "below" / "made.json").read_text() == "[\n 2\n]\n"
    with pytest.raises(KeyError), atomic_path(link) as temporary:
        temporary.write_text("half")
        raise KeyError
    assert target.read_text() == "[\n 1\n]\n"
    assert sorted(path.name for path in target.parent.iterdir()) == ["file.json", "made.json"]


@pytest.mark.slow
def test_full_disk_costs_only_what_has_no_room(tmp_path: Path) -> None:
    """A picture is larger than the others: the table is printed and they are written."""
    tensorboard = tmp_path / "runs"
    files = {option: tmp_path / f"out{suffix}" for option, suffix in (("--json", ".json"), ("--schedule", ".parquet"))}
    named = [word for pair in files.items() for word in pair]
    done = packenv_command(*EVALUATE, "--plot", tmp_path / "out.png", *named, "--tensorboard", tensorboard, most_bytes=30_000)
    assert done.returncode == 2 and lines(done) == [f"packenv: {tmp_path}/out.png: cannot be written (File too large)"]
    assert "fifo-ff" in done.stdout and json.loads(files["--json"].read_text())
    assert {path.name for path in tmp_path.iterdir()} == {"out.json", "out.parquet", "runs"}


@pytest.mark.slow
def test_full_disk_for_everything(tmp_path: Path) -> None:
    outputs = ("--plot", "a.png", "--json", "a.json", "--schedule", "a.parquet", "--tensorboard", "runs")
    done = packenv_command(*EVALUATE, *outputs, most_bytes=300, cwd=tmp_path)
    assert done.returncode == 2 and "fifo-ff" in done.stdout
    assert len(lines(done)) == 4 and all("cannot be written (File too large)" in line for line in lines(done))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_full_disk_and_a_log(tmp_path: Path) -> None:
    board = ("leaderboard", "-w", "paper/fig4b@0.8", "-p", "fifo-ff", "--reference", "fifo-ff", "--no-judge", "--slots", "3000")
    done = packenv_command(*board, "--seeds", "4", "--processes", "1", "--log", "board.jsonl", most_bytes=9000, cwd=tmp_path)
    said = "packenv: board.jsonl: cannot be written (File too large): further runs are not stored there"
    assert done.returncode == 0 and said in lines(done) and "fifo-ff" in done.stdout
    text = (tmp_path / "board.jsonl").read_text()
    assert text.endswith("\n") and 1 <= len(text.splitlines()) < 4
    assert "are in board.jsonl already" in packenv_command(*board, "--seeds", "4", "--log", "board.jsonl", cwd=tmp_path).stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_full_disk_and_a_converted_trace(name: str, tmp_path: Path) -> None:
    rows = "".join(f"{slot},0.{slot % 89 + 10},{slot * 7919 % 1000 + 1}\n" for slot in range(3000))
    (tmp_path / "trace.csv").write_text("arrival,size,service\n" + rows)
    done = packenv_command("trace", "convert", "trace.csv", name, most_bytes=1000, cwd=tmp_path)
    assert done.returncode == 2 and lines(done) == [f"packenv: {name}: cannot be written (File too large)"]
    assert [path.name for path in tmp_path.iterdir()] == ["trace.csv"]


@pytest.mark.slow
def test_full_disk_and_training(tmp_path: Path) -> None:
    small = "--population 4 --horizon 500 --threads 1 --samples 300 --guard-limit 60 --judge-every 0"
    more = "--evaluation-slots 1000 --evaluation-seeds 1 --logdir runs --name one"
    done = packenv_command("train", *small.split(), *more.split(), most_bytes=8192, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "runs" / "one" / "agent.safetensors").exists()
    assert "mean queue (ratio to bf-js)" in done.stderr  # it learned to the end
    assert "no checkpoint: runs/one/checkpoint.safetensors: cannot be written (File too large)" in done.stderr


def test_output_that_nobody_reads_or_has_room_for() -> None:
    program = [sys.executable, "-m", "packenv.cli.main", "list"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(program, env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and done.stderr == "packenv: standard output: No space left on device\n"
    piped = subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert piped.stdout is not None and piped.stderr is not None
    piped.stdout.close()
    assert piped.stderr.read() == b"" and piped.wait() in (1, 141)


COMMANDS = [
    (*EVALUATE, "--json", "{}/a.json"),
    (*EVALUATE, "--tensorboard", "{}/runs"),
    ("judge", "paper/fig3a", "--log", "{}/a.jsonl"),
    ("leaderboard", "--json", "{}/a.json"),
    ("capacity", "paper/fig3a", "--certificate", "{}/a.json"),
    ("bound", "paper/fig4a", "--certificate", "{}/a.json"),
    ("optimum", "price/fig1", "--plot", "{}/a.png"),
    ("reproduce", "fig2", "--out", "{}/out"),
    ("train", "--logdir", "{}/runs"),
    ("record", "paper/fig4b", "--out", "{}/own-v0"),
    ("warmup", "--json", "{}/a.json"),
    ("doctor", "--json", "{}/a.json"),
    ("trace", "convert", __file__, "{}/a.csv"),
    ("bench", "--json", "{}/a.json"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command[0]} {command[-2]}")
def test_outputs_are_tried_before_the_first_run(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder where nobody, root neither, can make a file."""
    monkeypatch.setattr("packenv.simulation.build", None)
    with pytest.raises(SystemExit) as leaving:
        main([word.format("/proc/self") for word in command])
    said = capsys.readouterr().err
    assert leaving.value.code == 2 and said.startswith("packenv: /proc/self/") and said.count("\n") == 1
    assert "cannot be written" in said


def test_two_results_cannot_go_to_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["capacity", "paper/fig3a", "--json", str(tmp_path / "a"), "--certificate", str(tmp_path / "a")])
    assert "two results cannot go to one file: name another" in capsys.readouterr().err
    with pytest.raises(InputError, match="its folder does not exist"):
        check_writable(tmp_path / "no" / "a")


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("evaluate in.csv --servers 1 --schedule in.csv", "in.csv"),
        ("evaluate in.csv --servers 1 --schedule link.csv", "link.csv"),
        ("evaluate paper/fig3a -p replay:in.csv --schedule ./in.csv", "./in.csv"),
        ("evaluate in.json -p fifo-ff --json in.json", "in.json"),
        ("compare bf-js fifo-ff paper/fig4b --servers in.json --json in.json", "in.json"),
        ("judge in.csv --log in.csv", "in.csv"),
        ("leaderboard -w in.csv@servers=1 --log in.csv", "in.csv"),
        ("capacity in.json --certificate in.json", "in.json"),
        ("plan in.json --json in.json", "in.json"),
        ("optimum in.csv --schedule in.csv", "in.csv"),
        pytest.param("score bf-js --suite in.json --json in.json", "in.json", marks=OF_SCORE),
        ("train in.json --out in.json", "in.json"),
        ("trace convert in.csv in.csv", "in.csv"),
        ("trace profile in.json --out in.json", "in.json"),
    ],
)
def test_the_input_is_no_output(
    words: str, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("packenv.simulation.build", None)
    (tmp_path / "in.csv").write_text("arrival,size,service\n0,1,1\n")
    packenv.workload("paper/fig3a").save("in.json")
    (tmp_path / "link.csv").symlink_to("in.csv")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(SystemExit) as leaving:
        main(words.split())
    said = capsys.readouterr().err
    assert leaving.value.code == 2 and said == f"packenv: {path} is the input: write the results to another file\n"
    assert before == {file.name: file.read_bytes() for file in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--json", "a.csv"), "a.csv: --json writes .json"),
        (("--schedule", "s.xlsx"), "s.xlsx: --schedule writes .parquet, .csv"),
        (("--plot", "a.jpg"), "a.jpg: a plot is one of .png, .pdf, .svg"),
        (("--gantt", "a"), "a: a plot is one of .png, .pdf, .svg"),
        (("--plot", "a.pdf", "--width", "2 miles"), "'2 miles' is not a width of 1 to 60 inches, such as 3.5, 89mm or 8.9cm"),
        (("--no-title",), "a width and --no-title need a picture"),
    ],
)
def test_an_ending_says_the_form(
    words: tuple[str, ...], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("packenv.simulation.build", None)
    with pytest.raises(SystemExit) as leaving:
        main([*EVALUATE, *words])
    assert leaving.value.code == 2 and problem in capsys.readouterr().err and not [*tmp_path.iterdir()]


def test_python_writers_too(tmp_path: Path) -> None:
    for name in ("a.csv", "a.yaml"):
        with pytest.raises(InputError, match=r"what is written is JSON, \.json"):
            packenv.workload("paper/fig3a").save(tmp_path / name)
    write_json(tmp_path / "plain", {})
    assert [path.name for path in tmp_path.iterdir()] == ["plain"]
