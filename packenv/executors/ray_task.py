"""A Ray worker's first steps, sent whole between versions."""

from __future__ import annotations

import io
import pickle
import platform
from typing import Any

OTHER = "other version"


def work(versions: tuple[str, str, str], data: bytes, references: list[Any]) -> Any:
    """Make the call in `data`, or return (OTHER, why).

    versions    packenv's version, the key of its sources, and Python's version
    references  to values of the cluster, by their place in `data`
    """
    node = platform.node()
    try:
        from packenv.executors.shared import local_versions

        local = local_versions()
    except ImportError as error:
        return OTHER, f"node {node} has no packenv, or not {versions[0]}: {error}"
    if local[0] != versions[0]:
        return OTHER, f"node {node} has packenv {local[0]}, not {versions[0]}"
    if local[1] != versions[1]:
        return OTHER, f"node {node} has other sources of packenv {local[0]} than this process"
    if local[2].rpartition(".")[0] != versions[2].rpartition(".")[0]:
        return OTHER, f"node {node} has Python {local[2]}, not {versions[2]}"

    # Load the call, with its references to values of the cluster.
    class Loader(pickle.Unpickler):
        def persistent_load(self, place: int) -> Any:
            return references[place]

    call, args, options = Loader(io.BytesIO(data)).load()
    return call(*args, **options)
