"""The link from results to `packenv.report`, which shows them.

`report` imports all results, and alone uses rich, matplotlib and jinja. Results have `repr`, `plot()` and `to_frame()`, so
they load forms by name when needed. An import would be circular, and load these libraries for users who only compute.
"""

from __future__ import annotations

from typing import Any

from packenv.lazy_names import load


def form(name: str) -> Any:
    """Return the function of `packenv.report.forms` with this name."""
    return getattr(load("packenv.report.forms"), name)
