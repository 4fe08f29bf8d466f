"""The examples of every command's help, and a folder with the files that they name."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from packenv.cli.main import COMMANDS, Commands


def commands() -> Iterator[tuple[list[str], click.Command]]:
    """Every command that does something, with the words that call it."""
    group = Commands("packenv")
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield from (([name, inner], below) for inner, below in getattr(command, "commands", {}).items())
        if not hasattr(command, "commands"):
            yield [name], command


def examples() -> list[str]:
    """The lines `packenv …` of every help, as they stand but for what goes into a file of the user's shell."""
    lines = [line.strip() for _, command in commands() for line in (command.help or "").splitlines()]
    return [line.partition(" >> ")[0] for line in lines if line.startswith("packenv ")]


def words_of(example: str) -> list[str]:
    return shlex.split(example)[1:]


def write_files(folder: Path) -> None:
    """A trace of 600 tasks, as two names."""
    rng = np.random.default_rng(0)
    columns = {
        "submit_time_s": np.sort(rng.uniform(0, 3000, 600)).round(1),
        "duration_s": rng.exponential(60, 600).round(1) + 1,
        "cpu": rng.integers(1, 10, 600) / 10,
        "memory": rng.integers(1, 5, 600) / 10,
    }
    pq.write_table(pa.table(columns), folder / "trace.parquet")
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    (folder / "tasks.csv").write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)][:61]) + "\n")
    times = [f"{n},{n + 1},{n + 3}" for n in range(60)]
    ours = "submit_time_s,start_time_s,end_time_s"
    for name, head in (("jobs", "Submit,Start,End"), ("rate-2", ours), ("rate-4", ours)):
        (folder / f"{name}.csv").write_text("\n".join([head, *times]) + "\n")
