"""The pages of the site that are made from the code: docstrings as reStructuredText, and a page for every policy."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

import packenv
from tests.test_docs import EXAMPLES, PAGES, blocks
from tests.test_names_on_pages import is_there, names_of

DOCS = Path(__file__).resolve().parents[1] / "docs"


def site_module(name: str) -> Any:
    """A module of the folder of the pages."""
    sys.path.insert(0, str(DOCS))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def site_pages() -> object:
    return site_module("site_pages")


def test_docstrings(site_pages: object) -> None:
    lines = ["Runs `f(x)`, x_ and *.", "", "slots   length", "        of the run", "seed    of the jobs", "", "Raises."]
    site_pages.docstring_as_rst(None, "", "", None, None, lines)  # type: ignore[attr-defined]
    wanted = ["Runs ``f(x)``, x\\_ and \\*.", "", "slots", "   length", "   of the run", "seed", "   of the jobs", "", "Raises."]
    assert lines == wanted


def test_a_workload_at_an_intensity_is_no_address(site_pages: object) -> None:
    core = pytest.importorskip("docutils.core")
    page = core.publish_doctree("paper/fig4b@0.95 or https://peps.python.org")
    assert "mailto" in str(page)
    site_pages.without_addresses(None, page)  # type: ignore[attr-defined]
    assert "mailto" not in str(page) and page.astext() == "paper/fig4b@0.95 or https://peps.python.org"
    assert 'refuri="https://peps.python.org"' in str(page)


def test_the_page_of_a_policy_has_its_source_and_guarantee(site_pages: Any) -> None:
    page = site_pages.policy_page("vqs")
    assert "⅔" in page and "Psychas, Ghaderi" in page and "§V" in page


def test_every_page_is_in_the_contents() -> None:
    contents = (DOCS / "index.md").read_text(encoding="utf-8") + (DOCS / "reference" / "policies.md").read_text(encoding="utf-8")
    written = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("*/*.md")]
    missing = [page for page in written if not page.startswith(("_build", "examples", "plugins")) and page not in contents]
    assert not missing


def stable_on_the_page() -> list[list[str]]:
    """The rows of the tables of modules, without backticks, on the page of Python."""
    section = (DOCS / "reference" / "python.md").read_text(encoding="utf-8").split("\n## ")[1]
    assert section.startswith("What is stable")
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `packenv")]
    return [[row[0].strip("`"), *row[1:]] for row in rows]


def test_the_page_says_what_is_stable(site_pages: Any) -> None:
    rows = stable_on_the_page()
    assert {row[0]: row[1] for row in rows if len(row) == 2} == site_pages.MODULES
    named = {row[0]: tuple(row[1].replace("`", "").split(", ")) for row in rows if len(row) == 3}
    assert named == site_pages.OTHER_NAMES
    assert not [name for module, names in named.items() for name in names if not is_there(f"{module}.{name}")]


def test_pages_import_what_is_stable(site_pages: Any) -> None:
    """But a study, which moves with its checkout. Of examples those that need the inside say so on their page."""
    names = {module: site_pages.public(import_module(module)) for module in site_pages.MODULES} | site_pages.OTHER_NAMES

    def is_stable(name: str) -> bool:
        homes = [module for module in names if f"{name}.".startswith(f"{module}.")]
        return any(home == name or name.removeprefix(f"{home}.").split(".")[0] in names[home] for home in homes)

    inside = {"docs/how_to/reproduce.md"}, {"admission.py", "rllib_ppo.py"}
    programs = {page: "\n".join(blocks(page, "python")) for page in PAGES if page not in inside[0]}
    programs |= {path.name: path.read_text() for path in EXAMPLES.glob("*.py") if path.name not in inside[1]}
    used = {(where, name) for where, program in programs.items() for name in names_of(program) if name.startswith("packenv.")}
    assert len(used) > 50
    assert not [(where, name) for where, name in sorted(used) if not is_stable(name)]


def test_a_range_of_the_page_takes_this_version() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    ranges = [SpecifierSet(found) for found in re.findall(r"`packenv(>=[^`]+)`", page)]
    assert len(ranges) == 2 and ranges[-1].contains(packenv.__version__, prereleases=True)
    assert all(each.contains("0.10.1") and not each.contains("0.11.0", prereleases=True) for each in ranges)
