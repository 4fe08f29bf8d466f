"""The registry of environments, and their names for Gymnasium.

Gymnasium itself is not imported here, since that takes a hundred times as long as importing packenv.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from packenv.errors import InputError, nearest
from packenv.lazy_names import load

if TYPE_CHECKING:
    from packenv.envs.core.definition import Definition
    from packenv.envs.interfaces.batched import BatchEnv

REGISTRY = "gymnasium.envs.registration"

ENVIRONMENTS = {
    "Placement": "packenv.envs.placement",
    "ServerFill": "packenv.envs.server_fill",
    "Configuration": "packenv.envs.configuration",
    "JobFill": "packenv.envs.job_fill.environment",
    "NextJob": "packenv.envs.next_job",
}
"""Name → module that has its DEFINITION."""

VERSIONS = dict.fromkeys(ENVIRONMENTS, 1)
"""Counts up when the default observation, actions or rewards change, each time with a line in the environment's history."""

FORMER: dict[str, dict[str, Any]] = {
    "Placement": {
        **{"observation": "full", "reward": "queue", "invalid": "wait"},
        **{"passing": True, "types": None, "choices": None},
    },
    "ServerFill": {
        **{"observation": "full", "reward": "queue", "invalid": "wait"},
        **{"passing": True, "types": None, "choices": None},
    },
    "Configuration": {"observation": "full", "reward": "queue", "invalid": "wait"},
    "JobFill": {
        **{"observation": "actions", "invalid": "wait", "reward": "completion"},
        **{"passing": True, "window": 32, "choices": None},
    },
}
"""The options that version 0 of an environment had by default, and version 1 has not."""

NORMALIZED = "Normalized"
"""Endings of ids up to 0.9 whose options are now those of the plain ids."""


def register(name: str, module: str) -> None:
    """Register an environment's module (with DEFINITION), also with Gymnasium."""
    ENVIRONMENTS[name] = module
    if REGISTRY in sys.modules:
        register_in(sys.modules[REGISTRY])


def find_definition(name: str) -> Definition:
    """Return an environment's definition (InputError with near names)."""
    return _definition_in(ENVIRONMENTS[kind_of(name)])


def _definition_in(module: str) -> Definition:
    definition: Definition | None = getattr(load(module), "DEFINITION", None)
    if definition is None:
        raise InputError(f"{module}: the module of an environment has a DEFINITION")
    return definition


def find_vector_class(name: str) -> type[BatchEnv]:
    """Return an environment's batch class (InputError with near names)."""
    return _class_of(ENVIRONMENTS[kind_of(name)], True)


def __getattr__(name: str) -> Any:
    """Return a class such as `ServerFill` or `ServerFillVector`."""
    kind = name.removesuffix("Vector")
    if kind not in ENVIRONMENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _class_of(ENVIRONMENTS[kind], name.endswith("Vector"))


@functools.cache
def _class_of(module: str, batched: bool) -> Any:
    definition = _definition_in(module)
    if batched:
        base, suffix = load("packenv.envs.interfaces.batched").BatchEnv, "Vector"
        text = f"A batch of `{definition.name}`: see there, and `BatchEnv`."
    else:
        base, suffix = load("packenv.envs.interfaces.single").SingleEnv, ""
        text = load("packenv.envs.documentation").documentation(definition)
    return type(definition.name + suffix, (base,), {"definition": definition, "__doc__": text, "__module__": __name__})


def kind_of(name: str) -> str:
    """Return the name in an id (InputError for unknown ones)."""
    plain, version = _parts(name)
    kind = plain.removesuffix(NORMALIZED)
    if kind not in ENVIRONMENTS:
        raise InputError(f"unknown environment {name!r}{nearest(kind, list(ENVIRONMENTS))}")
    if plain != kind or (version is not None and version != version_of(kind)):
        former(name)
    return kind


def former(id: str, **options: Any) -> None:
    """Raise InputError for a former id, with its replacement."""
    plain, version = _parts(id)
    kind = plain.removesuffix(NORMALIZED)
    text = f"{id}: write {id_of(kind)}"
    if plain == kind and version == 0 and kind in FORMER:
        text += "; its defaults were " + ", ".join(f"{key}={value!r}" for key, value in FORMER[kind].items())
    raise InputError(text)


def id_of(name: str) -> str:
    return f"packenv/{name}-v{version_of(name)}"


def version_of(name: str) -> int:
    """Return an environment's version, 0 for a user's own."""
    return VERSIONS.get(name, 0)


def _parts(name: str) -> tuple[str, int | None]:
    plain, _, version = (text := str(name).removeprefix("packenv/")).rpartition("-v")
    return (plain, int(version)) if plain and version.isdecimal() and version.isascii() else (text, None)


def register_all() -> None:
    """Register with Gymnasium now, or when it is imported."""
    if REGISTRY in sys.modules:
        register_in(sys.modules[REGISTRY])
    else:
        sys.meta_path.insert(0, RegisterOnImport())


def register_in(registration: ModuleType) -> None:
    """Register environments and former ids in an imported registry."""
    for kind in ENVIRONMENTS:
        if id_of(kind) not in registration.registry:
            registration.register(
                id_of(kind),
                entry_point=f"{__name__}:{kind}",  # not the module itself, which Gymnasium would import without the lock
                vector_entry_point=f"{__name__}:{kind}Vector",
            )
    for kind in FORMER:
        for id in (f"packenv/{kind}-v0", f"packenv/{kind}{NORMALIZED}-v1"):
            if id not in registration.registry:
                entry_point = f"{__name__}:former"
                registration.register(id, entry_point=entry_point, vector_entry_point=entry_point, kwargs={"id": id})


class RegisterOnImport:
    """An import hook that registers the environments with Gymnasium.

    Importing Gymnasium takes half a second, and `packenv.simulate` and most commands do not need it. Gymnasium no longer has
    entry points for environments.
    """

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
