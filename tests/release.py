"""`python -m tests.release`: build the core and the plug-ins, and prove them in an empty environment.

Writes a wheel and a source distribution of each, and a conda recipe, to a new folder. A fresh environment installs the wheels
alone. There the comparison of `make demo` runs in an empty folder.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from experiments import demo

ROOT = Path(__file__).resolve().parents[1]
CONDA_NAMES = {"matplotlib": "matplotlib-base"}
RECIPE = """\
package:
  name: packenv
  version: "{version}"

source:
  fn: {file}
  url: https://pypi.org/packages/source/p/packenv/{file}
  sha256: {digest}

build:
  noarch: python
  script: {{{{ PYTHON }}}} -m pip install . --no-deps --no-build-isolation -vv
  entry_points:
    - {entry_point}

requirements:
  host:
    - {host}
  run:
    - {run}

test:
  imports:
    - packenv
  commands:
    - packenv doctor

about:
  summary: "{summary}"
  license: {license}
  license_file: LICENSE
"""


def project(folder: Path) -> dict[str, Any]:
    """The table [project] of a folder's pyproject.toml, with the version that the package has."""
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    code = (ROOT / "packenv" / "__init__.py").read_text()
    return {"version": re.findall(r'^__version__ = "(.+)"', code, re.MULTILINE)[0]} | table


def recipe(source: Path) -> str:
    """The conda recipe of the core: what pyproject.toml says, and the digest of the source distribution."""
    core = project(ROOT)
    python = f"python {core['requires-python']}"
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    ((name, target),) = core["scripts"].items()
    return RECIPE.format(
        version=core["version"],
        file=source.name,
        digest=hashlib.sha256(source.read_bytes()).hexdigest(),
        entry_point=f"{name} = {target}",
        host="\n    - ".join([python, "pip", *map(conda, build)]),
        run="\n    - ".join([python, *map(conda, core["dependencies"])]),
        summary=core["description"],
        license=core["license"],
    )


def conda(requirement: str) -> str:
    """A requirement as conda writes it: `matplotlib-base >=3.9`."""
    name, bounds = re.fullmatch(r"([\w.-]+)(.*)", requirement).groups()  # type: ignore[union-attr]
    return f"{CONDA_NAMES.get(name, name)} {bounds}".strip()


def run(*words: str | Path, folder: Path = ROOT) -> str:
    """Run a command, whose output is shown if it fails. Return its output."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(word) for word in words], cwd=folder, env=clean, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def prove(wheels: list[Path], folder: Path) -> str:
    """Install the wheels in an empty environment and run the comparison of `make demo`. Return what it prints."""
    run(sys.executable, "-m", "venv", folder / "venv")
    python, user = folder / "venv" / "bin" / "python", folder / "user"
    user.mkdir()
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt", *wheels)
    run(python, "-m", "pip", "check")
    printed = run(folder / "venv" / "bin" / "packenv", *demo.command(quick=True, picture="demo.png"), folder=user)
    assert (user / "demo.png").stat().st_size > 0
    return printed


def main() -> None:
    """Build and prove all distributions. Nothing is left in the folder if one of them fails."""
    words = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    words.add_argument("--out", type=Path, default=ROOT / "dist", help="new folder")
    out: Path = words.parse_args().out
    if out.exists():
        sys.exit(f"{out} exists already: remove it, or choose another folder with --out")
    parts = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
    versions = {project(part)["name"]: project(part)["version"] for part in parts}
    if len({*versions.values()}) > 1:
        sys.exit(f"one version for all: {versions}")
    with tempfile.TemporaryDirectory() as temporary:
        built = Path(temporary) / "dist"
        for part in parts:
            run(sys.executable, "-m", "build", "--outdir", built, part)
        print(prove(sorted(built.glob("*.whl")), Path(temporary)))
        (built / "meta.yaml").write_text(recipe(next(built.glob("packenv-[0-9]*.tar.gz"))))
        shutil.move(built, out)
    print(*sorted(path.name for path in out.iterdir()), sep="\n")


if __name__ == "__main__":
    main()
