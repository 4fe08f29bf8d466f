"""The figures of the papers: what is run, which of the paper's claims the runs show, and the picture; one folder a paper.

A new study is a folder with a function that takes `Settings` and returns a `Finding`, and a line in FIGURES.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # they bring the simulator with them
    from packenv.studies.finding import Finding, Settings

FIGURES = {
    "fig1": "random_requirements.fig1.figure:reproduce",
    "fig2": "random_requirements.fig2.figure:reproduce",
    "fig3a": "random_requirements.fig3.figure:reproduce_a",
    "fig3b": "random_requirements.fig3.figure:reproduce_b",
    "fig4a": "random_requirements.fig4.figure:reproduce_a",
    "fig4b": "random_requirements.fig4.figure:reproduce_b",
    "fig5": "random_requirements.fig5.figure:reproduce",
    "tetris": "tetris.figure:reproduce",
    "eagle": "eagle.figure:reproduce",
    "delay": "delay.figure:reproduce",
    "price-fig1": "price.makespans:reproduce_1",
    "price-fig2": "price.makespans:reproduce_2",
    "price-fig3": "price.makespans:reproduce_3",
    "price-fig4": "price.times:reproduce",
    "price-fig5": "price.curves:reproduce_5",
    "price-fig8": "price.curves:reproduce_8",
    "price-abundant": "price.makespans:reproduce_abundant",
}
"""Module and function of each figure, in the order of the papers."""

GROUPS = {
    "all": [name for name in FIGURES if name.startswith("fig")],
    "price-figs": [name for name in FIGURES if name.startswith("price-")],
}


def reproduce(figure: str, settings: Settings) -> Finding:
    """Run what a figure of FIGURES takes. Raises InputError for settings that do not go with it."""
    module, _, function = FIGURES[figure].partition(":")
    found: Finding = getattr(import_module(f"packenv.studies.{module}"), function)(settings)
    return found
