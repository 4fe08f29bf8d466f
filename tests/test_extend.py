"""What a plug-in may use is documented, is there, and is all that the plug-ins next to packenv use."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import packenv
from packenv import cluster, extend, policies
from packenv.experimental import SENTENCE, experimental
from packenv.plugins import CHECKOUT

PUBLIC = {
    "packenv": {*packenv.__all__},
    "packenv.cluster": {*cluster.__all__},
    "packenv.extend": {*extend.__all__},
    "packenv.policies": {*policies.__all__},
    "packenv.testing": {"check_environment", "check_policy", "problem_of"},
}
SOURCES = sorted(CHECKOUT.glob("*/packenv_*/**/*.py"))


def test_the_docstring_lists_what_is_there() -> None:
    spans = re.findall(r"`([^`]+)`", extend.__doc__ or "")
    words = {word for span in spans for word in re.findall(r"\w+", span)}
    assert {*extend.__all__} <= words
    assert {span for span in spans if span.isidentifier()} - {*extend.__all__} == {"packenv"}
    assert all(getattr(extend, name) is not None for name in extend.__all__)


def test_to_import_it_is_cheap() -> None:
    script = "import sys, packenv.extend; print([name for name in ('numpy', 'numba', 'click', 'rich') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def foreign(source: str) -> list[str]:
    """The names of packenv that a source imports and that are not public."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("packenv.") and alias.name not in PUBLIC]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "packenv":
            public = PUBLIC.get(str(node.module), set())
            found += [f"{node.module}.{alias.name}" for alias in node.names if alias.name not in public]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(CHECKOUT).as_posix())
def test_a_plugin_uses_public_names_alone(path: Path) -> None:
    assert foreign(path.read_text(encoding="utf-8")) == []


def test_another_name_is_found() -> None:
    assert foreign("from packenv.extend import Table\nfrom packenv import Workload, cluster") == ["packenv.cluster"]
    assert foreign("import packenv.cluster.state\ndef f():\n    from packenv.errors import InputError") == [
        "packenv.cluster.state",
        "packenv.errors.InputError",
    ]


def test_packenv_imports_no_plugin() -> None:
    names = {folder.name for folder in CHECKOUT.glob("*/packenv_*")} | {"packenv_kubernetes", "packenv_score"}
    for path in Path(packenv.__file__).parent.rglob("*.py"):
        imported = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, (ast.Import, ast.ImportFrom))]
        assert not [name for node in imported for name in names if name in ast.unparse(node)], path


def test_experimental_stands_in_help_once() -> None:
    def measure() -> None:
        """Measure it.

        In slots.
        """

    expected = f"Measure it.\n\n{SENTENCE}\n\nIn slots."
    assert experimental(experimental(measure)).__doc__ == expected
