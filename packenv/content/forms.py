"""The one way from what is shown up to `packenv.report`, which shows it.

`report` lies above all results, reads them, and alone knows rich, matplotlib and jinja. Results have `repr`, `plot()` and
`to_frame()` nevertheless: these ask for a form by its name here, when somebody wants to see something. An import would make a
circle of files of each result, and bring these libraries to those who only compute.
"""

from __future__ import annotations

from typing import Any

from packenv.lazy_names import load


def form(name: str) -> Any:
    """The function of `packenv.report.forms` with this name."""
    return getattr(load("packenv.report.forms"), name)
