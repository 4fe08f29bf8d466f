# toy_plugin.py: a policy, a kind of file and a command
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import packenv
from packenv.extend import (
    INPUT,
    Answer,
    Column,
    Count,
    InputError,
    Outputs,
    Table,
    numbers,
    option,
    options_of,
    output_options,
    read_number,
    read_text,
    reading,
)

WHAT = "a list of sizes"  # such a file in messages
COMMANDS = {"plan": "packenv sizes"}  # your command in place of one of packenv's


def is_mine(path: Path) -> bool:
    return path.suffix == ".sizes"


def sizes_in(path: str | Path) -> list[float]:
    with reading(path):  # a missing or damaged file is one line for the user
        lines = read_text(Path(path)).split()
    try:
        return [read_number(line) for line in lines]
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from None


def workload_of(path: str, resources: Any, slot_seconds: float, changes: dict[str, Any]) -> packenv.Workload:
    """Return one task a slot, five slots long, with the sizes of the file."""
    sizes = sizes_in(path)
    jobs = packenv.Jobs.of(range(len(sizes)), sizes, [5] * len(sizes))
    options: dict[str, Any] = {"servers": 1, "jobs": jobs, "name": Path(path).name} | changes
    return packenv.Workload(**options)


class NewestFirst:
    """The newest task that fits, on the first server with room."""

    name = "newest-first"

    def schedule(self, cluster: Any, state: Any) -> None:
        from packenv.cluster import fits, next_in_queue, oldest, place, server_count

        queue, task = [], oldest(cluster)
        while task >= 0:
            queue.append(task)
            task = next_in_queue(cluster, task)
        for task in reversed(queue):
            for server in range(server_count(cluster)):
                if fits(cluster, task, server):
                    place(cluster, task, server)
                    break


@dataclass(frozen=True)
class SizesOptions:
    """Options of the command."""

    most: Count = option(3, "Largest sizes to show.")


@click.command()
@click.argument("source", metavar="FILE.sizes", type=INPUT)
@options_of(SizesOptions)
@output_options("Write the sizes")
def sizes(source: str, options: SizesOptions, outputs: Outputs) -> None:
    """Show the largest sizes of a file."""
    outputs.check()
    largest = sorted(sizes_in(source), reverse=True)[: options.most]
    table = Table(f"largest sizes of {source}", [Column("place"), *numbers("size")])
    for place, size in enumerate(largest, 1):
        table.add(str(place), f"{size:g}")
    answer = Answer([table], [], [{"place": place, "size": size} for place, size in enumerate(largest, 1)])
    outputs.show(answer)
    outputs.write(answer)
