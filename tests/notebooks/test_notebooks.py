"""The notebooks in `examples` print what is stored in them, and have a picture where one is stored."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.notebooks.running import PICTURE, cleaned, differences, executed, read, shown

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
FAST = ("maximum_workload.ipynb",)
"""Those that run in the default suite."""

LONG = ("clean_ppo.ipynb",)


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    if name in LONG:
        return [pytest.mark.slow, pytest.mark.minutes]
    return [] if name in FAST else [pytest.mark.slow]


def marked(path: Path) -> Any:
    return pytest.param(path, id=path.stem, marks=marks_of(path.name))


@pytest.mark.parametrize("path", [marked(path) for path in NOTEBOOKS])
def test_outputs_are_what_is_stored(path: Path, tmp_path: Path) -> None:
    stored = read(path)
    unlike = differences(path.name, stored, executed(stored, tmp_path))
    assert not unlike, "\n\n".join(map(str, unlike))


def test_there_are_six() -> None:
    assert len(NOTEBOOKS) >= 6
    assert {path.name for path in NOTEBOOKS} >= set(FAST)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_stored_clean(path: Path) -> None:
    """It begins with its only title, every cell has run in order, none failed, and nothing of the machine is in it."""
    notebook = read(path)
    assert notebook == cleaned(notebook)
    assert notebook.cells[0].source.startswith("# ")
    titles = [line for cell in notebook.cells if cell.cell_type == "markdown" for line in cell.source.splitlines()]
    assert sum(line.startswith("# ") for line in titles) == 1
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any(PICTURE in output.get("data", {}) for cell in code for output in cell.outputs)
    assert not [text for cell in code for text in shown(cell) if text.startswith(("[error]", "[stderr]")) or "/tmp" in text]


def notebook_of(*cells: str) -> Any:
    """A notebook with a title and these cells of code."""
    return new_notebook(cells=[new_markdown_cell("# Title"), *map(new_code_cell, cells)])


def test_a_doctored_output_is_found(tmp_path: Path) -> None:
    run = executed(notebook_of("print('two')\nprint('lines')", "1 + 1"), tmp_path)
    assert differences("a.ipynb", run, executed(run, tmp_path)) == []
    doctored = copy.deepcopy(run)
    doctored.cells[2].outputs[0].data["text/plain"] = "3"
    (found,) = differences("a.ipynb", doctored, executed(doctored, tmp_path))
    assert (found.notebook, found.cell, found.wanted, found.found) == ("a.ipynb", 3, "[text] 3", "[text] 2")
    assert "a.ipynb, cell 3" in str(found)


def test_a_failing_cell_is_found(tmp_path: Path) -> None:
    """It is the only difference: the cells after it have not run."""
    run = executed(notebook_of("print(1)", "print(2)"), tmp_path)
    run.cells[1].source = "1 / 0"
    (found,) = differences("a.ipynb", run, executed(run, tmp_path))
    assert (found.cell, found.wanted, found.found) == (2, "[stdout] 1\n", "[error] ZeroDivisionError: division by zero")


def test_pictures_must_be_there() -> None:
    """Pictures may differ, but not be missing or too many; how a stream is cut into pieces does not count."""

    def drawn(*outputs: Any) -> Any:
        notebook = notebook_of("draw()")
        notebook.cells[1].outputs = list(outputs)
        return notebook

    one, other = (new_output("display_data", data={PICTURE: data}) for data in ("aaaa", "bbbb"))
    text = new_output("stream", name="stdout", text="a\nb\n")
    pieces = [new_output("stream", name="stdout", text=piece) for piece in ("a\n", "b\n")]
    assert differences("a.ipynb", drawn(one, text), drawn(other, *pieces)) == []
    assert [found.cell for found in differences("a.ipynb", drawn(one), drawn())] == [2]
    assert [found.cell for found in differences("a.ipynb", drawn(), drawn(one))] == [2]
