"""Run a notebook, and compare what it prints with what is stored in it."""

from __future__ import annotations

import copy
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

SECONDS = 1800  # that a cell may take at most, on a busy machine
PICTURE = "image/png"


class Difference(NamedTuple):
    """An output that is not what is stored. Cells count from 1, cells of text included."""

    notebook: str
    cell: int
    wanted: str
    found: str

    def __str__(self) -> str:
        stores = f"if that is right, `python -m tests.notebooks examples/{self.notebook}` stores it"
        return f"{self.notebook}, cell {self.cell}\nwanted:\n{self.wanted}\nfound:\n{self.found}\n({stores})"


def read(path: Path) -> Any:
    """The notebook at `path`. Raises what nbformat raises for a file that is none."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def executed(notebook: Any, folder: Path) -> Any:
    """The notebook with the outputs of a run in `folder`. After a cell that fails, and keeps its error, no cell has any."""
    fresh = copy.deepcopy(notebook)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}  # pictures go into the notebook
    client = NotebookClient(
        fresh,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
        startup_timeout=300,  # of the kernel, on a busy machine
    )
    with suppress(CellExecutionError):  # the error is an output of its cell
        client.execute(env=environment | {"IPYTHONDIR": str(folder / ".ipython"), "COLUMNS": "100"})
    return fresh


def shown(cell: Any) -> list[str]:
    """What a cell shows: texts that follow each other in one stream as one, and a word for each picture."""
    found: list[tuple[str, str]] = []
    for output in cell.get("outputs", []):
        kind, text = shown_output(output)
        if found and kind == found[-1][0] and output.output_type == "stream":
            found[-1] = kind, found[-1][1] + text
        else:
            found.append((kind, text))
    return [f"[{kind}] {text}" for kind, text in found]


def shown_output(output: Any) -> tuple[str, str]:
    """The kind of an output, and its text."""
    if output.output_type == "stream":
        return output.name, output.text
    if output.output_type == "error":
        return "error", f"{output.ename}: {output.evalue}"
    if PICTURE in output.data:
        return "picture", ""
    return "text", str(output.data.get("text/plain", ""))


def differences(name: str, stored: Any, found: Any) -> list[Difference]:
    """The cells of two runs of one notebook whose outputs differ; pictures need only be there.

    After a cell that failed, none has run, and none is compared.
    """
    unlike = []
    for number, (old, new) in enumerate(zip(stored.cells, found.cells, strict=True), 1):
        wanted, got = shown(old), shown(new)
        if wanted != got:
            unlike.append(Difference(name, number, "\n".join(wanted), "\n".join(got)))
        if any(text.startswith("[error]") for text in got):
            break
    return unlike


def cleaned(notebook: Any) -> Any:
    """The notebook as it is kept: with its outputs, without what depends on the machine or the moment."""
    clean = copy.deepcopy(notebook)
    clean.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(clean.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", {}
        for output in cell.get("outputs", []):
            if output.output_type in ("execute_result", "display_data"):
                output.metadata = {}
                if PICTURE in output.data:
                    output.data.pop("text/plain", None)  # <Figure size …>
    return clean
