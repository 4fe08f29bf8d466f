"""Keys of source code, for machine code and logs.

They change with the code, not with comments and docstrings. A module's key depends on it and on all its imports: modules of
packenv and of users by their code, installed ones by their version. Digests of syntax trees are stored on disk, so only changed
files are parsed again.

A hash of all files would be worse. Of 182 commits that changed Python in packenv, 130 did not change the code of the usual
policies and ServerFill. A hash would have recompiled it, for 20 to 40 s of processor.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import site
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from packenv.errors import InputError
from packenv.files import write_json

PACKAGE = Path(__file__).resolve().parent.parent
LIBRARIES = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
LIBRARIES += [*site.getsitepackages(), site.getusersitepackages()]
INSTALLED = tuple({os.path.realpath(folder) + os.sep for folder in LIBRARIES})
FOLDERS_OF_PACKAGES = {"site-packages", "dist-packages"}  # also those of other environments, which a .pth file may add
MEMORY = "sources-3.json"  # 3: what functions import, apart


class Source(NamedTuple):
    """The digest and imports of a file in one version."""

    stamp: list[int]  # times of its last change, nanoseconds, and size, bytes
    digest: str
    imports: list[str]  # imported names: modules, and names in them that may be modules
    later: list[str]  # those that functions import when they run, and lazy names of a package


_when_imported: dict[str, tuple[Any, list[int]]] = {}  # by file: the module's spec, and the file's stamp when it was first seen
_sources: dict[str, Source] = {}
_specs: dict[str, Any] = {}  # of modules that are not loaded
_installed: set[str] = set()  # first names that were found to be installed
_parsing = threading.Lock()  # Python 3.11 counts the depth of the trees of all threads together: SystemError


def stamp_of(file: str) -> list[int]:
    """Return a file's change times (ns) and size (bytes)."""
    status = Path(file).stat()
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_size]


def note(module: str) -> None:
    """Record a file's stamp at import, to detect later changes."""
    loaded = sys.modules.get(module)
    file, spec = getattr(loaded, "__file__", None), getattr(loaded, "__spec__", None)
    if file is not None and (file not in _when_imported or _when_imported[file][0] is not spec):  # new, or imported again
        with suppress(OSError):
            _when_imported[file] = spec, stamp_of(file)


def has_file(module: str) -> bool:
    return Path(getattr(sys.modules.get(module), "__file__", None) or "").is_file()


def is_ours(module: ModuleType) -> bool:
    """Return whether a module lies inside this package."""
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve().is_relative_to(PACKAGE)


def key_of(modules: Iterable[str], folder: Path, loaded: bool = True) -> str:
    """Return the key of these modules and all their imports.

    folder  stores digests of files
    loaded  count only imports that packenv's modules make when they are loaded, the basis of machine code. So a policy is
    compiled once, whatever else was loaded before. False: also count imports inside packenv's functions
    """
    digest = hashlib.sha256()
    for name, source in sorted(sources_of(modules, folder, loaded).items()):
        digest.update(f"{name} {source.digest}\n".encode())
    return digest.hexdigest()[:16]


def key_of_package(folder: Path) -> str:
    """Return the key of all sources of packenv."""
    _recall(folder)
    digest, before = hashlib.sha256(), dict(_sources)
    for file in sorted(PACKAGE.rglob("*.py")):
        within = file.relative_to(PACKAGE)
        source = _look_at(str(file), ".".join(("packenv", *within.with_suffix("").parts)))
        digest.update(f"{within} {source.digest}\n".encode())
    if _sources != before:
        _remember(folder)
    return digest.hexdigest()[:16]


def sources_of(modules: Iterable[str], folder: Path, loaded: bool = True) -> dict[str, Source]:
    """Return the sources of these modules and their imports.

    `loaded` as in `key_of`. Other installed packages stand under their first name, with their version in place of a digest.
    """
    _recall(folder)
    sources: dict[str, Source] = {}
    before = dict(_sources)
    ahead = list(modules)
    inside = {"packenv", *(name.partition(".")[0] for name in ahead)}
    if inside != {"packenv"}:
        ahead.append("packenv.cluster")  # a user's module may call it through `packenv`
    # Follow the imports from module to module.
    while ahead:
        name = ahead.pop()
        first = name.partition(".")[0]
        if name in sources:
            continue
        # An installed package counts by its version.
        if first not in inside and is_installed(first):
            sources[first] = Source([], version_of(first), [], [])
            continue
        # Others count by their code, and by all that they import.
        file = file_in_package(PACKAGE, name) if first == "packenv" and not loaded else file_of(name)
        if file is None:
            continue
        sources[name] = _look_at(file, name)
        ahead += sources[name].imports
        if first != "packenv" or not loaded:
            ahead += sources[name].later
        if first != "packenv" and name != first:
            ahead.append(name.rpartition(".")[0])  # a package is imported before what lies in it
    if _sources != before:
        _remember(folder)
    return sources


def is_installed(first: str) -> bool:
    """Return whether a first name is installed, or Python's own."""
    if first in sys.stdlib_module_names or first in _installed:
        return True
    file = file_of(first)
    if file is None:
        return False
    path = os.path.realpath(file)
    if not path.startswith(INSTALLED) and FOLDERS_OF_PACKAGES.isdisjoint(Path(path).parts):
        return False
    _installed.add(first)
    return True


def file_of(name: str) -> str | None:
    """Return a module's file, without importing it, or None."""
    loaded = sys.modules.get(name)
    if loaded is not None or name.partition(".")[0] == "packenv":
        return getattr(loaded, "__file__", None)
    above, _, _ = name.rpartition(".")
    folders: Any = [*sys.path, str(Path.cwd())]
    if above:
        package = sys.modules.get(above)
        spec = package.__spec__ if package is not None else _specs.get(above)
        folders = getattr(spec, "submodule_search_locations", None)
    if folders is None or name in sys.builtin_module_names:
        return None
    with suppress(ImportError, ValueError, AttributeError, KeyError):  # KeyError: below a namespace that is not loaded
        _specs[name] = PathFinder.find_spec(name, [*folders])
        return getattr(_specs[name], "origin", None)
    return None


@functools.cache
def file_in_package(package: Path, name: str) -> str | None:
    """Return a module's file below packenv's folder `package`, or None."""
    place = package.joinpath(*name.split(".")[1:])
    files = (place.with_suffix(".py"), place / "__init__.py") if place != package else (place / "__init__.py",)
    return next((str(file) for file in files if file.is_file()), None)


@functools.cache
def version_of(first: str) -> str:
    """Return a first name's package and version, or Python's."""
    if first not in sys.stdlib_module_names:
        with suppress(metadata.PackageNotFoundError):
            return f"{first} {metadata.version(first)}"
        names = metadata.packages_distributions().get(first)
        if names:
            return " ".join(f"{name} {metadata.version(name)}" for name in sorted(set(names)))
    return f"Python {sys.version}"


def _look_at(file: str, name: str) -> Source:
    """Return a file's source, parsed if this version is new."""
    note(name)
    try:
        now = stamp_of(file)
    except OSError:  # it is gone, or lies in an archive: only this process has the loaded code
        return Source([], f"{file} {os.getpid()}", [], [])
    stamp = _when_imported[file][1] if file in _when_imported else now
    earlier = _sources.get(file)
    if earlier is not None and earlier.stamp == stamp:
        return earlier
    if stamp != now:  # changed since it was imported: only this process has the loaded code
        known = ([], []) if earlier is None else (earlier.imports, earlier.later)
        return Source(stamp, f"{file} {os.getpid()} {stamp}", *known)
    package = name if Path(file).name == "__init__.py" else name.rpartition(".")[0]
    source = read_source(file, stamp, package)
    _sources[file] = source
    return source


def read_source(file: str, stamp: list[int], package: str) -> Source:
    """Return digest and imports of a file."""
    code = Path(file).read_bytes()
    if file.endswith(".py"):
        with suppress(SyntaxError, ValueError):
            with _parsing:
                tree = ast.parse(code)
            imports = set(imported(tree, package))
            later = set(imported(tree, package, later=True, lazy_names=Path(file).name == "__init__.py")) - imports
            return Source(stamp, digest_of(tree), sorted(imports), sorted(later))
    return Source(stamp, hashlib.sha256(code).hexdigest()[:16], [], [])


def digest_of(tree: ast.Module) -> str:
    """Hash the code, without comments, docstrings and line numbers."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            del body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def imported(tree: ast.Module, package: str, later: bool = False, lazy_names: bool = False) -> Iterator[str]:
    """Yield imported names: modules, and names that may be modules.

    later       also imports inside functions
    lazy_names  also imports for type checkers, which are lazy names in a package
    """
    ahead: list[ast.AST] = [tree]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.If) and not lazy_names and ast.unparse(node.test) == "TYPE_CHECKING":
            ahead += node.orelse
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not later:
            continue
        ahead += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
                module = f"{above}.{module}".rstrip(".")
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith(("import_module", "__import__")):
            if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                yield node.args[0].value


def _recall(folder: Path) -> None:
    """Read the digests kept in `folder`, once."""
    if not _sources:
        with suppress(OSError, ValueError, TypeError, AttributeError):  # the file is missing or malformed
            kept = json.loads((folder / MEMORY).read_text(encoding="utf-8"))
            for file, (stamp, digest, imports, later) in kept.items():
                if isinstance(digest, str) and all(isinstance(name, str) for name in (*imports, *later)):
                    _sources[file] = Source(stamp, digest, imports, later)


def _remember(folder: Path) -> None:
    kept = {file: source for file, source in dict(_sources).items() if Path(file).is_file()}
    with suppress(InputError):
        write_json(folder / MEMORY, kept)
