"""The environments' names for Gymnasium, without importing it: it takes a hundred times as long as packenv."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

REGISTRY = "gymnasium.envs.registration"
NAMES = ("Placement", "ServerFill", "Configuration")


def register_all() -> None:
    """Register the environments now, or as soon as Gymnasium is imported."""
    if REGISTRY in sys.modules:
        register_in(sys.modules[REGISTRY])
    else:
        sys.meta_path.insert(0, Later())


def register_in(registration: ModuleType) -> None:
    for name in NAMES:
        if f"packenv/{name}-v0" not in registration.registry:
            registration.register(
                f"packenv/{name}-v0",
                entry_point=f"packenv.envs.environments:{name}",
                vector_entry_point=f"packenv.envs.environments:{name}Vector",
            )


class Later:
    """A finder that lets Gymnasium's registry be found as ever, and has it filled once it has been loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != REGISTRY:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            load: Any = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                register_in(module)

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec
