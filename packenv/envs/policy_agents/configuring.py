"""The state of a policy that gives servers active configurations, as VQS does, so that it can play Configuration exactly."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray


@runtime_checkable
class ConfiguresServers(Protocol):
    """State with an active configuration of each server."""

    @property
    def reserved(self) -> NDArray[Any]:
        """(L,) room, in units, that the reserved type-1 job of each server holds."""
        ...

    def active_configuration(self, server: int, types: int) -> NDArray[Any] | None:
        """(types,) jobs of each type in the server's active configuration; None before its first."""
        ...
