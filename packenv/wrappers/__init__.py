"""Wrappers for other libraries: masks in their words, and rewards discounted by slots. Imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.lazy_names import lazy_names

if TYPE_CHECKING:
    from packenv.wrappers.discount import DiscountElapsed as DiscountElapsed
    from packenv.wrappers.masks import MaskedObservation as MaskedObservation

__all__, __getattr__, __dir__ = lazy_names(__name__, {".discount": ["DiscountElapsed"], ".masks": ["MaskedObservation"]})
