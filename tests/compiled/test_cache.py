"""Machine code is kept on disk: it never outlives the code it was made from, and outlives what is said about that code."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

import packenv
from packenv.compiled import cache
from packenv.compiled.announcement import MARK
from packenv.compiled.cache import make_private, only_ours
from packenv.compiled.sources import is_ours

pytestmark = pytest.mark.slow  # they start processes that compile

ROOT = Path(packenv.__file__).parents[1]

ENTRY = '''
"""What Python calls."""

from packenv.compiled.decorators import apart, compiled
from helper import STEP, double


@apart
def square(x: int) -> int:
    """A docstring."""
    return x * x


@compiled
def answer(x):
    return double(x) + square(x) + STEP  # a comment
'''

HELPER = '''
from packenv.compiled.decorators import compiled

STEP = 1


@compiled
def double(x):
    """Twice as much."""
    return 2 * x
'''

PROGRAM = """
import sys
from numba.core import event
sys.path.insert(0, {folder!r})
compiled = event.RecordingListener()
with event.install_listener("numba:compile", compiled):
    import entry
    print(entry.answer(10), len(compiled.buffer) // 2)
"""


def python(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, cwd="/", capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    was = file.stat()
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))  # not even its time tells


class Code:
    """Two modules, and a program that calls them and says how many functions were compiled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "entry.py").write_text(ENTRY)
        (folder / "helper.py").write_text(HELPER)

    def run(self, program: str = PROGRAM) -> tuple[int, int]:
        cached = {"PACKENV_CACHE": str(self.folder / "cache"), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        answer, compiled = python(program.format(folder=str(self.folder)), **cached).split()
        return int(answer), int(compiled)

    def edit(self, name: str, old: str, new: str) -> None:
        edit(self.folder / f"{name}.py", old, new)

    @property
    def kept(self) -> list[Path]:
        return sorted((self.folder / "cache").rglob("*.nb?"))


@pytest.fixture
def code(tmp_path: Path) -> Code:
    made = Code(tmp_path)
    assert made.run() == (121, 3)
    assert made.run() == (121, 0)
    return made


def test_edits(code: Code) -> None:
    """Of docstrings, comments and blank lines: nothing is compiled. Of a callee, a constant, a function compiled apart: all
    that calls it is. Going back finds what was kept."""
    code.edit("entry", "What Python calls.", "What is called from Python,\nfor once.")
    code.edit("entry", "# a comment", "# another")
    code.edit("helper", '    """Twice as much."""\n', "\n\n    # no docstring at all\n")
    assert code.run() == (121, 0)
    code.edit("helper", "2 * x", "3 * x")
    assert code.run()[0] == 131
    code.edit("helper", "3 * x", "2 * x")
    assert code.run() == (121, 0)
    code.edit("helper", "STEP = 1", "STEP = 5")
    assert code.run()[0] == 125
    code.edit("entry", "x * x", "x * x + x")
    assert code.run()[0] == 135


@pytest.mark.minutes
def test_old_states_are_removed(code: Code) -> None:
    for factor in range(3, 3 + cache.KEPT):
        code.edit("helper", f"{factor - 1} * x", f"{factor} * x")
        assert code.run()[0] == factor * 10 + 101
    assert len(list((code.folder / "cache" / "entry").iterdir())) == cache.KEPT


DAMAGES = ["cut short", "something else", "empty", "another program's"]


@pytest.mark.parametrize("damages", [DAMAGES[:1], pytest.param(DAMAGES[1:], marks=pytest.mark.minutes)], ids=["one", "others"])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_files_are_made_anew(code: Code, suffix: str, damages: list[str]) -> None:
    for damage in damages:
        for file in code.kept:
            if file.suffix == suffix:
                whole = file.read_bytes()
                foreign = b"".join(pickle.dumps(part) for part in (numba.__version__, [1, 2, 3])) if suffix == ".nbi" else b""
                damaged = {"cut short": whole[: len(whole) // 2], "something else": b"What?\n", "empty": b""}
                file.write_bytes(damaged.get(damage, foreign))
        assert code.run()[0] == 121
        assert code.run() == (121, 0)


@pytest.mark.minutes
def test_foreign_index_of_the_sources(code: Code) -> None:
    file = str(code.folder / "helper.py")
    for content in ("[]", "{}", "null", '{"a": [1, 2]}', '{"FILE": [[1, 2, 3], "x", [4, 5]]}', "{"):
        (code.folder / "cache" / "sources.json").write_text(content.replace("FILE", file))
        assert code.run() == (121, 0)


@pytest.mark.minutes
def test_full_disk(tmp_path: Path) -> None:
    """Compiled, and not kept: one line says so, and no part of a file is left."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))" + PROGRAM
    code = Code(tmp_path)
    cached = {"PACKENV_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    program = limited.format(folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | cached, cwd="/", capture_output=True, text=True)
    assert done.stdout.split() == ["121", "3"], done.stderr
    assert done.stderr == f"packenv: machine code is not kept in {tmp_path / 'cache'}: File too large\n"
    parts = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.stat().st_size > 0]
    assert [path.name for path in parts] == [MARK]  # a byte for each function
    assert code.run() == (121, 3) and code.run() == (121, 0)


def test_file_that_changes_while_its_code_is_in_memory(tmp_path: Path) -> None:
    """What is compiled then comes from no state of the file that another process will see."""
    code = Code(tmp_path)
    edited = HELPER.replace("2 * x", "3 * x")
    change = f"entry.square(1); open({str(tmp_path / 'helper.py')!r}, 'w').write({edited!r})"
    assert code.run(PROGRAM.replace("    print", f"    {change}\n    print"))[0] == 121
    assert code.run()[0] == 131


SETTINGS = """
import os, numba
before = dict(os.environ), {name: value for name, value in vars(numba.config).items() if name.isupper()}
import packenv
table = packenv.Jobs.of([0, 0, 0], [0.6, 0.6, 0.6], [2, 3, 4])
assert packenv.simulate(packenv.Workload(jobs=table, servers=1), "fifo-ff", drain=True).completed == 3
assert before == (dict(os.environ), {name: value for name, value in vars(numba.config).items() if name.isupper()})
"""


def test_compiler_and_environment_stay_as_they_were() -> None:
    python(SETTINGS, PYTHONPATH=str(ROOT))


def test_what_is_ours_lies_in_our_folder() -> None:
    assert is_ours(packenv) and is_ours(cache)
    assert not is_ours(sys.modules[__name__]) and not is_ours(pytest)


def test_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code goes to the temporary files then, into a folder that nobody else can have prepared."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first = cache.temporary()
    assert first.parent == tmp_path and stat.S_IMODE(first.stat().st_mode) == 0o700
    assert cache.temporary() == first
    first.chmod(0o770)
    assert cache.temporary() != first
    first.rmdir()
    first.symlink_to(tmp_path)
    assert cache.temporary() not in (first, tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("PACKENV_CACHE", str(tmp_path / "file" / "below"))
    cache.base.cache_clear()
    try:
        assert cache.base().is_relative_to(tmp_path)
    finally:
        cache.base.cache_clear()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no modes here")
def test_folder_that_others_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or replace, by a right to write to one above it: what lies there would be executed."""
    own, above = tmp_path / "above" / "own", tmp_path / "above"
    above.mkdir(mode=0o755)
    own.mkdir(mode=0o755)
    tmp_path.chmod(0o755)  # pytest closes it to all others: then nobody else gets anywhere below
    open_above = all(path.stat().st_mode & 0o001 for path in tmp_path.parents)
    assert only_ours(own)
    for mode, place in ((0o777, own), (0o775, own), (0o777, above)):
        place.chmod(mode)
        assert only_ours(own) == (not open_above)
        place.chmod(0o755)
    above.chmod(0o1777)  # as of the system's temporary folder: nobody renames what is another's
    assert only_ours(own)
    tmp_path.chmod(0o700)
    own.chmod(0o777)
    assert only_ours(own)
    own.chmod(0o755)
    monkeypatch.setattr(cache, "only_ours", lambda folder: folder != own)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("PACKENV_CACHE", str(own))
    cache.base.cache_clear()
    try:
        used = cache.base()
    finally:
        cache.base.cache_clear()
    assert used.parent == tmp_path and used != own
    why = "others can write to it, or to a folder above it"
    assert capsys.readouterr().err == f"packenv: machine code is kept in {used} instead of {own}: {why}\n"
    inside = own / "module"
    inside.mkdir()
    (inside / "planted").touch()
    inside.chmod(0o777)
    assert make_private(inside) == inside and [*inside.iterdir()] == [] and stat.S_IMODE(inside.stat().st_mode) == 0o700


def test_import_is_cheap() -> None:
    """0.5 s or less is promised; a busy machine gets twice that."""
    took = []
    for _ in range(5):
        began = time.perf_counter()
        python("import packenv", PYTHONPATH=str(ROOT))
        took.append(time.perf_counter() - began)
    assert min(took) < 1.0


SCHEDULE = """
import packenv
table = packenv.Jobs.of([0, 0, 0], [0.6, 0.6, 0.6], [2, 3, 4])
result = packenv.simulate(packenv.Workload(jobs=table, servers=1), "fifo-ff", drain=True, schedule=True)
print(packenv.__file__, *result.schedule.start.tolist(), sep="|")
"""


@pytest.mark.slow  # compiles the simulator twice
def test_changed_policy_of_ours_is_compiled_anew(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "packenv", tmp_path / "packenv", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(tmp_path), "PACKENV_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    where = str(tmp_path / "packenv" / "__init__.py")
    assert python(SCHEDULE, **environment) == f"{where}|0|2|5"
    assert python(SCHEDULE, **environment) == f"{where}|0|2|5"
    placing = "            break\n        place(cluster, task, server{})\n        task = oldest(cluster)\n    if policy.stall:"
    edit(tmp_path / "packenv" / "policies" / "random_requirements" / "fifo.py", placing.format(""), placing.format(", 5"))
    assert python(SCHEDULE, **environment) == f"{where}|0|7|15"
