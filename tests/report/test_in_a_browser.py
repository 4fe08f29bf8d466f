"""Reports in a real browser: charts are drawn, nothing is loaded, nothing runs, and they can be read and used on a phone too."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.pages import HOSTILE

playwright = pytest.importorskip("playwright.sync_api")

BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
WITHOUT = "no chromium, chromium-browser or google-chrome on the PATH"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason=WITHOUT)]
PHONE, DESK = {"width": 390, "height": 800}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def file(html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html)
    return path


@pytest.fixture(params=[(PHONE, "light"), (DESK, "dark")], ids=["phone", "desk"])
def shown(request: pytest.FixtureRequest, browser: Any, file: Path) -> Iterator[Any]:
    """The page, with what the browser said and asked for while it was opened."""
    size, scheme = request.param
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("dialog", lambda dialog: (page.said.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(file.as_uri())
    yield page
    page.close()


def test_page(shown: Any, file: Path) -> None:
    assert shown.said == []
    assert [url for url in shown.asked if not url.startswith("data:")] == [file.as_uri()]
    wide, room = shown.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room
    assert shown.evaluate("document.scripts.length") == 0
    assert shown.locator("h1").inner_text() == HOSTILE
    assert shown.locator("figcaption").first.inner_text() == HOSTILE
    charts = [box for svg in shown.locator("figure svg").all() if (box := svg.bounding_box()) is not None and svg.is_visible()]
    assert len(charts) == 5
    for box in charts:
        assert box["width"] > 250 and box["height"] > 100 and box["x"] >= 0 and box["x"] + box["width"] <= room
    for mark in ("path[style*='stroke: var(--c0)']", "path[style*='fill: var(--c0)']", "use", "text"):
        seen = [one for one in shown.locator(f"figure svg {mark}").all() if one.is_visible()]
        assert seen, mark
    assert all(size >= 10 for size in shown.evaluate(LETTERS)), "letters of a chart can be read"


LETTERS = """[...document.querySelectorAll('figure svg text')].filter(one => one.checkVisibility() && one.textContent)
    .map(one => { const to = one.getScreenCTM(); return parseFloat(getComputedStyle(one).fontSize) * Math.hypot(to.a, to.b) })"""
"""Pixels from the foot of a letter's line to its head, of upright and turned texts."""


def test_colours_follow_the_scheme(browser: Any, file: Path) -> None:
    found = []
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport=DESK, color_scheme=scheme)
        page.goto(file.as_uri())
        line = page.locator("figure svg path[style*='stroke: var(--c0)']").first.evaluate("one => getComputedStyle(one).stroke")
        found.append((page.evaluate("getComputedStyle(document.body).backgroundColor"), line))
        page.close()
    assert found == [("rgb(255, 255, 255)", "rgb(0, 114, 178)"), ("rgb(20, 23, 27)", "rgb(86, 176, 234)")]


def soon(holds: Callable[[], bool]) -> bool:
    """Whether it holds within seconds: boxes move smoothly."""
    until = time.monotonic() + 10
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(0.05)
    return held


def test_keyboard(browser: Any, file: Path) -> None:
    """Tab reaches the skip link, the tables' boxes, what is folded and the command; Enter unfolds; arrows move a wide table."""
    page = browser.new_page(viewport=PHONE)
    page.goto(file.as_uri())
    reached = []
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.className || document.activeElement.localName"))
        if reached[-1] == "skip":
            assert page.locator(".skip").bounding_box()["x"] >= 0
        if reached[-1] == "scroll":
            page.keyboard.press("ArrowRight")
            assert soon(lambda: page.evaluate("document.activeElement.scrollLeft") > 0)
        if reached[-1] == "summary":
            assert not page.locator("details table").is_visible()
            page.keyboard.press("Enter")
            assert page.locator("details table").is_visible()
    assert reached[:5] == ["skip", "scroll", "summary", "scroll", "pre"]
    page.close()


def test_names_for_a_screen_reader(browser: Any, file: Path) -> None:
    page = browser.new_page(viewport=DESK)
    page.goto(file.as_uri())
    words = " ".join(HOSTILE.split())
    assert page.get_by_role("img", name=f"{words} {words}", exact=True).count() == 4
    assert page.get_by_role("img", name="When Evenly.", exact=True).count() == 1
    assert page.get_by_role("table", name=words, exact=True).count() == 1
    assert page.get_by_role("main").count() == page.get_by_role("banner").count() == page.get_by_role("contentinfo").count() == 1
    page.close()
