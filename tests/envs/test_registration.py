"""The environments have names for Gymnasium, in whatever order things are imported, and `import packenv` stays cheap."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

from packenv import InputError
from packenv.envs.registration import ENVIRONMENTS, FORMER

LIST = "print(sorted(name for name in gymnasium.registry if name.startswith('packenv/')))"
ENDINGS = {kind: ("-v0", "-v1", "Normalized-v1") if kind in FORMER else ("-v1",) for kind in sorted(ENVIRONMENTS)}
NAMES = str([f"packenv/{kind}{rest}" for kind, endings in ENDINGS.items() for rest in endings])


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
    program = "from gymnasium.envs import registration; print(registration._find_spec('packenv:packenv/Placement-v1').id)"
    assert said(program) == "packenv/Placement-v1"


def test_importing_packenv_imports_neither_gymnasium_nor_the_compiler() -> None:
    assert said("import sys, packenv; print([name in sys.modules for name in ('gymnasium', 'numba', 'numpy')])") == str(
        [False] * 3
    )


def test_gymnasium_alone_is_left_alone() -> None:
    assert said(f"import gymnasium; {LIST}") == "[]"
    finders = "[repr(finder) for finder in sys.meta_path]"
    assert said(f"import sys, packenv, gymnasium; print(any('RegisterOnImport' in each for each in {finders}))") == "False"


@pytest.mark.filterwarnings("ignore:.*out of date")
@pytest.mark.parametrize("kind", sorted(FORMER))
def test_former_ids_say_what_to_write_now(kind: str) -> None:
    with pytest.raises(InputError, match=f"-v0: write packenv/{kind}-v1; its defaults were observation='") as error:
        gymnasium.make(f"packenv/{kind}-v0", workload="paper/fig4b")
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=f"write packenv/{kind}-v1$"):
        gymnasium.make_vec(f"packenv/{kind}Normalized-v1", num_envs=2)
    former = gymnasium.make(f"packenv/{kind}-v1", **FORMER[kind]).unwrapped.core.options  # type: ignore[attr-defined]
    assert former.invalid == "wait"
