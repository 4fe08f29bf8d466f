"""The pages of this plug-in: commands and Python run, names are those of the code, links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from packenv_llm.commands import llm
from packenv_llm.engine import seen_replica, seen_request
from packenv_llm.measures import MEASURES
from packenv_llm.requests import named_sources
from packenv_llm.rules import CHOICES, ENGINES, find_rule
from packenv_llm.studies import STUDIES

HOME = Path(__file__).parents[1]
FILES = [HOME / "README.md", *sorted(HOME.glob("docs/*.md"))]
PAGES = {path.relative_to(HOME).as_posix(): path.read_text() for path in FILES}
TEXT = "\n".join(PAGES.values())
QUICK = {
    "evaluate": ["--count", "300", "--seeds", "2"],
    "judge": ["--count", "4000", "--width", "0.3"],
    "score": ["--seeds", "2"],
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_rule.py").write_text(next(block for block in blocks("python") if block.startswith("# my_rule.py")))
    rows = [f"{n},{50 + n},{9 + n}\n" for n in range(40)]
    Path("requests.csv").write_text("arrival_s,prompt_tokens,output_tokens\n" + "".join(rows))


@pytest.mark.parametrize("command", dict.fromkeys(re.findall(r"^\$ packenv llm (.*)$", TEXT, re.MULTILINE)))
def test_commands(folder: None, command: str) -> None:
    words = shlex.split(command)
    if words[0] == "reproduce":
        assert words[1] in STUDIES
        return
    assert CliRunner().invoke(llm, words + QUICK.get(words[0], []), catch_exceptions=False).exit_code == 0


def test_python_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(re.findall(r"```python\n(.*?)```", PAGES["README.md"], re.DOTALL)[0], "README.md", "exec"), {})
    assert capsys.readouterr().out == re.findall(r"```text\n(.*?)```", PAGES["README.md"], re.DOTALL)[0]


def test_the_reference_has_every_name() -> None:
    page = PAGES["docs/llm_reference.md"]
    names = [*ENGINES, *named_sources(), *(measure.key for measure in MEASURES)]
    names += [*(seen_request.names or ()), *(seen_replica.names or ())]
    names = [name for name in names if not re.fullmatch("goodput_.", name)]
    names += [value for values in CHOICES.values() for value in values]
    assert [name for name in names if f"`{name}`" not in page] == []
    assert all(name in PAGES["docs/llm_published.md"] for name in STUDIES)


@pytest.mark.parametrize("page", PAGES)
def test_links(page: str) -> None:
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)", PAGES[page]) if "://" not in target]
    assert [target for target in targets if not (HOME / page).parent.joinpath(target).exists()] == []


def test_the_example_is_the_engine(tmp_path: Path) -> None:
    """With an age of 1/16, which is exact in binary, ties are the same."""
    from packenv_llm.replica import Replica
    from packenv_llm.requests import find_source
    from packenv_llm.simulation import simulate

    source, replica = find_source("200+60~0.9"), Replica(blocks=400)
    file = tmp_path / "short_first.py"
    file.write_text((HOME / "examples" / "short_first.py").read_text().replace("AGE = 0.05 ", "AGE = 0.0625 "))
    rules = [find_rule(text) for text in (f"{file}:rejoin=order", "short-first:rate=0.0625")]
    runs = [simulate(source.draw(0, 2000, 400.0), replica, rule) for rule in rules]
    assert runs[0].preemptions.sum() > 0
    assert runs[0].preemptions.sum() == runs[1].preemptions.sum()
    assert (runs[0].last == runs[1].last).all()
