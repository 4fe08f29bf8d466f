"""What a worker of a Ray cluster does first. The module is sent as it is, since a worker's packenv may be another version."""

from __future__ import annotations

import io
import pickle
import platform
from typing import Any

OTHER = "other version"


def work(versions: tuple[str, str, str], data: bytes, references: list[Any]) -> Any:
    """Make the call in `data`, or tell (OTHER, why) if this worker's packenv or Python is not that of `versions`.

    versions    packenv's version, the key of its sources, and Python's version
    references  to values of the cluster, which stand in `data` by their place
    """
    node = platform.node()
    try:
        from packenv.executors.versions import local_versions

        local = local_versions()
    except ImportError as error:
        return OTHER, f"node {node} has no packenv, or not {versions[0]}: {error}"
    if local[0] != versions[0]:
        return OTHER, f"node {node} has packenv {local[0]}, and {versions[0]} is wanted"
    if local[1] != versions[1]:
        return OTHER, f"node {node} has other sources of packenv {local[0]} than those that are wanted"
    if local[2].rpartition(".")[0] != versions[2].rpartition(".")[0]:
        return OTHER, f"node {node} has Python {local[2]}, and {versions[2]} is wanted"

    class Loader(pickle.Unpickler):
        def persistent_load(self, place: int) -> Any:
            return references[place]

    call, args, options = Loader(io.BytesIO(data)).load()
    return call(*args, **options)
