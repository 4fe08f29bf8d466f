"""`packenv serve`: answers, errors that change nothing, a log to begin again from, a socket, clients in two languages."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import Scheduler
from packenv.errors import InputError
from packenv.live.serve import LONGEST_LINE, Service
from packenv.workloads.traces import read_trace
from tests.live.driving import driven

EXAMPLES = Path(__file__).parents[2] / "examples"


def ask(service: Service, *messages: Any) -> list[Any]:
    lines = [message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages]
    return [json.loads(line) for line in service.answer(lines).splitlines()]


def service_of(log: Path | None = None, policy: str = "bf-js", servers: str = "3") -> Service:
    return Service(Scheduler(policy, servers), None if log is None else str(log))


def random_messages(rng: random.Random, count: int) -> Iterator[dict[str, Any]]:
    """What a cluster may tell; of tasks and servers that may be there or not."""
    for n in range(count):
        task = f"t{rng.randint(max(0, n - 30), n)}"
        yield rng.choice(
            [
                {"submit": {"task": f"t{n}", "size": rng.randint(1, 10) / 10}},
                {"submit": {"task": f"t{n}", "size": rng.randint(1, 10) / 10}},
                {"complete": task},
                {"complete": task},
                {"fail": task},
                {"withdraw": task},
                {"decide": {}},
                {"decide": {}},
                {"drain": rng.randint(0, 3)},
                {"resume": rng.randint(0, 3)},
                {"remove": rng.randint(0, 3)},
            ]
        )


def test_answers() -> None:
    hello, first, again, decided, state = ask(
        service_of(),
        {"hello": {}},
        {"submit": {"task": "a", "size": 0.4}},
        {"submit": {"task": "a", "size": 0.4}},
        {"decide": {"now": 7}},
        {"state": {}},
    )
    assert hello == {"protocol": 1, "policy": "bf-js", "servers": [0, 1, 2], "resources": None}
    assert first == {"ok": True}
    assert again == {"error": "task 'a' waits already: names of tasks are different"}
    assert decided == {"starts": [{"task": "a", "server": 0, "slot": 7}], "slot": 7, "wake": None}
    assert state == {"slot": 7, "running": {"a": 0}, "waiting": []}


PYTHONS_OWN = re.compile("' object |unhashable|positional|multiple values|must be a mapping|indices must be|int\\(\\)")
"""Words of Python's own messages on values of a wrong type."""


@pytest.mark.parametrize(
    "line",
    [
        b"", b"x", b"[]", b"{}", b"1", b"null", b'{"decide": 1}', b'{"decide": {"then": 1}}', b'{"decide": {"now": -1}}',
        b'{"decide": {"now": 1e99}}', b'{"decide": {"now": true}}', b'{"submit": 1}', b'{"submit": []}',
        b'{"submit": {"task": [], "size": 1}}', b'{"submit": {"task": "x", "size": NaN}}', b'{"submit": {"size": 1}}',
        b'{"submit": {"task": "x", "self": 1}}',
        b'{"submit": {"task": "x", "size": 1, "home": 3}}', b'{"submit": {"task": "x", "size": 1, "server": []}}',
        b'{"submit": {"task": "x", "size": 1, "devices": ["y"], "server": 0}}', b'{"complete": []}',
        b'{"complete": null}', b'{"fail": 3}', b'{"withdraw": "z"}', b'{"drain": []}', b'{"resume": 9}', b'{"remove": null}',
        b'{"add": 3}', b'{"add": {"server": "n", "capacity": "1:1"}}', b'{"add": {"server": "n", "capacity": 7}}', b'{"quit": 1}',
        b'{"add": {"server": "q", "capacity": 3}}', b'{"add": {"server": ["q"], "capacity": "1"}}', b'{"complete": ["a"]}',
        b'{"complete": "a", "decide": {}}', b"\xff\xfe", b'{"a":' * 5000,
        b" " * (LONGEST_LINE + 1), b'{"submit": {"task": "x"}}',
    ],
    ids=lambda line: repr(line[:40]),
)  # fmt: skip
def test_bad_lines_are_answered_and_change_nothing(line: bytes, tmp_path: Path) -> None:
    service = service_of(tmp_path / "log.jsonl")
    ask(service, {"submit": {"task": "a", "size": 0.4}}, {"submit": {"task": "w", "size": 1}}, {"decide": {}})
    before, kept = service.scheduler.to_dict(), (tmp_path / "log.jsonl").read_bytes()
    (answer,) = ask(service, line)
    assert [*answer] == ["error"] and "\n" not in answer["error"] and len(answer["error"]) < 400
    assert not PYTHONS_OWN.search(answer["error"])
    assert service.scheduler.to_dict() == before and (tmp_path / "log.jsonl").read_bytes() == kept


def test_fuzzed_lines() -> None:
    rng, service = random.Random(1), service_of()
    for message in random_messages(rng, 2000):
        line = bytearray(json.dumps(message).encode())
        for _ in range(rng.choice([0, 0, 1, 3])):
            line[rng.randrange(len(line))] = rng.randrange(32, 256)
        (answer,) = ask(service, bytes(line))
        assert answer
    running, waiting = service.scheduler.running, service.scheduler.waiting
    assert len({*running, *waiting}) == len(running) + len(waiting)


@pytest.mark.parametrize("policy", ["bf-js", "reserve:age=3", "agent:fig4b"])
def test_begins_again_from_its_log(policy: str, tmp_path: Path) -> None:
    """Cut anywhere, the log gives the state that was there after its last whole line; then all goes on as if nothing was."""
    rng, log = random.Random(policy), tmp_path / "log.jsonl"
    service, states = service_of(log, policy), []
    messages = [*random_messages(rng, 300)]
    for message in messages:
        ask(service, message)
        states.append((log.stat().st_size, service.scheduler.to_dict()))
    whole = log.read_bytes()
    for cut in [len(whole), *rng.sample(range(len(whole) // 2, len(whole)), 5)]:
        log.write_bytes(whole[:cut])
        again = service_of(log, policy)
        kept = whole[:cut].rfind(b"\n") + 1
        assert log.read_bytes() == whole[:kept]
        last = [state for size, state in states if size <= kept][-1]
        assert again.scheduler.to_dict() | {"slot": 0} == last | {"slot": 0}
    log.write_bytes(whole)
    again = service_of(log, policy)
    for message in random_messages(rng, 100):
        assert ask(again, message) == ask(service, message)


def test_a_log_of_something_else(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    ask(service_of(log), {"submit": {"task": "a", "size": 0.4}}, {"decide": {}})
    with pytest.raises(InputError, match="the log of another policy or other servers"):
        service_of(log, "fifo-ff")
    with pytest.raises(InputError, match="the log of another policy or other servers"):
        service_of(log, servers="4")
    text = log.read_text()
    log.write_text(text.replace('"server": 0', '"server": 1'))
    with pytest.raises(InputError, match="line 3: the policy starts other tasks now"):
        service_of(log)
    log.write_text(text + "junk\n")
    with pytest.raises(InputError, match="line 4 is not JSON"):
        service_of(log)
    assert log.read_text() == text + "junk\n"


def test_the_log_is_a_trace(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    workload = packenv.workload("paper/fig4b", intensity=0.9)
    jobs = workload.tabulated(1, 2000).jobs
    assert jobs is not None
    service = Service(Scheduler("bf-js", "5"), str(log))

    class Remote:
        """Looks like a Scheduler to `driven`, and asks the service."""

        wake = None

        def submit(self, task: int, **facts: Any) -> None:
            assert ask(service, {"submit": {"task": task, **facts}}) == [{"ok": True}]

        def complete(self, task: int) -> None:
            assert ask(service, {"complete": task}) == [{"ok": True}]

        def decide(self, now: int) -> list[Any]:
            (answer,) = ask(service, {"decide": {"now": now}})
            return [packenv.live.Start(s["task"], s["server"], (), s["slot"]) for s in answer["starts"]]

    remote: Any = Remote()
    starts = driven(remote, workload, jobs, None).slot
    ask(service, {"submit": {"task": "late", "size": 0.1}}, {"submit": {"task": "later", "size": 0.1}}, {"withdraw": "later"})
    ask(service, {"decide": {}}, {"submit": {"task": "last", "size": 0.1}})
    read = packenv.workload(str(log))
    assert read.jobs is not None and len(read.jobs) == len(jobs) and len(read.servers) == 5
    counts = {reason: count for reason, count in read.left_out.items() if count}
    assert counts == {"withdrawn": 1, "waiting at the end": 1, "running at the end": 1}
    np.testing.assert_array_equal(read.jobs.service, jobs.service)
    np.testing.assert_array_equal(read.jobs.demand, jobs.demand)
    assert read.provenance.recorded_waits is not None
    assert read.provenance.recorded_waits.tolist() == [starts[row] - int(jobs.arrival[row]) for row in range(len(jobs))]
    replayed = packenv.simulate(read, "bf-js", drain=True, schedule=True).schedule
    assert replayed is not None
    assert (replayed.start - read.jobs.arrival).tolist() == read.provenance.recorded_waits.tolist()


def test_gangs_estimates_homes_devices_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    servers = packenv.Servers(np.array([[8.0, 2], [8, 2]]), np.array([[2, 1000, 0], [2, 1000, 0]]), ("A10",), names=("n1", "n2"))
    service = Service(Scheduler("bf-js", servers, resources=("cpu", "gpu")), str(log))
    facts = {"estimate": 5, "gang": "g", "home": ["n2"], "remote_overhead": 3, "cpu": "500m"}
    ask(service, {"submit": {"task": "a", **facts}}, {"submit": {"task": "x", "cpu": 1, "gpu": 0.5, "gpu_kinds": "A10"}})
    ask(service, {"submit": {"task": "b", **facts}}, {"decide": {}}, {"fail": "x"}, {"decide": {"now": 4}})
    assert ask(service, {"complete": "a"}, {"complete": "b"}, {"complete": "x"}, {"decide": {"now": 9}})[-1]["starts"] == []
    jobs = read_trace(log).jobs(1, sizes="all").jobs
    assert jobs.gang is not None and jobs.home is not None and jobs.devices is not None and jobs.estimate is not None
    assert (
        jobs.gang.tolist() == [0, 0, -1, -1] and jobs.service.tolist() == [9, 9, 4, 5] and jobs.arrival.tolist() == [0, 0, 0, 4]
    )
    assert jobs.amounts.tolist() == [[0.5, 0], [0.5, 0], [1, 0.5], [1, 0.5]]
    assert jobs.devices.tolist() == [[0, 0, 0], [0, 0, 0], [1, 500, 1], [1, 500, 1]]
    assert jobs.home.row(1).tolist() == [1] and jobs.estimate[0] == 5
    log.write_text(log.read_text() + '{"complete": "nobody"}\n')
    with pytest.raises(InputError, match="line 12: not an event of packenv serve"):
        read_trace(log)


class Process:
    """`packenv serve` in a process of its own, at a socket."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.path = folder / "socket"
        command = [sys.executable, "-m", "packenv", "serve", "bf-js", "--servers", "2", "--socket", str(self.path), *words]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PACKENV_QUIET": "1"})
        for _ in range(600):
            with suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(self.path))
                return
            time.sleep(0.1)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def connect(self) -> Any:
        sys.path.insert(0, str(EXAMPLES))
        from live_client import Client  # type: ignore[import-not-found]

        return Client(str(self.path))


def test_clients_and_a_killed_process(tmp_path: Path) -> None:
    log = str(tmp_path / "events.jsonl")
    with Process(tmp_path, "--log", log) as served:
        shown = subprocess.run(
            [sys.executable, EXAMPLES / "live_client.py", served.path], capture_output=True, text=True, check=True
        )
        assert shown.stdout.splitlines()[:3] == ["a starts on server 0", "b starts on server 1", "c starts on server 0"]
        assert "'task': 'd'" in shown.stdout
        with socket.socket(socket.AF_UNIX) as dying:  # in the middle of a line
            dying.connect(str(served.path))
            dying.sendall(b'{"submit": {"task": "half"')
        one, other = served.connect(), served.connect()
        one.ask(submit={"task": "e", "size": 0.1})
        with pytest.raises(ValueError, match="task 'e' waits already"):
            other.ask(submit={"task": "e", "size": 0.1})
        second = subprocess.run(
            [sys.executable, "-m", "packenv", "serve", "bf-js", "--servers", "2", "--socket", str(served.path)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert second.returncode == 2 and "another process answers there" in second.stderr
        state = one.ask(state={})
        served.process.send_signal(signal.SIGKILL)
        served.process.wait()
    with Process(tmp_path, "--log", log) as again:  # over the socket that was left there
        client = again.connect()
        assert client.ask(state={}) == state
        assert [start["task"] for start in client.ask(decide={})["starts"]] == ["e"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler of C")
def test_client_in_c(tmp_path: Path) -> None:
    subprocess.run(["cc", "-Wall", "-Werror", "-o", tmp_path / "client", EXAMPLES / "live_client.c"], check=True)
    with Process(tmp_path) as served:
        shown = subprocess.run([tmp_path / "client", served.path], capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [start["task"] for start in answers[2]["starts"]] == ["a", "b"] and answers[4]["starts"] == []


def test_standard_input() -> None:
    lines = b'{"submit": {"task": "a", "size": 0.4}}\n{"decide": {}}\njunk\n{"decide"'
    command = [sys.executable, "-m", "packenv", "serve", "bf-js", "--servers", "2"]
    done = subprocess.run(command, input=lines, capture_output=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[1]["starts"][0]["task"] == "a" and "error" in answers[2] and len(answers) == 3


@pytest.mark.parametrize("policy", ["bf-js", "agent:fig4b"])
def test_toy_cluster(policy: str) -> None:
    command = [sys.executable, str(EXAMPLES / "toy_cluster.py"), policy]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "40 of 40 start in the slot in which the simulator starts them" in done.stdout
