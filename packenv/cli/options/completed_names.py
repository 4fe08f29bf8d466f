"""Types of options and arguments whose values a shell can complete: policies, workloads, figures, files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from packenv.errors import InputError
from packenv.policy import find_policy, registered
from packenv.workloads.named.registry import names


class Named(click.ParamType):  # type: ignore[type-arg]  # generic in some versions of click only
    """A text, of which some are known: `known(incomplete)` gives those that a shell completes. Files, where none of them fits."""

    name = "text"

    def __init__(self, known: Callable[[str], Iterable[str]], files: bool = True) -> None:
        self.known, self.files = known, files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in self.known(incomplete) if name.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if self.files else [])


def known_policies(incomplete: str) -> list[str]:
    """Names of policies; after a name and a colon its parameters, or the agents that come with packenv."""
    name, colon, given = incomplete.partition(":")
    if not colon:
        return [f"{name}:" if name in ("agent", "optimal", "replay") else name for name in registered()]
    if name == "agent":
        from packenv.learning.agents.saved import pretrained_agents  # brings the compiled environments with it

        return [f"agent:{one}" for one in pretrained_agents()]
    before = incomplete[: len(incomplete) - len(given.rpartition(",")[2])]
    if name in registered():
        with suppress(InputError):
            keys = inspect.signature(type(find_policy(name))).parameters.values()
            return [f"{before}{key.name}" if isinstance(key.default, bool) else f"{before}{key.name}=" for key in keys]
    return []


POLICY = Named(known_policies)
WORKLOAD = Named(lambda incomplete: names())
PATH = Named(lambda incomplete: ())
