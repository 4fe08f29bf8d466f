"""The page of the report with hostile words, made once."""

from __future__ import annotations

import pytest

from packenv.report.page import page_of
from tests.report.pages import HOSTILE, hostile_report


@pytest.fixture(scope="session")
def html() -> str:
    return page_of(hostile_report(), f"packenv {HOSTILE}")
