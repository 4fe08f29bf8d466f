"""Requests: draws, readers, errors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from packenv.errors import InputError
from packenv_llm.readers import read_requests
from packenv_llm.replica import Replica, block_steps
from packenv_llm.requests import SHARES, Requests, Service, Source, find_source, fitted_services

TRACES = Path(os.environ.get("PACKENV_TRACES", "/nowhere")) / "llm"
with_traces = pytest.mark.skipif(not TRACES.is_dir(), reason="needs PACKENV_TRACES")


@pytest.mark.parametrize("name", ["llm/conv-like", "llm/code-like", "1000+5000~0.2", "llm/theorem"])
def test_a_request_depends_on_seed_and_place_alone(name: str) -> None:
    source = find_source(name)
    long, short, faster = source.draw(7, 500), source.draw(7, 50), source.draw(7, 500, rate=4.0)
    for key in ("prompt", "output", "limit"):
        assert (getattr(long, key)[:50] == getattr(short, key)).all()
        assert (getattr(long, key) == getattr(faster, key)).all()
    np.testing.assert_allclose(long.arrival, 4 * faster.arrival)
    np.testing.assert_allclose(long.arrival[:50], short.arrival)
    assert (source.draw(8, 50).arrival != short.arrival).all()
    assert abs(source.draw(1, 100_000).arrival[-1] / 100_000 - 1) < 0.05


def test_tables_are_drawn_in_blocks() -> None:
    table = Requests(np.arange(1000.0) ** 1.1, np.arange(1, 1001), np.arange(1, 1001) % 7 + 1)
    drawn = Source("t", table=table).draw(0, 5000, 2.0)
    follows = np.diff(drawn.prompt) == 1
    assert 0.98 < follows.mean() < 1
    assert abs(drawn.arrival[-1] / 5000 - 0.5) < 0.1
    assert (np.diff(Source("t", table=table, poisson=True).draw(0, 5000).prompt) == 1).mean() < 0.01


def test_predictions_with_error() -> None:
    source = Source("x", find_source("100+100").services, error=0.5)
    requests = source.draw(0, 20_000)
    assert requests.predicted is not None
    assert abs(np.log(requests.predicted / requests.output).std() - 0.5) < 0.02


def test_block_steps_by_hand() -> None:
    """Prompt 5, output 3, blocks of 4: 2 blocks in the first step, then 6 and 7 tokens in 2 blocks each."""
    assert block_steps(np.array([5]), np.array([3]), Replica(block=4)).tolist() == [6]
    assert block_steps(np.array([5]), np.array([3]), Replica(block=1)).tolist() == [5 + 6 + 7]
    chunked = Replica(block=1, budget=2)
    assert block_steps(np.array([5]), np.array([3]), chunked).tolist() == [2 + 4 + 5 + 6 + 7]


CUTS = {"conversation": (75, 150, 300, 405, 450), "code": (10, 20, 60, 150)}
"""Ends of the classes of outputs, in tokens, by service."""


def fit_services(requests: Requests, cuts: tuple[int, ...]) -> tuple[Service, ...]:
    """Fit a service to each output class, with ends `cuts`."""
    kind = np.searchsorted(cuts, requests.output)
    services = []
    for k in range(len(cuts) + 1):
        prompts, outputs = (np.quantile(column[kind == k], SHARES).round() for column in (requests.prompt, requests.output))
        weight = round(float((kind == k).mean()), 4)
        services.append(Service(weight, tuple(prompts.tolist()), tuple(outputs.tolist()), SHARES))
    return tuple(services)


FILES = {
    "ours.csv": "arrival_s,prompt_tokens,output_tokens\n0,10,3\n1.5,20,4\n",
    "azure.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,10,3\n2023-11-16 18:15:48.1805900,20,4\n",
    "burst.csv": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,C,10,3,13,c\n6.5,C,20,4,24,c\n7,C,9,0,9,c\n",
    "mooncake.jsonl": "\n".join(
        json.dumps({"timestamp": t, "input_length": p, "output_length": o, "hash_ids": [1]})
        for t, p, o in ((0, 10, 3), (1500, 20, 4))
    ),
    "guide.jsonl": "\n".join(
        json.dumps({"prompt": "x", "prompt_tokens_count": p, "output_tokens_count": o}) for p, o in ((10, 3), (20, 4))
    ),
    "vllm.json": json.dumps([{"prompt_len": 10, "output_len": 3}, {"prompt_len": 20, "output_len": 4}]),
}


@pytest.mark.parametrize("name", FILES)
def test_formats(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    requests = read_requests(path)
    assert requests.prompt.tolist() == [10, 20]
    assert requests.output.tolist() == [3, 4]
    np.testing.assert_allclose(requests.arrival, [0, 1.0 if name in ("guide.jsonl", "vllm.json") else 1.5])


def test_drawn_rows_have_all_columns() -> None:
    prompt = np.arange(1, 41)
    table = Requests(np.arange(40.0), prompt, prompt + 1, prompt + 2, prompt + 3, prompt / 2)
    drawn = find_source(table).draw(0, 300)
    assert len(set(drawn.prompt)) > 10
    for key, column in (("output", 1), ("limit", 2), ("predicted", 3)):
        assert (getattr(drawn, key) == drawn.prompt + column).all()
    assert (drawn.priority == drawn.prompt / 2).all()


BAD = {
    "arrival_s,prompt_tokens,output_tokens\n5,10,3\n1,20,4\n": "row 2 arrives before the one above it",
    "arrival_s,prompt_tokens,output_tokens,limit\n0,10,30,20\n": "output of 30 tokens is above its limit",
    "arrival_s,prompt_tokens\n0,10\n": "no column output_tokens",
    "arrival_s,prompt_tokens,output_tokens\n0,ten,3\n": "row 1, column prompt_tokens: 'ten' is not a number",
    "arrival_s,prompt_tokens,output_tokens\n0,10\n": "row 1: 2 values for 3 columns",
    "arrival_s,prompt_tokens,output_tokens\n": "no requests",
    "arrival_s,prompt_tokens,output_tokens\nnan,10,3\n": "nan is not a finite number",
    "": "is empty",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_tables(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=BAD[text]) as caught:
        read_requests(path)
    assert "\n" not in str(caught.value)


def test_texts_without_tokens_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "custom.jsonl"
    path.write_text('{"prompt": "What is a block?"}\n')
    with pytest.raises(InputError, match="texts without numbers of tokens are not read"):
        read_requests(path)
    path.write_text('{"prompt_tokens": 3}\nnot json\n')
    with pytest.raises(InputError, match="line 2: not JSON"):
        read_requests(path)


@with_traces
@pytest.mark.parametrize(("name", "file"), [("conversation", "azure2023_conv"), ("code", "azure2023_code")])
def test_services_are_what_the_fit_gives(name: str, file: str) -> None:
    assert fit_services(read_requests(TRACES / f"{file}.parquet"), CUTS[name]) == fitted_services(name)


@with_traces
@pytest.mark.parametrize(
    ("name", "file", "window"), [("llm/conv-like", "azure2023_conv", 333), ("llm/code-like", "azure2023_code", 151)]
)
def test_fitted_workloads_have_the_statistics(name: str, file: str, window: int) -> None:
    trace, drawn = read_requests(TRACES / f"{file}.parquet"), find_source(name).draw(0, 200_000)
    for key in ("prompt", "output"):
        theirs, ours = getattr(trace, key), getattr(drawn, key)
        assert abs(ours.mean() / theirs.mean() - 1) < 0.02
        assert abs(ours.std() / theirs.std() - 1) < 0.05
    steps = [block_steps(requests.prompt, requests.output, Replica()).mean() for requests in (drawn, trace)]
    assert abs(steps[0] / steps[1] - 1) < 0.02
    counts = np.histogram(trace.arrival, np.arange(0, trace.arrival[-1], 60.0))[0]
    ours = np.histogram(drawn.arrival, np.arange(0, drawn.arrival[-1], window))[0]
    assert abs(ours.var() / ours.mean() / (counts.var() / counts.mean()) - 1) < 0.15
