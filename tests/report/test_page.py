"""The page of a report: what it is made of, that texts stay texts, and that its colours can be told from what is behind them."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from packenv.content.page import Page as Content
from packenv.report import page as page_module
from packenv.report.page import page_of
from tests.report.pages import HOSTILE, Page, hostile_report

STYLE = (Path(page_module.__file__).parent / "page.css").read_text()


def test_texts_stay_texts(html: str) -> None:
    page = Page(html)
    assert page.all("script", "iframe", "object", "form", "base") == []
    assert [each.attributes for each in page.all("img")] == []
    for each in page.elements:
        assert not [name for name in each.attributes if name.startswith("on")]
    for tag in ("title", "h1", "h2", "h3", "dt", "dd", "caption", "figcaption", "code", "th", "li", "summary"):
        assert HOSTILE in "".join(each.said for each in page.all(tag)), tag
    drawn = [each.said for each in page.all("text")]
    cut = [said for said in drawn if said.endswith("…") and HOSTILE.startswith(said[:-1]) and len(said) > 15]
    assert len(cut) >= 2 * 8  # names, titles of axes, rules; twice, as there are two sizes


def test_the_page_loads_nothing(html: str) -> None:
    page = Page(html)
    for each in page.elements:
        for name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
            assert each.attributes.get(name, "#").startswith(("#", "data:")), each
    assert "url(" not in STYLE and "@import" not in STYLE
    (policy,) = (each.attributes["content"] for each in page.all("meta") if "http-equiv" in each.attributes)
    assert policy.startswith("default-src 'none';") and "script-src" not in policy


def test_structure(html: str) -> None:
    page = Page(html)
    assert page.elements[0].attributes == {"lang": "en"}
    assert [len(page.all(tag)) for tag in ("h1", "main", "header", "footer")] == [1] * 4
    levels = [int(each.tag[1]) for each in page.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and all(below <= above + 1 for above, below in pairwise(levels))
    ids = [each.attributes["id"] for each in page.elements if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'clip-path="url\(#(.*?)\)"', html)) <= set(ids)
    for each in page.elements:
        assert set(each.attributes.get("aria-labelledby", "").split()) <= set(ids)
        assert each.attributes.get("href", "#main")[1:] in ids or each.tag == "link"
    assert len(page.all("table")) == len(page.all("caption")) == 2
    assert all(each.attributes["scope"] in ("col", "row") for each in page.all("th"))
    boxes = [each for each in page.elements if each.attributes.get("class") == "scroll"]
    assert len(boxes) == 2 and all({"tabindex", "role", "aria-labelledby"} <= set(each.attributes) for each in boxes)
    pictures = [each for each in page.elements if each.attributes.get("role") == "img"]
    assert len(pictures) == 5 and all(each.attributes["aria-labelledby"].endswith("-said") for each in pictures)
    assert all(each.attributes["aria-hidden"] == "true" for each in page.all("svg"))  # the picture around it is what is heard


def test_charts_are_drawn(html: str) -> None:
    page = Page(html)
    assert len(page.all("svg")) == 2 * 3 + 2  # small ones have one size
    assert not any("nan" in each.attributes.get(key, "") for each in page.elements for key in ("d", "x", "y"))
    assert "var(--c0)" in html and not re.findall(r"(?:fill|stroke): #", html)  # colours are those of the style sheet


def test_the_same_report_gives_the_same_page(html: str) -> None:
    assert page_of(hostile_report(), f"packenv {HOSTILE}") == html


def luminance(colour: str) -> float:
    """Of sRGB, as WCAG 2 defines it."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    schemes = [dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)]
    assert len(schemes) == 2 and schemes[0].keys() == schemes[1].keys() and len(schemes[0]) == 13
    for colours in schemes:
        lines = [f"c{n}" for n in range(7)]
        for name in ("ink", "muted", "link", *lines):
            assert contrast(colours[name], colours["page"]) >= 4.5, name
        for name in ("ink", "muted", "link"):
            assert contrast(colours[name], colours["raised"]) >= 4.5, name
        assert len({colours[name] for name in lines}) == 7


def test_nothing_but_a_title(tmp_path: Path) -> None:
    page = Page(page_of(Content("A title", "An answer.", [], []), "packenv"))
    assert [each.said for each in page.all("h1", "h2")] == ["A title", "The command that gives it again"]
