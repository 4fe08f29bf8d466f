"""Keys of source code for the cache of machine code: a key changes with the code, not with comments and docstrings.

The machine code of a module depends on it and on the modules that it imports, of packenv or of a user. A digest of each file's
syntax tree is kept on disk, so that a file is parsed again only when it has changed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent
NO_RESULT = {"cli", "runs", "studies"}  # folders of the package on which no run of the simulator depends
INSTALLED = tuple({str(Path(sysconfig.get_paths()[name]).resolve()) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
MEMORY = "sources.json"


class Source(NamedTuple):
    """The digest and imports of a file in one version."""

    stamp: list[int]  # times of its last change, nanoseconds, and size, bytes
    digest: str
    imports: list[str]  # imported names: modules, and names in them that may be modules


_when_imported: dict[str, tuple[Any, list[int]]] = {}  # by file: the module's spec, and the file's stamp when it was first seen
_known: dict[str, Source] = {}


def stamp_of(file: str) -> list[int]:
    """Times of a file's last changes, in nanoseconds, and its size in bytes."""
    found = Path(file).stat()
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size]


def note(module: str) -> None:
    """Record the stamp of a module's file when it is imported, to detect later that the file differs from the loaded code."""
    loaded = sys.modules.get(module)
    file, spec = getattr(loaded, "__file__", None), getattr(loaded, "__spec__", None)
    if file is not None and (file not in _when_imported or _when_imported[file][0] is not spec):  # new, or imported again
        with suppress(OSError):
            _when_imported[file] = spec, stamp_of(file)


def has_file(module: str) -> bool:
    """Whether a loaded module was read from a file, rather than typed at a prompt."""
    return Path(getattr(sys.modules.get(module), "__file__", None) or "").is_file()


def is_ours(module: ModuleType) -> bool:
    """Whether a module lies inside this package, wherever that is installed."""
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve().is_relative_to(PACKAGE)


def key_of(modules: Iterable[str], folder: Path) -> str:
    """The key of these loaded modules and all that they import; digests of files are kept in `folder`."""
    digest = hashlib.sha256()
    for name, source in sorted(sources_of(modules, folder).items()):
        digest.update(f"{name} {source.digest}\n".encode())
    return digest.hexdigest()[:16]


def key_of_package(folder: Path) -> str:
    """The key of all sources of packenv on which a result may depend, whether they are loaded or not."""
    _recall(folder)
    digest, known = hashlib.sha256(), dict(_known)
    for file in sorted(PACKAGE.rglob("*.py")):
        within = file.relative_to(PACKAGE)
        if within.parts[0] not in NO_RESULT:
            source = _look_at(str(file), ".".join(("packenv", *within.with_suffix("").parts)))
            digest.update(f"{within} {source.digest}\n".encode())
    if _known != known:
        _remember(folder)
    return digest.hexdigest()[:16]


def sources_of(modules: Iterable[str], folder: Path) -> dict[str, Source]:
    """The sources of these loaded modules and of all modules that they import, by module name.

    Installed modules of other packages are left out, since their versions identify them.
    """
    _recall(folder)
    found: dict[str, Source] = {}
    known = dict(_known)
    ahead = list(modules)
    own = {name.partition(".")[0] for name in ahead}
    if own != {"packenv"}:
        ahead.append("packenv.cluster")  # a user's module may call it through `packenv`
    while ahead:
        name = ahead.pop()
        file = getattr(sys.modules.get(name), "__file__", None)
        if name in found or file is None or not file.endswith(".py"):
            continue
        if file.startswith(INSTALLED) and name.partition(".")[0] not in {*own, "packenv"}:
            continue
        found[name] = _look_at(file, name)
        ahead += found[name].imports
    if _known != known:
        _remember(folder)
    return found


def _look_at(file: str, name: str) -> Source:
    """The digest and imports of a module's file, parsed if it is not known in this version."""
    note(name)
    now = stamp_of(file)
    stamp = _when_imported[file][1] if file in _when_imported else now
    known = _known.get(file)
    if known is not None and known.stamp == stamp:
        return known
    if stamp != now:  # changed since it was imported: only this process has the loaded code
        return Source(stamp, f"{file} {os.getpid()} {stamp}", [] if known is None else known.imports)
    package = name if Path(file).name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(Path(file).read_bytes())
    source = Source(stamp, digest_of(tree), sorted(imported(tree, package)))
    _known[file] = source
    return source


def digest_of(tree: ast.Module) -> str:
    """A hash of the code, without comments, docstrings and line numbers."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            del body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Names of modules that the code imports, and of names imported from them, which may be modules too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
                module = f"{above}.{module}".rstrip(".")
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _recall(folder: Path) -> None:
    """Read the digests kept in `folder`, once."""
    if not _known:
        with suppress(OSError, ValueError, TypeError, AttributeError):  # the file is missing or malformed
            kept = json.loads((folder / MEMORY).read_text())
            _known.update({file: Source(*source) for file, source in kept.items()})


def _remember(folder: Path) -> None:
    """Write the digests of existing files to `folder`."""
    kept = {file: source for file, source in _known.items() if Path(file).is_file()}
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
        json.dump(kept, file)
    Path(file.name).replace(folder / MEMORY)
