"""Agents that come with packenv, described without loading them."""

from __future__ import annotations

from pathlib import Path

from packenv.inputs.json_files import read_json

PRETRAINED = Path(__file__).parent / "pretrained"


def pretrained_agents() -> list[str]:
    """Return the names of packenv's agents."""
    return sorted(file.stem for file in PRETRAINED.glob("*.json"))


def summary_of(agent: str) -> str:
    """Return a line on one of them."""
    about = read_json(PRETRAINED / f"{agent}.json")
    return str(about.get("summary", "learned"))
