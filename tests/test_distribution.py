"""The wheel and the source distribution hold `packenv` alone, and work from a folder with look-alikes of our other folders."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOOK_ALIKES = ("agents", "baselines", "experiments", "examples", "packenv")
ENVIRONMENTS = """
import gymnasium as gym
import packenv

assert ".venv-of-wheel" in packenv.__file__, packenv.__file__
for kind in ("Placement", "ServerFill", "Configuration"):
    env = gym.make(f"packenv/{kind}-v1", workload="paper/fig4b", horizon=200)
    env.reset(seed=0)
    print(kind, env.step(0)[4]["slot"])
"""


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(word) for word in command], cwd=folder, env=clean | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of a copy of the tracked files."""
    source = tmp_path_factory.mktemp("source")
    files = run("git", "ls-files", "-z", folder=ROOT).split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    made = tmp_path_factory.mktemp("made")
    run(sys.executable, "-m", "build", "--outdir", made, source, folder=source)
    return made


@pytest.fixture(scope="module")
def user(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder with an environment of its own that holds the wheel, and folders with the names of ours.

    What packenv depends on is taken from this environment, which is on the path after the wheel's.
    """
    folder = tmp_path_factory.mktemp("user")
    run(sys.executable, "-m", "venv", folder / ".venv-of-wheel", folder=folder)
    (wheel,) = distributions.glob("*.whl")
    pip = (folder / ".venv-of-wheel" / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    run(*pip, wheel, folder=folder)
    (packages,) = (folder / ".venv-of-wheel" / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for name in LOOK_ALIKES:
        (folder / name).mkdir()
        if name != "packenv":  # a clone of packenv is a folder of this name without an __init__.py
            (folder / name / "__init__.py").write_text("raise ImportError('this is not packenv')\n")
    return folder


@pytest.mark.slow
def test_contents(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"packenv"}
    for wanted in ("packenv/py.typed", "packenv/learning/agents/pretrained/fig4b.safetensors"):
        assert wanted in names
    (archive,) = distributions.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        parts = [name.split("/", 1)[1] for name in files.getnames() if "/" in name]
    assert {part.split("/")[0] for part in parts if "/" in part} == {"packenv", "packenv.egg-info"}


@pytest.mark.slow
def test_commands(user: Path) -> None:
    command = user / ".venv-of-wheel" / "bin" / "packenv"
    assert "bf-js" in run(command, "list", folder=user)
    for policy in ("bf-js", "agent:fig4b"):
        assert policy in run(command, "evaluate", "paper/fig4b", "-p", policy, "--slots", "2000", folder=user)


@pytest.mark.slow
def test_commands_of_a_checkout(user: Path) -> None:
    """The user's folder `experiments` is not taken for ours."""
    command = [str(user / ".venv-of-wheel" / "bin" / "packenv"), "reproduce", "fig2"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=user, env=clean, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "needs the folder experiments of a clone" in done.stderr


@pytest.mark.slow
def test_environments(user: Path) -> None:
    (user / "play.py").write_text(ENVIRONMENTS)
    shown = run(user / ".venv-of-wheel" / "bin" / "python", "play.py", folder=user)
    assert [line.split()[0] for line in shown.splitlines()] == ["Placement", "ServerFill", "Configuration"]


@pytest.mark.slow
def test_editable_install_beside_a_folder_called_packenv(tmp_path: Path) -> None:
    """A clone is a folder called packenv: from its parent, Python must find the package in it, not the folder."""
    clone = tmp_path / "packenv"
    clone.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (clone / name).write_bytes((ROOT / name).read_bytes())
    (clone / "packenv").symlink_to(ROOT / "packenv")
    run(sys.executable, "-m", "venv", tmp_path / "venv", folder=tmp_path)
    run(tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "-e", clone, folder=tmp_path)
    (packages,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    (packages / "zz_dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (tmp_path / "script.py").write_text("import packenv\nprint(packenv.__version__, packenv.__file__)\n")
    assert str(clone) in run(tmp_path / "venv/bin/python", "script.py", folder=tmp_path)
