"""How hard the words are to read: pages, docstrings, help texts and the changelog, in numbers.

`python docs/prose.py` prints a line for each page and kind of text, and its sentences out of range. `--check` exits with 1 if a
total is out of range (`make lint` does that). The numbers are a thermometer: a sentence that is long for a reason may stay.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LONG, LONGEST_PAGE, LONGEST_EXPLANATION = 30, 1_500, 2_500  # words
FIRST_LINE, HELP, CHANGE = 10, 12, 25  # words at most
RELATIVE = re.compile(r"\b(?:that|which|what|whom?|whose|where)\b", re.IGNORECASE)
PRIVATE = re.compile(
    r"\b(?:of (?:one's|your|its|their) own|of (?:theirs|ours)|(?:so|as) many|those (?:that|of|who)|that of"
    r"|what (?:is|no|are|was|has)|(?:is|are|was|were) (?:told|said|asked)|(?:by|for) itself|by themselves"
    r"|in earnest|beforehand|anew|at once|as of|beside"
    r"|(?:to|of|in|with|from|by) which|of such|more of (?:it|them)|the (?:more|longer|larger) the)\b",
    re.IGNORECASE,
)


class Range(NamedTuple):
    """The most that a kind of text may have."""

    words: float  # a sentence, on average
    long: float  # share of sentences above LONG words
    semicolons: float  # share of sentences
    clauses: float  # share of sentences with two relative clauses
    paragraph: float  # words, on average
    relative: float  # relative words in 1,000
    private: float  # private words in 1,000


RANGES = {
    "pages": Range(17, 0.07, 0.05, 0.05, 38, 18, 1.5),
    "docstrings": Range(15, 0.05, 0.05, 0.05, 22, 18, 1.5),
}
"""Totals that `--check` holds. The field: PyVRP 14.8 words a sentence, Stable-Baselines3 16.5, Ciw 17.4."""


class Measured(NamedTuple):
    """What paragraphs measure."""

    total: int  # words
    values: Range

    def __str__(self) -> str:
        v = self.values
        return (
            f"{self.total:7,} words, {v.words:4.1f} a sentence, {v.long:4.0%} long, {v.semicolons:4.0%} with ';', "
            f"{v.clauses:4.0%} two clauses, {v.paragraph:3.0f} a paragraph, relative {v.relative:3.0f}, private {v.private:4.1f}"
        )


def sentences(paragraph: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z*`“(])", paragraph)
    return [part for part in parts if len(part.split()) > 2]


def measured(paragraphs: list[str]) -> Measured:
    """The numbers of all paragraphs together."""
    found = [sentence for paragraph in paragraphs for sentence in sentences(paragraph)]
    text, total, count = " ".join(paragraphs), sum(len(p.split()) for p in paragraphs), max(len(found), 1)
    lengths = [len(sentence.split()) for sentence in found]
    per_thousand = 1_000 / max(total, 1)
    values = Range(
        words=sum(lengths) / count,
        long=sum(length > LONG for length in lengths) / count,
        semicolons=sum(";" in sentence for sentence in found) / count,
        clauses=sum(len(RELATIVE.findall(sentence)) > 1 for sentence in found) / count,
        paragraph=total / max(len(paragraphs), 1),
        relative=len(RELATIVE.findall(text)) * per_thousand,
        private=len(PRIVATE.findall(text)) * per_thousand,
    )
    return Measured(total, values)


def prose_of(page: Path) -> list[str]:
    """The paragraphs of a page, without code, tables, headings and pictures."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"(```|~~~).*?\1", "", text, flags=re.DOTALL)
    text = re.sub(r"^(?:\s*\||#|\s*<).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!\[.*?\]\(.*?\)", "", text, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "CODE", text)
    parts = re.split(r"\n\s*\n|\n\s*[-*] |\n\s*\d+\. ", text)
    return [" ".join(part.split()) for part in parts if len(part.split()) >= 8]


def docstrings() -> Iterator[tuple[str, str]]:
    """Every docstring of packenv and its plug-ins, with `file:line`."""
    for path in sorted([*ROOT.glob("packenv/**/*.py"), *ROOT.glob("plugins/*/packenv_*/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", re.sub(r"`+[^`]*`+", "CODE", text)


def helps(folder: Path) -> Iterator[tuple[str, str]]:
    """Every help text of an option below a folder, with `file:line`."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "option":
                texts = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "help")]
                for text in texts:
                    if isinstance(text, ast.Constant) and isinstance(text.value, str) and " " in text.value:
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", text.value.partition("  [")[0]


def pages() -> list[Path]:
    """The pages that people read, those of plug-ins too. `make docs` copies the latter to docs/plugins."""
    patterns = ("docs/*.md", "docs/*/*.md", "plugins/*/*.md", "plugins/*/docs/*.md")
    found = [page for pattern in patterns for page in ROOT.glob(pattern)]
    written = [page for page in found if page.name != "CHANGELOG.md" and page.parent != ROOT / "docs" / "plugins"]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(written)]


def newest_changes() -> list[str]:
    """The lines of the newest version in the changelog."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    return [" ".join(part.split()) for part in text.split("\n- ")[1:]]


def out_of_range() -> Iterator[str]:
    """A line for every text that is longer than its kind should be."""
    for page in pages():
        most = LONGEST_EXPLANATION if page.parent.name == "explanation" else LONGEST_PAGE
        count = len(re.sub(r"^\s*\|.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE).split())
        if count > most:
            yield f"{page.relative_to(ROOT)}: {count:,} words outside tables, at most {most:,}"
        for sentence in (s for paragraph in prose_of(page) for s in sentences(paragraph) if len(s.split()) > LONG + 5):
            yield f"{page.relative_to(ROOT)}: {len(sentence.split())} words: {sentence}"
    for where, text in docstrings():
        if len(text.split("\n")[0].split()) > FIRST_LINE + 5:
            yield f"{where}: a first line of {len(text.split(chr(10))[0].split())} words: {text.split(chr(10))[0]}"
    for where, text in helps(ROOT / "packenv"):
        if len(text.split()) > HELP + 3:
            yield f"{where}: a help text of {len(text.split())} words: {text}"
    for change in newest_changes():
        if len(change.split()) > CHANGE:
            yield f"CHANGELOG.md: {len(change.split())} words: {change}"


def main() -> int:
    check = "--check" in sys.argv[1:]
    texts = {
        "pages": [paragraph for page in pages() for paragraph in prose_of(page)],
        "docstrings": [" ".join(part.split()) for _, text in docstrings() for part in re.split(r"\n\s*\n", text) if part.split()],
    }
    failed = False
    if not check:
        for page in pages():
            print(f"{page.relative_to(ROOT)!s:44} {measured(prose_of(page))}")
        print(*out_of_range(), sep="\n")
    for kind, paragraphs in texts.items():
        numbers = measured(paragraphs)
        print(f"{kind:44} {numbers}")
        for name, most in RANGES[kind]._asdict().items():
            value = getattr(numbers.values, name)
            if check and value > most * 1.1:
                failed = True
                print(f"{kind}: {name} is {value:.3g}, at most {most:.3g}; `make prose` names the sentences")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
