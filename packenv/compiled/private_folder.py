"""Folders that only this user can write: what lies there may be unpickled."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

ENTER, WRITE = 0o011, 0o022  # the group's and the others' bits of a folder's mode


def only_ours(folder: Path) -> bool:
    """Whether nobody but this user and root can write to the folder, or put another one in its place."""
    if not hasattr(os, "getuid"):
        return True
    real = folder.resolve()
    others = ENTER  # who else gets here: the group, all others
    for place in (*reversed(real.parents), real):
        found = place.stat()
        others &= found.st_mode
        sticky = found.st_mode & stat.S_ISVTX and place != real  # nobody can rename what is another's
        if found.st_uid not in (0, os.getuid()) or (found.st_mode & (others << 1) and not sticky):
            return False
    return real.stat().st_uid == os.getuid()


def make_private(folder: Path) -> Path:
    """The folder, made if need be; one that others could write to is emptied first. Raises OSError."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and folder.lstat().st_mode & WRITE:
        shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
    return folder
