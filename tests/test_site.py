"""The pages of the site that are made from the code: docstrings as reStructuredText, and a page for every policy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def site_pages() -> object:
    sys.path.insert(0, str(DOCS))
    import site_pages

    sys.path.remove(str(DOCS))
    return site_pages


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


def test_every_policy_has_a_page_with_its_rule_and_source(site_pages: object) -> None:
    for name in site_pages.policies():  # type: ignore[attr-defined]
        rule, _, source = site_pages.told(name)  # type: ignore[attr-defined]
        assert rule, name
        assert "[" not in source.replace("](", ""), f"{name}: a source that the page does not list"
    assert "SIGCOMM 2014" in site_pages.policy_page("tetris")  # type: ignore[attr-defined]


def test_every_page_is_in_the_contents() -> None:
    contents = (DOCS / "index.md").read_text(encoding="utf-8") + (DOCS / "reference" / "policies.md").read_text(encoding="utf-8")
    written = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("*/*.md")]
    missing = [page for page in written if not page.startswith(("_build", "examples")) and page not in contents]
    assert not missing
