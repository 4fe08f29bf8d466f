"""Pictures: a figure of matplotlib that a notebook shows, and its file."""

from __future__ import annotations

import io
import os
from typing import Any

from matplotlib.figure import Figure

from packenv.files import atomic_path

DPI = 120


class Picture(Figure):
    """A figure that a notebook shows without `pyplot`. `savefig(path)` writes it, as of every figure."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=DPI)
        return content.getvalue()


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, PDF or SVG, whole or not at all."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=DPI)
