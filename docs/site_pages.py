"""Pages that are made from the code when the site is built: commands, environments, policies, Python names and notebooks.

They are written beside the hand-written ones, under `reference/made` and `examples`, which git ignores.
"""

from __future__ import annotations

import csv
import inspect
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
from tables import linked

from packenv.catalogue import CATALOGUE, SOURCES
from packenv.cli.main import COMMANDS
from packenv.plugins import CHECKOUT
from packenv.policy import find_policy

ROOT = Path(__file__).resolve().parent.parent

ENVIRONMENTS = ("Placement", "ServerFill", "Configuration", "JobFill", "NextJob")

MODULES = {
    "packenv": "The names at the top: workloads, runs, and what is achievable.",
    "packenv.policies": "The policies as Python classes. A page for each has its rule and results.",
    "packenv.cluster": "What a policy may ask of a cluster, and do to it.",
    "packenv.workloads.laws": "Laws of sizes and of service.",
    "packenv.envs": "The environments: what they need beside `gymnasium.make`.",
    "packenv.wrappers": "Wrappers for other libraries.",
    "packenv.live": "Any policy outside the simulator.",
    "packenv.extend": "What a plug-in may use, besides the names above.",
    "packenv.testing": "The suite that packenv's own policies and environments pass, for yours.",
    "packenv.learning.agents.saved": "Agents that learned, from their files.",
}
"""The modules whose public names have a reference, and are stable, with what is in them."""

OTHER_NAMES = {
    "packenv.envs.registration": ("register", "FORMER"),
    "packenv.learning.evolution": ("Evolution",),
    "packenv.results.job_times": ("JobTimes", "job_times", "efficiency", "progress"),
    "packenv.runs.measures": ("MEASURES", "Measure", "LESS", "MORE", "NEITHER", "TASKS", "SLOTS", "SHARE", "QUEUE", "JOBS"),
    "packenv.runs.recording": ("film", "record"),
    "packenv.theory.completion.bound": ("completion_bound",),
    "packenv.workloads.named.dag": ("dag",),
    "packenv.workloads.named.lublin": ("lublin",),
}
"""Names of other modules that pages tell to import, which are stable too."""


def write_pages(docs: Path) -> None:
    """Write all pages that are made from the code below the folder `docs`."""
    made = docs / "reference" / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    for kind in ENVIRONMENTS:
        (made / f"{kind.lower()}.md").write_text(environment_page(kind), encoding="utf-8")
    for name, (place, _) in COMMANDS.items():
        (made / f"command_{name}.rst").write_text(command_page(name, place), encoding="utf-8")
    for name in CATALOGUE:
        (made / f"policy_{name}.md").write_text(policy_page(name), encoding="utf-8")
    for module, about in MODULES.items():
        (made / f"{module}.md").write_text(module_page(module, about), encoding="utf-8")
    (made / "packenv_other_names.md").write_text(other_names_page(), encoding="utf-8")
    write_plugin_pages(docs / "plugins")
    notebooks = docs / "examples"
    shutil.rmtree(notebooks, ignore_errors=True)
    notebooks.mkdir()
    for notebook in sorted((ROOT / "examples").glob("*.ipynb")):
        shutil.copyfile(notebook, notebooks / notebook.name)


def write_plugin_pages(folder: Path) -> None:
    """Copy the pages of the plug-ins that lie in the checkout; their links to packenv's pages become those of the site."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    rows = [f"- `{project.parent.name}`\n" for project in sorted(CHECKOUT.glob("*/pyproject.toml"))]
    listed = "".join(rows) or "None lies in this checkout.\n"
    about = "[Write a plug-in](../how_to/plugin.md) makes one. Those of the repository:"
    (folder / "about.md").write_text(f"# Plug-ins\n\n{about}\n\n{listed}", encoding="utf-8")
    for page in sorted(CHECKOUT.glob("*/docs/*.md")):
        written = page.read_text(encoding="utf-8").replace("](../../../docs/", "](../")
        (folder / page.name).write_text(written, encoding="utf-8")
    for picture in CHECKOUT.glob("*/docs/*.png"):
        shutil.copy(picture, folder)


def command_page(name: str, place: str) -> str:
    """The page of a command: its help, of its subcommands too."""
    module = place if place.startswith("experiments.") else f"packenv.cli.{place}"
    return f".. click:: {module}\n   :prog: packenv {name}\n   :nested: full\n"


def environment_page(kind: str) -> str:
    """The page of an environment: its docstring, which is Markdown in Gymnasium's form, below its picture."""
    environment = gymnasium.make(f"packenv/{kind}-v1").unwrapped
    text = inspect.getdoc(type(environment)) or ""
    first, _, rest = text.partition("\n")
    picture = f"![{kind} as it draws itself](../../../experiments/pictures/{kind.lower()}.gif)"
    seen = environment.observation_space
    parts = {f"`{key}`": space for key, space in seen.items()} if hasattr(seen, "items") else {"observation": seen}
    rows = {name: spaces_of(space) for name, space in parts.items()}
    rows = {"made by": f'`gymnasium.make("packenv/{kind}-v1")`', "actions": spaces_of(environment.action_space)} | rows
    table = "".join(f"| {name} | {value} |\n" for name, value in rows.items())
    return f"# {kind}\n\n{first}\n\n{picture}\n\nWith the defaults:\n\n| | |\n|---|---|\n{table}\n{rest.lstrip()}\n"


def spaces_of(space: gymnasium.Space[Any]) -> str:
    """A space in one line: its bounds differ by element, and are in the text."""
    return f"`{space}`" if space.shape == () else f"`Box` of shape {space.shape}, {space.dtype}"


def policy_page(name: str) -> str:
    """The page of a policy: its docstring, its entry of the catalogue, its parameters and measured results."""
    kind = type(find_policy(name))
    entry = CATALOGUE[name]
    key, _, place = entry.source.partition(" ")
    defaults = getattr(kind, "_field_defaults", {})
    parameters = "".join(f"| `{key}` | `{value}` |\n" for key, value in defaults.items())
    table = f"| parameter | default |\n|---|---|\n{parameters}\n" if defaults else "It has no parameters.\n\n"
    return (
        f"# {name}\n\n{rst(kind)}\n**Guaranteed share of ρ\\***: {entry.guarantee or 'none'}.\n\n"
        f"**Source**: {f'{linked(SOURCES[key])} {place}' if key else 'none'}\n\n{table}"
        f"**In Python**: `packenv.policies.{kind.__name__}`. Its module:\n\n"
        f"{rst(inspect.getmodule(kind))}\n{measured(name)}[All policies](../policies.md)\n"
    )


def measured(name: str) -> str:
    """What `baselines/table.py` measured of a policy, as a paragraph."""
    with (ROOT / "baselines" / "results" / "baselines.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == name]
    lines = []
    for row in rows:
        values = ", ".join(f"{float(value):.4g}" for key, value in row.items() if key.startswith("seed "))
        lines.append(f"| `{row['workload']}` | `{row['policy']}` | {row['measure']} | {values} |\n")
    head = "| workload | policy | measure | seeds 0, 1, 2 |\n|---|---|---|---|\n"
    return f"## Measured\n\n{head}{''.join(lines)}\n`python baselines/table.py` measures this.\n\n" if lines else ""


def module_page(module: str, about: str) -> str:
    """The page of a module: every public name with its docstring."""
    loaded = import_module(module)
    names = sorted(public(loaded), key=str.lower)
    if module == "packenv.live":
        names.remove("Scheduler")  # the page of packenv has it
    if module == "packenv.extend":  # by purpose, as its docstring lists them: other pages have many of them too
        return f"# {module}\n\n{about}\n\n{rst(loaded)}\n"
    entries = "\n".join(entry(module, name, getattr(loaded, name)) for name in names)
    return f"# {module}\n\n{about}\n\n```{{eval-rst}}\n{entries}\n```\n"


def other_names_page() -> str:
    """The page of the stable names of other modules."""
    entries = (
        entry(module, name, getattr(import_module(module), name)) for module, names in OTHER_NAMES.items() for name in names
    )
    return "# Names of other modules\n\n```{eval-rst}\n" + "\n".join(entries) + "\n```\n"


def public(module: Any) -> list[str]:
    """The public names of a module: its `__all__`, or the functions and classes that it defines."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("_")]
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
    return [name for name in own if not name.startswith("_")]


def entry(module: str, name: str, value: Any) -> str:
    """The directive that documents a name."""
    if inspect.isclass(value):
        return f".. autoclass:: {module}.{name}\n   :members:\n"
    if callable(value):
        return f".. py:function:: {module}.{name}{signature(value)}\n\n{indented(docstring(value))}\n"
    shown = f"   :value: {value!r}\n" if len(repr(value)) < 200 else ""
    return f".. py:data:: {module}.{name}\n{shown}"


def signature(function: Any) -> str:
    """The signature of a function, also of a compiled one, as its source writes it."""
    plain = getattr(function, "py_func", function)
    try:
        return re.sub(r"'([\w.\[\], |]+)'", r"\1", str(inspect.signature(plain)))
    except (TypeError, ValueError):
        return "()"


def rst(value: Any) -> str:
    """The docstring of a value as a block of a Markdown page."""
    return "```{eval-rst}\n" + "\n".join(docstring(value)) + "\n```\n"


def docstring(value: Any) -> list[str]:
    """The docstring of a value as lines of reStructuredText."""
    lines = (inspect.getdoc(getattr(value, "py_func", value)) or "").splitlines()
    docstring_as_rst(None, "", "", value, None, lines)
    return lines


def indented(lines: list[str]) -> str:
    return "".join(f"   {line}\n" if line else "\n" for line in lines)


ROW = re.compile(r"^(?P<indent> *)(?P<terms>\S(?:.*?\S)?) {2,}(?P<text>\S.*)$")


def docstring_as_rst(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Turn the lines of a docstring, in place, into reStructuredText: code in backticks, and columns of names and meanings."""
    made: list[str] = []
    in_rows = False
    for line in lines:
        row = ROW.match(line)
        if row and not line.startswith(("    ", ">>>")):
            if not in_rows and made and made[-1]:
                made.append("")
            made += [escaped(row["terms"]), f"   {escaped(row['text'])}"]
            in_rows = True
        elif in_rows and line.startswith(" "):
            made.append(f"   {escaped(line.strip())}")
        else:
            if in_rows and line:
                made.append("")
            in_rows = False
            made.append(escaped(line))
    lines[:] = made


def escaped(line: str) -> str:
    """A line with its code marked as reStructuredText does, and what else has a meaning there taken literally."""
    parts = re.split(r"(?<!`)`([^`]+)`(?!`)", line)
    plain = [re.sub(r"([*|])", r"\\\1", re.sub(r"(\w)_(?!\w)", r"\1\\_", part)) for part in parts[::2]]
    code = [f"``{part}``" for part in parts[1::2]] + [""]
    return "".join(text + marked for text, marked in zip(plain, code, strict=True))


def without_addresses(app: Any, doctree: Any) -> None:
    """Take the links to e-mail addresses away: docutils reads `paper/fig4b@0.95`, a workload at an intensity, as one."""
    from docutils import nodes  # the tests of the pages do without it

    for link in [*doctree.findall(nodes.reference)]:
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(link.children)
