"""Packages in other versions than those installed, in a folder that goes before them on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def install(folder: Path, *packages: str) -> dict[str, str]:
    """Install these packages alone into a folder. Returns the environment of processes that are to use them."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(folder)]
    done = subprocess.run([*pip, *packages], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
