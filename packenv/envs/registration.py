"""The registry of environments, and their names for Gymnasium.

Gymnasium itself is not imported here, since that takes a hundred times as long as importing packenv.
"""

from __future__ import annotations

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
    "JobFill": "packenv.envs.job_fill",
}
"""Name → package, whose module `definition` has DEFINITION, and `environment` the classes NAME and NAMEVector."""


NORMALIZED = "Normalized"
"""What the names of environments end in whose options are those that other libraries learn from without being told any."""

COMMON_OPTIONS: dict[str, Any] = {"observation": "normalized", "reward": "size", "invalid": "nearest"}
OWN_OPTIONS: dict[str, dict[str, Any]] = {
    "ServerFill": {"passing": False, "types": 16, "choices": 2, "reward": "work"},
    "JobFill": {"passing": False, "window": 8, "reward": "completion"},
}
"""Those options: of all environments, and those of one that are different."""


def register(name: str, package: str) -> None:
    """Add an environment to the registry, and to Gymnasium's under its id."""
    ENVIRONMENTS[name] = package
    if REGISTRY in sys.modules:
        register_in(sys.modules[REGISTRY])


def find_definition(name: str) -> Definition:
    """The definition of an environment. Raises InputError for an unknown name, with the nearest ones."""
    found: Definition = load(f"{ENVIRONMENTS[kind_of(name)]}.definition").DEFINITION
    return found


def find_vector_class(name: str) -> type[BatchEnv]:
    """The class of a batch of environments. Raises InputError for an unknown name, with the nearest ones."""
    found: type[BatchEnv] = __getattr__(f"{kind_of(name)}Vector")
    return found


def __getattr__(name: str) -> Any:
    """The classes of the environments, `ServerFill` and `ServerFillVector`, imported when they are first used."""
    kind = name.removesuffix("Vector")
    if kind not in ENVIRONMENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(load(f"{ENVIRONMENTS[kind]}.environment"), name)


def kind_of(name: str) -> str:
    """ "ServerFill" of "ServerFill", "packenv/ServerFill-v0" or "packenv/ServerFillNormalized-v1".

    Raises InputError for an unknown name, with the nearest ones, and for another version than the present one.
    """
    plain, version = _parts(name)
    kind = plain.removesuffix(NORMALIZED)
    if kind not in ENVIRONMENTS:
        raise InputError(f"unknown environment {name!r}{nearest(kind, list(ENVIRONMENTS))}")
    if version is not None and version != version_of(plain):
        raise InputError(f"{name}: the version of this environment is now {id_of(plain)}")
    return kind


def full_name(name: str) -> str:
    """ "ServerFillNormalized" of itself or "packenv/ServerFillNormalized-v1"; "ServerFill" of "ServerFill". Raises InputError."""
    return kind_of(name) + (NORMALIZED if options_of(name) else "")


def id_of(name: str) -> str:
    """`packenv/ServerFillNormalized-v1` of `ServerFillNormalized`, in its present version."""
    return f"packenv/{name}-v{version_of(name)}"


def version_of(name: str) -> int:
    """Counts up when the default observation, actions or rewards change, each time with a line in the environment's history."""
    return 1 if name.endswith(NORMALIZED) else 0


def options_of(name: str) -> dict[str, Any]:
    """The options that a name stands for: those of NORMALIZED, if the name ends in it, otherwise none."""
    kind = kind_of(name)
    return normalized_options(kind) if _parts(name)[0] == kind + NORMALIZED else {}


def normalized_options(kind: str) -> dict[str, Any]:
    """The options of `KINDNormalized`."""
    return COMMON_OPTIONS | OWN_OPTIONS.get(kind, {})


def _parts(name: str) -> tuple[str, int | None]:
    """Name and version of an id; a name without a version stands for the present one."""
    plain, _, version = (text := str(name).removeprefix("packenv/")).rpartition("-v")
    return (plain, int(version)) if plain and version.isdecimal() and version.isascii() else (text, None)


def register_all() -> None:
    """Register the environments with Gymnasium now, or as soon as Gymnasium is imported."""
    if REGISTRY in sys.modules:
        register_in(sys.modules[REGISTRY])
    else:
        sys.meta_path.insert(0, Later())


def register_in(registration: ModuleType) -> None:
    """Register the environments in Gymnasium's registry, which has been imported."""
    for kind in ENVIRONMENTS:
        for name in (kind, kind + NORMALIZED):
            if id_of(name) not in registration.registry:
                registration.register(
                    id_of(name),
                    entry_point=f"{__name__}:{kind}",  # not the module itself, which Gymnasium would import without the lock
                    vector_entry_point=f"{__name__}:{kind}Vector",
                    kwargs=options_of(name),
                )


class Later:
    """An import hook that registers the environments once Gymnasium's registry has been imported."""

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
