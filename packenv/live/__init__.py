"""Policies outside the simulator: `packenv.Scheduler` and `packenv serve`.

Other languages use `serve`. Models of any library are policies too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.lazy_names import homes_of, lazy_names

if TYPE_CHECKING:
    from packenv.live.model import Model as Model
    from packenv.live.scheduler import Scheduler as Scheduler
    from packenv.live.scheduler import Start as Start

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_names(__name__, homes_of(__file__))
