"""A suite: workloads for search (train) and grading (test), in JSON.

    {"name": "mine", "about": "in a line", "reference": "bf-js",
     "train": [{"workload": "paper/fig4b", "intensity": 0.95, "slots": 100000}],
     "test": [{"workload": {"sizes": …, "service": …, "servers": …}, "load": 0.9, "slots": 100000},
              {"workload": "log.swf", "window": 256}]}

A workload is a name, a file (in the suite's folder, or a path), or an object as written by `packenv.Workload.save`. `servers` and
one of `load`, `intensity` and `rate` change it. `window`: number of consecutive table tasks, from a place drawn for each run.
`estimate_error`: schedulers see a table's durations with up to this share of error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packenv import Workload
from packenv.extend import INTENSITIES, InputError, at_a_rate, find_policy, finite_number, misjudged, nearest, read_json

FOLDER = Path(__file__).parent / "suites"
KEYS, CASE_KEYS = (
    ("name", "about", "reference", "train", "test"),
    ("workload", "servers", *INTENSITIES, "slots", "window", "estimate_error"),
)
SLOTS = 100_000
MOST_LETTERS = 20  # of servers, in a title


@dataclass(frozen=True)
class Case:
    """A suite's workload. `slots`: its length, None for a table."""

    title: str
    workload: Workload
    slots: int | None


@dataclass(frozen=True)
class Suite:
    """A suite's workloads: `train` for search, `test` unseen by it."""

    name: str
    about: str
    reference: str
    train: tuple[Case, ...]
    test: tuple[Case, ...]


def suite_names() -> list[str]:
    """List packenv's suites."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load_suite(source: str) -> Suite:
    """Load a suite by name or file. Raises InputError."""
    path = Path(source) if source.endswith(".json") or "/" in source else FOLDER / f"{source}.json"
    if not path.is_file():
        missing = (
            f"{path}: no such file" if path.parent != FOLDER else f"unknown suite {source!r}{nearest(source, suite_names())}"
        )
        raise InputError(f"{missing} (or a file *.json)" if path.parent == FOLDER else missing)
    where = source if path.parent == FOLDER else str(path)
    plain = read_json(path)
    if not isinstance(plain, dict) or not isinstance(plain.get("train"), list) or not plain["train"]:
        raise InputError(f"{where}: a suite is an object with a list `train` of workloads; keys {', '.join(KEYS)}")
    _check_keys(plain, KEYS, where)
    sides = {side: plain.get(side, []) for side in ("train", "test")}
    for side, cases in sides.items():
        if not isinstance(cases, list):
            raise InputError(f"{where}: {side}: a list of workloads")
    texts = {key: plain.get(key, default) for key, default in (("name", path.stem), ("about", ""), ("reference", "bf-js"))}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{where}: {key}: a text, not {text!r}")
    find_policy(texts["reference"])
    train, test = (
        tuple(_case(case, f"{where}: {side}[{n}]", path.parent) for n, case in enumerate(cases)) for side, cases in sides.items()
    )
    return Suite(**texts, train=train, test=test)


def _check_keys(plain: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in plain:
        if key not in known:
            raise InputError(f"{where}: unknown key {key!r}{nearest(key, known)}")


def _case(plain: Any, where: str, folder: Path) -> Case:
    """Return one case of a suite. InputErrors begin with `where`."""
    if not isinstance(plain, dict) or "workload" not in plain:
        raise InputError(f"{where}: names no workload; keys {', '.join(CASE_KEYS)}")
    _check_keys(plain, CASE_KEYS, where)
    changes = {key: plain[key] for key in ("servers", *INTENSITIES) if key in plain}
    try:
        workload = _workload(plain["workload"], changes, folder, where)
        if workload.jobs is not None and workload.jobs.gang is not None:  # candidates start tasks one by one
            workload = workload.with_(jobs=replace(workload.jobs, gang=None))
        for key in ("slots", "window"):
            if key in plain and (type(plain[key]) is not int or plain[key] < 1):
                raise InputError(f"{key} must be a whole number of at least 1, not {plain[key]!r}")
        window = plain.get("window")
        if window is not None:
            if workload.jobs is None or window > len(workload.jobs):
                raise InputError("window needs a table with at least that many tasks")
            workload = workload.windows(window)
        if "estimate_error" in plain:
            workload = misjudged(workload, finite_number(plain["estimate_error"]))
        if workload.jobs is not None and "slots" in plain:
            raise InputError("slots go with random tasks: a table runs until all work is done")
    except ValueError as problem:
        raise problem if str(problem).startswith(where) else InputError(f"{where}: {problem}") from None
    if len(str(changes.get("servers", ""))) > MOST_LETTERS:
        changes["servers"] = f"{len(workload.servers)}"
    given = "".join(f", {key} {value}" for key, value in changes.items())
    title = f"{workload.name}{given}" + (f", {window} tasks" if window else "")
    return Case(title, workload, plain.get("slots", SLOTS) if workload.jobs is None else None)


def _workload(source: Any, changes: dict[str, Any], folder: Path, where: str) -> Workload:
    if isinstance(source, dict):
        return at_a_rate(Workload.from_dict(source | changes, f"{where}: workload"))
    if not isinstance(source, str):
        raise InputError(f"workload is a name, a file or an object, not {source!r}")
    beside = folder / source
    return at_a_rate(str(beside) if beside.is_file() else source, **changes)
