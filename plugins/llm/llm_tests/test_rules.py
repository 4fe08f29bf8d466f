"""Rules: names, parts, and rule files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from llm_tests.instances import random_instance
from packenv.errors import InputError
from packenv_llm.replica import Replica
from packenv_llm.requests import Requests, find_source
from packenv_llm.rules import ENGINES, find_rule
from packenv_llm.simulation import simulate

AGED, MOST = {"order": "aged", "rate": 5.0, "rejoin": "order"}, {"victim": "most"}
LIKE_BUILT_IN = {
    "def order(request, replica):\n    return request.known\n": {"order": "prompt", "rejoin": "order"},
    "R = 5.0\ndef order(request, replica):\n    return request.known - R * request.waited\n": AGED,
    "def victim(request, replica):\n    return -request.computed\n": {"victim": "least"},
    "def helper(request):\n    return request.computed\n" + "def victim(request, replica):\n    return helper(request)\n": MOST,
    "def admit(request, replica):\n    return 1\n": {"admission": "chunk"},
}


@pytest.mark.parametrize("text", LIKE_BUILT_IN)
def test_a_file_does_what_the_part_does(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    changes = LIKE_BUILT_IN[text]
    rejoin = {key: value for key, value in changes.items() if key == "rejoin"}
    mine = replace(find_rule(str(file)), **rejoin)
    for number in range(12):
        requests, replica, _, closed = random_instance(number)
        runs = [simulate(requests, replica, rule, closed=closed) for rule in (mine, replace(find_rule("vllm"), **changes))]
        np.testing.assert_allclose(runs[0].last, runs[1].last, err_msg=f"{number}")


BAD_FILES = {
    "def order(request, replica):\n    return request.output\n": "mine.py:2: request has no output",
    "def order(request, replica):\n    return open('x')\n": "mine.py:2: a rule cannot call open",
    "import os\ndef order(request, replica):\n    return 1\n": "mine.py:1: a rule imports nothing but math and numpy, not os",
    "def order(task, server, cluster):\n    return 1\n": "arguments of order must be request, replica",
    "def sort(request, replica):\n    return 1\n": "no function order, victim or admit",
    "def order(request, replica, weight=2):\n    return 1\n": "use constants above the function",
    "def order(request, replica)\n": "mine.py:1: ",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_bad_files(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(text)
    with pytest.raises(InputError, match=BAD_FILES[text]):
        find_rule("mine.py")


def test_a_function_that_is_not_finite(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def order(request, replica):\n    return 1 / (request.produced - request.produced)\n")
    with pytest.raises(InputError, match=r"mine\.py: a rule's function returns a number that is not finite"):
        simulate(find_source("10+5").draw(0, 5), Replica(), find_rule(str(file)))


def test_a_rule_that_admits_what_does_not_fit_waits(tmp_path: Path) -> None:
    """`admit` cannot overfill: the blocks of the first chunk must be free too."""
    file = tmp_path / "mine.py"
    file.write_text("def admit(request, replica):\n    return 1\n")
    run = simulate(find_source("100+50").draw(0, 50), Replica(blocks=12), find_rule(str(file)))
    assert run.done == 50
    file.write_text("def admit(request, replica):\n    return -1\n")
    with pytest.raises(InputError, match="admits nobody"):
        simulate(find_source("100+50").draw(0, 50), Replica(blocks=12), find_rule(str(file)))


BAD_NAMES = {
    "vlm": "did you mean vllm",
    "vllm:victm=least": "no 'victm' in it; did you mean victim",
    "vllm:victim=last": "victim 'last'",
    "vllm:watermark=2": "from 0 to below 1",
    "vllm:chunked=1": "chunked is yes or no",
    "vllm:order=aged": "needs rate",
}


@pytest.mark.parametrize("text", BAD_NAMES)
def test_bad_names(text: str) -> None:
    with pytest.raises(InputError, match=BAD_NAMES[text]):
        find_rule(text)


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_runs(name: str) -> None:
    source = find_source("60+30~0.5")
    run = simulate(source.draw(0, 300, 200.0), Replica(blocks=80), find_rule(name))
    assert run.done == 300
    assert find_rule(name).knows_outputs == name.endswith("known")


def test_limits_are_what_reservation_counts() -> None:
    """With limits of 4 blocks, two requests run together in 9 usable blocks; with limits of 9, one."""
    times = []
    for limit in (31, 111):
        requests = Requests(np.zeros(4), np.full(4, 34), np.full(4, 10), np.full(4, limit))
        times.append(simulate(requests, Replica(blocks=10), find_rule("trt-no-evict")).seconds)
    assert times[1] > 1.7 * times[0]
