"""`packenv evaluate` as tests call it, and small traces for it."""

from __future__ import annotations

from pathlib import Path

from packenv.cli.main import main

PAPER = ("paper/fig4b", "--slots", "5000", "--processes", "1")


def evaluate(*arguments: object) -> None:
    main(["evaluate", *map(str, arguments)])


def trace(folder: Path, *rows: str, header: str = "arrival,size,service") -> Path:
    file = folder / "trace.csv"
    file.write_text("\n".join([header, *rows]) + "\n")
    return file


def files(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}
