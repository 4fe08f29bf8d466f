"""`packenv doctor`: installed parts, machine code, and problems."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata, resources
from typing import Any

import click
from packaging.requirements import InvalidRequirement, Requirement

from packenv.cli.options.of_fields import JSON
from packenv.cli.outputs import check_files
from packenv.errors import InputError, install_command
from packenv.executors.local import usable_cores
from packenv.files import write_json
from packenv.inputs.memory import GB, machine_memory, memory_limit
from packenv.plugins import installed

REQUIRED = ("numba", "llvmlite", "numpy", "scipy", "highspy", "gymnasium", "pyarrow", "matplotlib")
OPTIONAL = ("torch", "stable-baselines3", "sb3-contrib", "tensorboard", "ortools", "minari", "ray", "moviepy", "pygame")
FOR_DEVELOPERS = "dev"  # an extra for developers only
LONG = 2.0  # seconds of the compiler for a few lines, above which a first run takes minutes


@click.command()
@click.option("--json", "json_path", type=JSON, help="Write all of it as JSON.")
def doctor(json_path: str | None) -> None:
    """Show versions, the cache of machine code, the compiler's speed, cores and memory, and which optional parts are missing.

    The exit status is 1 if something must be repaired.
    """
    check_files(json_path)
    from rich.console import Console

    console, findings = Console(soft_wrap=True, highlight=False), dict[str, Any]()
    for examine in (installation, machine_code):  # the second waits for the compiler
        findings |= (section := examine())
        for heading, line in lines_of(section):
            console.print(f"{heading:<10} {line}", markup=False)
    for problem in findings["problems"]:
        console.print(f"problem    {problem}", style="red", markup=False)
    if json_path is not None:
        write_json(json_path, findings)
    if findings["problems"]:
        raise click.exceptions.Exit(1)


def installation() -> dict[str, Any]:
    """Return installed versions, None if missing, and the machine."""
    return {
        "packenv": _version("packenv"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "untested": untested(),
        "required": {name: _version(name) for name in REQUIRED},
        "optional": {name: _version(name) for name in OPTIONAL},
        "plugins": installed()[0],
        "cores": {"machine": os.cpu_count(), "usable": usable_cores(), "load": _load()},
        "memory": {"machine": machine_memory(), "reading": _limit()},
        "missing": [
            {"extra": name, "needs": needs, "command": install_command(name)} for name, needs in missing_extras().items()
        ],
    }


def untested() -> dict[str, dict[str, Any]]:
    """Return versions of Python and libraries that were not tested.

    Each with the version here, and the tested ones.
    """
    tested = json.loads(resources.files("packenv.cli").joinpath("tested.json").read_text())
    here = {name: platform.python_version().rpartition(".")[0] if name == "python" else _version(name) for name in tested}
    return {
        name: {"version": version, "tested": tested[name]}
        for name, version in here.items()
        if version is not None and version.partition("+")[0] not in tested[name]
    }


def machine_code() -> dict[str, Any]:
    """Return the cache of machine code, the compiler's speed, and problems."""
    from packenv.compiled.cache import cache_health, compiler_seconds

    cache, seconds = cache_health(), compiler_seconds()
    problems = []
    if not cache.writable:
        problems.append(f"{cache.folder} cannot be written: every process compiles again; set PACKENV_CACHE to a writable folder")
    if seconds > LONG:
        problems.append(f"the compiler takes {seconds:.1f} s for a few lines: the machine is slow or busy")
    problems += [f"{requirement} is needed, not {version or 'there'}" for requirement, version in unmet(None)]
    problems += installed()[1]
    return {"cache": cache._asdict(), "compiler": {"seconds": round(seconds, 3)}, "problems": problems}


def lines_of(findings: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the headings and texts of an installation or of machine code."""
    if "cache" in findings:
        cache = findings["cache"]
        volume = f"{cache['functions']:,} functions, {cache['megabytes']:,} MB"
        locks = "" if cache["locks"] else "; no locks there, so several processes compile the same functions"
        return [
            ("cache", f"{cache['folder']} of {cache['owner']} ({cache['chosen_by']}): {volume}{locks}"),
            ("compiler", f"{findings['compiler']['seconds']:.2f} s for a loop of three lines"),
        ]
    cores, memory = findings["cores"], findings["memory"]
    optional = {name: version for name, version in findings["optional"].items() if version}
    other = [f"{name} {item['version']} ({', '.join(item['tested'])})" for name, item in findings["untested"].items()]
    tested = ("untested", f"{', '.join(other)}: tested versions in parentheses") if other else ("tested", "all of these versions")
    busy = "" if cores["load"] is None else f", load {cores['load']:.1f}"
    reading = "" if memory["reading"] is None else f", with up to {memory['reading'] / GB:.1f} GB"
    return [
        ("packenv", f"{findings['packenv']} on Python {findings['python']}, {findings['system']}"),
        ("with", _listed(findings["required"])),
        ("optional", _listed(optional) or "none"),
        *([("plug-ins", _listed(findings["plugins"]))] if findings["plugins"] else []),
        tested,
        ("cores", f"{cores['usable']} of {cores['machine']}{busy}"),
        ("memory", f"{memory['machine'] / GB:.1f} GB{reading}"),
        *(("missing", f"{extra['extra']}: {', '.join(extra['needs'])}: {extra['command']}") for extra in findings["missing"]),
    ]


def _listed(versions: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())


def missing_extras() -> dict[str, list[str]]:
    """Return the unmet requirements by incomplete optional extra."""
    names = metadata.metadata("packenv").get_all("Provides-Extra") or []
    unmet_needs = {name: [requirement for requirement, _ in unmet(name)] for name in names if name != FOR_DEVELOPERS}
    return {name: needs for name, needs in unmet_needs.items() if needs}


def unmet(extra: str | None) -> list[tuple[str, str | None]]:
    """Return unmet requirements of packenv (None) or an extra, and installed versions."""
    needs = []
    for text in metadata.requires("packenv") or []:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:  # of a modified packenv
            continue
        of_extra = requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": extra or ""})
        if not applies or of_extra != (extra is not None):
            continue
        version = _version(requirement.name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            needs.append((f"{requirement.name}{requirement.specifier}", version))
    return needs


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _load() -> float | None:
    """Return the mean number of processes that want a core, or None."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _limit() -> int | None:
    try:
        return memory_limit()
    except InputError:
        return None
