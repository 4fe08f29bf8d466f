"""What a policy offers that gives servers active configurations, as VQS does, so that it can play Configuration exactly."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray


@runtime_checkable
class ConfiguresServers(Protocol):
    """A policy that keeps an active configuration of each server in its state."""

    def active_configuration(self, state: Any, server: int, types: int) -> NDArray[Any] | None:
        """(types,) jobs of each type in the server's active configuration; None before its first."""
        ...

    def adopt_reserved(self, state: Any, reserved: NDArray[Any]) -> None:
        """Take over the room (L,), in units, that the reserved type-1 job of each server holds."""
        ...
