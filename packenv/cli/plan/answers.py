"""Refusals of policies, for all plans."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from packenv.cli.tables import print_notes
from packenv.content.tables import Styled
from packenv.planning.search import NoneMeets


def print_refused(refused: Sequence[object], plans: Collection[Any]) -> None:
    """Print which policies miss the goals. Raises NoneMeets if all do."""
    print_notes(Styled(str(problem), "yellow") for problem in refused)
    if not plans:
        raise NoneMeets("none of the policies meets the goals with any number of servers")
