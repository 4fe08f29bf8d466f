"""The oldest Gymnasium that packenv takes, and the one that RLlib asks for; all other tests have the newest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.other_packages import ROOT, install

pytestmark = pytest.mark.slow
TESTS = [f"tests/envs/test_{name}.py" for name in ("registration", "walkthrough", "wrappers")]


@pytest.mark.parametrize("version", ["1.1.0", pytest.param("1.2.2", marks=pytest.mark.minutes)])
def test_environments(version: str, tmp_path: Path) -> None:
    environment = install(tmp_path, f"gymnasium=={version}")
    code = f"import gymnasium, sys, pytest; assert gymnasium.__version__ == {version!r}; sys.exit(pytest.main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "-p", "no:cacheprovider", *TESTS], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
