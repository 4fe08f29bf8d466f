"""Tables of the pages, and the references of CITATION.cff, from the facts in the code.

`python docs/tables.py` writes them between the markers of each page. A test fails while they differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from packenv.catalogue import CATALOGUE, ORDER_SOURCES, SOURCES, Entry, Source
from packenv.policy_names import described
from packenv.runs.measures import MEASURES

ROOT = Path(__file__).resolve().parent.parent
CAN = {
    "several": "several resources",
    "devices": "GPUs as devices",
    "gangs": "gangs",
    "jobs": "reads jobs",
    "dag": "predecessors",
    "data": "data locality",
    "orders": "`order=`",
    "durations": "durations",
    "law": "law of sizes",
}
"""Columns of the table of what policies can do."""


def policies() -> str:
    """The table of policies: name, rule, guarantee and source."""
    rows = [(f"`{name}`", described(name).about.rstrip("."), entry.guarantee, cited(entry)) for name, entry in CATALOGUE.items()]
    return table(("policy", "rule", "guaranteed share of ρ\\*", "source"), rows)


def abilities() -> str:
    """The table of what each policy can do."""
    rows = [(f"`{name}`", *("✓" if word in entry.can.split() else "" for word in CAN)) for name, entry in CATALOGUE.items()]
    return table(("policy", *CAN.values()), rows)


def sources() -> str:
    """The sources, numbered as in the table of policies."""
    return table(("", "source"), [(f"{n}", linked(source)) for n, source in enumerate(SOURCES.values(), 1)])


def measures() -> str:
    """The table of measures: key, unit, direction and meaning."""
    return table(("field", "unit", "better", "meaning"), [(f"`{m.key}`", m.unit, m.better, m.meaning) for m in MEASURES])


def linked(source: Source) -> str:
    return f"[{source.reference}]({source.url})." if source.url else f"{source.reference}."


def cited(entry: Entry) -> str:
    """The number of an entry's source and the place in it: `[1] §IV`."""
    key, _, place = entry.source.partition(" ")
    return f"[{[*SOURCES].index(key) + 1}] {place}".strip() if key else ""


def references() -> str:
    """The references of CITATION.cff: every source, with the policies and orders that it is cited for."""
    lines = []
    for key, source in SOURCES.items():
        names = [name for name, entry in CATALOGUE.items() if entry.source.partition(" ")[0] == key]
        orders = [f"orders {name}" for name, of in ORDER_SOURCES.items() if of == key]
        lines.append(f'  - type: article\n    notes: "{", ".join(names + orders)}"\n    title: "{source.title}"\n    authors:')
        for author in source.authors.split("; "):
            family, _, given = author.partition(", ")
            lines.append(f"      - family-names: {family}\n        given-names: {given}" if given else f"      - name: {family}")
        lines.append(f"    year: {source.year}" + (f"\n    url: {source.url}" if source.url else ""))
    return "references:\n" + "\n".join(lines) + "\n"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


TABLES: dict[str, Callable[[], str]] = {"policies": policies, "abilities": abilities, "sources": sources, "measures": measures}
"""By the name in the markers `<!-- table NAME -->` and `<!-- end -->`."""


def written() -> Iterator[tuple[Path, str]]:
    """Each page with tables, and CITATION.cff, with the text that it should have."""
    for path in sorted(ROOT.glob("docs/*/*.md")):
        text = path.read_text(encoding="utf-8")
        if "<!-- table " in text:
            yield path, re.sub(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", filled, text, flags=re.DOTALL)
    path = ROOT / "CITATION.cff"
    head = path.read_text(encoding="utf-8").partition("references:\n")[0]
    yield path, head + references()


def filled(block: re.Match[str]) -> str:
    return f"{block[1]}\n{TABLES[block[2]]()}\n{block[3]}"


if __name__ == "__main__":
    for page, right in written():
        page.write_text(right, encoding="utf-8")
