"""Policies in plain Python, each with one fault that `check_policy` must find, and one without any."""

from __future__ import annotations

from typing import Any

import numpy as np

import packenv
from packenv.cluster import BY_INDEX, BY_QUEUE, NONE, Needs, first_server, oldest, place, size_of

FAULTS: dict[type, str] = {}


def says(words: str) -> Any:
    """What the check must say of a policy."""

    def note(kind: type) -> type:
        FAULTS[kind] = words
        return kind

    return note


class Fine:
    """First in, first out, first fit."""

    def needs(self, setting: packenv.Setting) -> Needs:
        if setting.capacity.shape[1] > 1:
            raise packenv.InputError("Fine packs one resource")
        return Needs(orders=BY_QUEUE | BY_INDEX)

    def schedule(self, cluster: Any, state: Any) -> None:
        task = oldest(cluster)
        while task != NONE and self.wants(cluster, state):
            server = first_server(cluster, size_of(cluster, task), 0)
            if server == NONE:
                break
            place(cluster, task, server)
            task = oldest(cluster)

    def wants(self, cluster: Any, state: Any) -> bool:
        """Whether to start another task now."""
        return True


@says("above its capacity")
class Overfills(Fine):
    def schedule(self, cluster: Any, state: Any) -> None:
        if (task := oldest(cluster)) != NONE:
            place(cluster, task, 0)


@says("policy Crashes: KeyError: 'lost'")
class Crashes(Fine):
    def wants(self, cluster: Any, state: Any) -> bool:
        return {}["lost"]


@says("not deterministic")
class Random(Fine):
    rng = np.random.default_rng()

    def wants(self, cluster: Any, state: Any) -> bool:
        return bool(self.rng.integers(2))


@says("tasks never start")
class Drops(Fine):
    """Starts nothing once some tasks have gone."""

    def wants(self, cluster: Any, state: Any) -> bool:
        return int(cluster.head["started"][0]) < 5


@says("the policy has data outside its state")
class Remembers(Fine):
    """Starts a task at every other question; which ones are counted in the object, and anew in each run."""

    def initial_state(self, setting: packenv.Setting, seed: int) -> tuple[()]:
        self.count = 0
        return ()

    def wants(self, cluster: Any, state: Any) -> bool:
        self.count += 1
        return self.count % 3 != 0


@says("stays")
class Lengthens(Fine):
    """Changes the jobs: every other task stays a slot longer than it should."""

    def schedule(self, cluster: Any, state: Any) -> None:
        if (task := oldest(cluster)) != NONE:
            cluster.task["slots"][0, task] += 1
        super().schedule(cluster, state)


@says("Little's law")
class Miscounts(Fine):
    def schedule(self, cluster: Any, state: Any) -> None:
        cluster.head["queue_sum"][0] += 1
        super().schedule(cluster, state)


@says("refuses in more than one line")
class Verbose(Fine):
    def needs(self, setting: packenv.Setting) -> Needs:
        raise packenv.InputError("this\nand that")


@says("refuses every workload")
class Refuses(Fine):
    def needs(self, setting: packenv.Setting) -> Needs:
        raise packenv.InputError("nothing suits it")
