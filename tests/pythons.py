"""`python -m tests.pythons`: install packenv as its users do on several Pythons, and run tests that meet every library.

The Pythons are the lowest, a middle and the newest one that packenv promises and this machine has, on the path or pyenv's. Each
gets the newest versions that pip chooses. The newest Python is tested again with constraints.txt, the lowest by `make test`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TESTED = ROOT / "packenv" / "cli" / "tested.json"
FOLDER = ROOT / "out" / "pythons"
EXTRAS = "[sat,offline]"  # without torch, whose builds bring gigabytes of CUDA
TESTS = (
    *("tests/test_options.py", "tests/cli/test_doctor.py", "tests/executors/test_script_without_guard.py"),
    *("tests/report/test_charts.py", "tests/report/test_forms.py", "tests/report/test_page.py"),
    *("tests/results/test_job_times.py", "tests/results/test_schedule_table.py", "tests/results/test_stability.py"),
    *("tests/workloads/test_find.py", "tests/workloads/traces/test_user.py", "tests/envs/test_registration.py"),
    *("tests/theory/capacity/test_capacity.py", "tests/theory/makespan/test_optimum.py"),
)
"""Some 250 tests that meet every library and compile little."""

COMMAND = ("evaluate", "paper/fig4b", "--intensity", "0.9", "--slots", "500", "-p", "bf-js", "-p", "agent:fig4b")
PINS = "tests/cli/test_doctor.py::test_pins_are_tested"  # `--record` writes what it reads


class Installation(NamedTuple):
    """An environment: its Python, and whether versions are those of constraints.txt."""

    version: str
    python: Path
    pinned: bool

    @property
    def name(self) -> str:
        return f"{self.version}-{'pinned' if self.pinned else 'newest'}"


def promised() -> list[str]:
    """Versions of Python in the classifiers, ascending."""
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text) for text in PROJECT["classifiers"]]
    return sorted((match[1] for match in found if match), key=lambda version: int(version.partition(".")[2]))


def pythons() -> dict[str, Path]:
    """The interpreter of each promised version that is on the path or pyenv's."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = {}
    for version in promised():
        name = f"python{version}"
        files = [*(folder / name for folder in folders), *sorted(pyenv.glob(f"{version}.*/bin/{name}"))]
        file = next((file for file in files if _answers(file, version)), None)
        found |= {} if file is None else {version: file}
    return found


def _answers(python: Path, version: str) -> bool:
    """Whether an interpreter runs: pyenv puts names on the path that end in an error."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip() == version
    except OSError:
        return False


def installations(found: dict[str, Path]) -> list[Installation]:
    """The lowest, a middle and the newest Python, each with the newest libraries; the newest Python also with pinned ones."""
    versions = list(found)
    chosen = dict.fromkeys(versions[place] for place in (-1, 0, len(versions) // 2)) if versions else {}
    newest = [Installation(version, found[version], False) for version in chosen]
    return [*newest[:1], *(each._replace(pinned=True) for each in newest[:1]), *newest[1:]]


def built() -> Path:
    """Build the wheel that each environment installs: two builds in one folder get in each other's way."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", FOLDER, ROOT]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return max(FOLDER.glob("packenv-*.whl"), key=lambda wheel: wheel.stat().st_mtime)


def check(installation: Installation, wheel: Path, deadline: float) -> str:
    """Make the environment and run the tests there. Return "", or what failed, or the reason for which tests did not run."""
    folder = FOLDER / installation.name
    python = folder / "bin" / "python"
    constraints = ["-c", "constraints.txt"] if installation.pinned else []
    steps = [
        [installation.python, "-m", "venv", "--clear", folder],
        [python, "-m", "pip", "install", "--quiet", "--no-compile", *constraints, f"{wheel}{EXTRAS}", "pytest", "hypothesis"],
        [python, "-m", "pip", "check"],
        [folder / "bin" / "packenv", *COMMAND, "--plot", folder / "queues.png", "--report", folder / "report.html"],
        [python, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--deselect", PINS, *TESTS],
    ]
    for step in steps:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            return "not run: no time left"
        words = [str(word) for word in step]
        try:
            done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"not run to its end, no time left: {' '.join(words[1:4])}"
        if done.returncode != 0:
            return f"{' '.join(words)}\n{(done.stdout + done.stderr)[-6000:]}"
    print(f"{installation.name}: {done.stdout.strip().splitlines()[-1]}", flush=True)
    return ""


def versions_in(python: Path) -> dict[str, str]:
    """Installed distributions by their normal name."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True).stdout
    return {_normal(item["name"]): item["version"].partition("+")[0] for item in json.loads(listed)}


def direct() -> list[str]:
    """Libraries that packenv names: its own, and those of extras that users install."""
    extras = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *(text for name in extras if name not in ("dev", "docs") for text in extras[name])]
    return sorted({_normal(re.split(r"[^\w.-]", text)[0]) for text in texts})


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, str]:
    """Versions of constraints.txt for this Python, with which `make test` runs."""
    from packaging.requirements import Requirement

    pins = map(Requirement, (ROOT / "constraints.txt").read_text().splitlines())
    return {_normal(pin.name): str(pin.specifier)[2:] for pin in pins if pin.marker is None or pin.marker.evaluate()}


def record(environments: dict[str, Path]) -> None:
    """Write the versions of environments whose tests passed, by Python, and those of constraints.txt."""
    runs = [(name.partition("-")[0], versions_in(folder / "bin" / "python")) for name, folder in environments.items()]
    runs.append((f"{sys.version_info[0]}.{sys.version_info[1]}", pinned()))
    tested = {"python": sorted({version for version, _ in runs}, key=lambda text: int(text.partition(".")[2]))}
    for name in direct():
        if versions := sorted({there[name] for _, there in runs if name in there}):
            tested[name] = versions
    TESTED.write_text(json.dumps(tested, indent=1) + "\n")


def main() -> int:
    """Test each installation, two at a time. The status is 1 if tests fail in one; those for which no time is left are named."""
    words = argparse.ArgumentParser(prog="python -m tests.pythons", description=__doc__)
    words.add_argument("--seconds", type=float, default=3600.0, help="start nothing after these seconds")
    words.add_argument("--record", action="store_true", help="write the versions that passed for `packenv doctor`")
    options = words.parse_args()
    found = pythons()
    absent = [version for version in promised() if version not in found]
    print(f"Python {', '.join(found) or 'none'}", f"(not here: {', '.join(absent)})" if absent else "", flush=True)
    chosen, deadline = installations(found), time.monotonic() + options.seconds
    wheel = built()
    with ThreadPoolExecutor(2) as pool:
        problems = dict(zip(chosen, pool.map(lambda each: check(each, wheel, deadline), chosen), strict=True))
    for installation, problem in problems.items():
        if problem:
            print(f"{installation.name}: {problem}", file=sys.stderr)
    failed = [problem for problem in problems.values() if problem and not problem.startswith("not run")]
    if options.record and not any(problems.values()):
        record({each.name: FOLDER / each.name for each in chosen})
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
