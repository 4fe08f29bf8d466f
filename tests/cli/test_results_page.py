"""Every field of the commands' JSON is on the page of results."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from packenv.cli.main import main

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGES = [(FOLDER / name).read_text(encoding="utf-8") for name in ("results.md", "results_of_commands.md")]

COMMANDS = {
    "evaluate": "evaluate paper/fig3a --slots 500 -p bf-js --seeds 2",
    "compare": "compare bf-js fifo-ff paper/fig3a --slots 500 --seeds 2 --time 1",
    "capacity": "capacity paper/fig3a",
    "bound": "bound paper/fig4b",
    "judge": "judge paper/fig3a -p bf-js --seeds 1 --width 0.4",
    "leaderboard": "leaderboard -w paper/fig3a@rate=0.014 -p bf-js --seeds 2 --slots 500 --no-judge -w price/fig8",
    "plan": "plan paper/fig4b --rate 0.05 --slots 2000 --seeds 2 -p bf-js",
    "optimum": "optimum price/fig2 --limit 1 -p fifo",
    "reproduce": "reproduce fig2 --quick",
}

PARTS = {"compare": ["sides"]}
"""Fields that are lists of records."""


def section(command: str) -> str:
    """What the page says of a command's JSON. The fields of `evaluate` have a page of their own."""
    if command == "evaluate":
        return PAGES[0]
    parts = [part for page in PAGES for part in page.split("\n## ")]
    return next(part for part in parts if f"Of `{command}`" in part.split("\n")[0])


@pytest.mark.parametrize("command", COMMANDS)
def test_fields_are_on_the_page(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(SystemExit):  # `compare` says its verdict by it
        main([*COMMANDS[command].split(), "--json", "out.json"])
    found = json.loads((tmp_path / "out.json").read_text())
    records = found if isinstance(found, list) else [found]
    parts = [part for record in records for name in PARTS.get(command, ()) for part in record[name]]
    fields = {key for record in (*records, *parts) for key in record} - {"interval"}
    told = set(re.findall(r"`([\w ]+)`", section(command)))
    assert fields <= told, f"no page has the fields {sorted(fields - told)} of {command}"
