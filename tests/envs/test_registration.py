"""The environments have names for Gymnasium, in whatever order things are imported, and `import packenv` stays cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

from packenv.envs.registration import ENVIRONMENTS, id_of

LIST = "print(sorted(name for name in gymnasium.registry if name.startswith('packenv/')))"
NAMES = str([id_of(f"{kind}{ending}") for kind in sorted(ENVIRONMENTS) for ending in ("", "Normalized")])


def said(program: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "imports", ["import packenv, gymnasium", "import gymnasium, packenv", "import packenv; from gymnasium import *"]
)
def test_any_order(imports: str) -> None:
    assert said(f"{imports}; import gymnasium; {LIST}") == NAMES


def test_by_the_module_prefix() -> None:
    program = "from gymnasium.envs import registration; print(registration._find_spec('packenv:packenv/Placement-v0').id)"
    assert said(program) == "packenv/Placement-v0"


def test_importing_packenv_imports_neither_gymnasium_nor_the_compiler() -> None:
    assert said("import sys, packenv; print([name in sys.modules for name in ('gymnasium', 'numba', 'numpy')])") == str(
        [False] * 3
    )


def test_gymnasium_alone_is_left_alone() -> None:
    assert said(f"import gymnasium; {LIST}") == "[]"
    assert said("import sys, packenv, gymnasium; print(any('Later' in repr(finder) for finder in sys.meta_path))") == "False"
