"""Any policy outside the simulator: `packenv.Scheduler`, `packenv serve` for other languages, and models of any library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.lazy_names import lazy_names

if TYPE_CHECKING:
    from packenv.live.model import Model as Model
    from packenv.live.scheduler import Scheduler as Scheduler
    from packenv.live.scheduler import Start as Start

__all__, __getattr__, __dir__ = lazy_names(__name__, {".model": ["Model"], ".scheduler": ["Scheduler", "Start"]})
