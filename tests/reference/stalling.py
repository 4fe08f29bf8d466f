"""What every policy does in a slot: reopen the empty servers, place jobs, and (option) stall servers (PAPERS §1.5)."""

from __future__ import annotations

from tests.reference.model import Server, World


class Policy:
    """A policy places jobs on open servers; `stall` adds the option "Stalling"."""

    def __init__(self, *, stall: bool = False) -> None:
        self.stall = stall
        self.stalled: set[int] = set()

    def begin(self, world: World) -> None:
        """Once, before slot 0."""

    def schedule(self, world: World) -> None:
        """Once in every slot, after completions and arrivals."""
        self.stalled -= {server.index for server in world.servers if server.empty}
        self.place(world)
        if self.stall and world.waiting:
            self.stalled |= {server.index for server in world.servers if not server.empty and self.wasteful(world, server)}

    def open_servers(self, world: World) -> list[Server]:
        return [server for server in world.servers if server.index not in self.stalled]

    def place(self, world: World) -> None:
        raise NotImplementedError

    def wasteful(self, world: World, server: Server) -> bool:
        """Does this non-empty server stall? Best fit and FIFO: less than half full, and the largest waiting job does not fit."""
        largest = min(world.waiting, key=lambda task: (-world.size(task), task.row))
        under_half = all(2 * o < c for o, c in zip(server.occupied, server.capacity, strict=True) if c > 0)
        return under_half and not server.takes(largest)
