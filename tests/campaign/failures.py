"""What went wrong, each once: a small file and a command that shows it again, in a folder."""

from __future__ import annotations

import shutil
import traceback
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Failures:
    """Failures below `folder`, by what makes them the same: where it happened and how."""

    folder: Path
    seen: set[str] = field(default_factory=set)

    def add(self, what: str, command: str, details: str, file: Path | None = None) -> bool:
        """Keep a failure unless the same is kept already; returns whether it was new. `{}` in `command` stands for the file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.seen |= {path.read_text().partition("\n")[0] for path in self.folder.glob("*.txt")}  # of processes beside this one
        if what in self.seen:
            return False
        self.seen.add(what)
        number = len([*self.folder.glob("*.txt")])
        if file is not None and file.exists():
            kept = self.folder / f"{number:03d}-{file.name}"
            shutil.copy(file, kept)
            command = command.replace("{}", str(kept))
        (self.folder / f"{number:03d}.txt").write_text(f"{what}\n\n{command}\n\n{details}\n")
        print(f"FAILURE {number:03d}: {what}\n  {command}", flush=True)
        return True


def place_of(error: BaseException) -> str:
    """Type of an exception and the innermost line of packenv that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "packenv" in Path(frame.filename).parts]
    last = frames[-1] if frames else None
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}" if last else type(error).__name__
