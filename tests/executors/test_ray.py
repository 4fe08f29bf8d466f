"""A Ray cluster of three nodes on this machine: the same results, whatever dies; what it says when something is missing."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packenv.errors import InputError, MisuseError
from tests.campaign.kills import contents

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = pytest.mark.slow

EVALUATE = "evaluate paper/fig4b -p bf-js -p vqs --slots 60000 --seeds 12"
COMMANDS = {
    "evaluate": f"{EVALUATE} -p agent:fig4b",
    "evaluate a table": "evaluate price/fig1 -p price -p bf-js",
    "judge": "judge paper/fig3a -p bf-js -p vqs --seeds 2 --width 0.1",
    "leaderboard": "leaderboard -w paper/fig4b@0.8 -p bf-js -p vqs --slots 50000 --seeds 4 --no-judge",
    "reproduce": "reproduce fig3a --quick --slots 5000 --seeds 1",
}
IN_CI = "evaluate"
FAILING = """
class Failing:
    name = "failing"
    def initial_state(self, setting, seed):
        return seed
    def schedule(self, cluster, state):
        if state == 3:
            raise KeyError("seed 3")
"""
KILLS = 10


class Nodes:
    """A cluster: a head, which stays, and two nodes that can be killed. One core each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.client_port = free.getsockname()[1]
        head = {"num_cpus": 1, "include_dashboard": False, "ray_client_server_port": self.client_port}
        self.cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        self.others = [self.cluster.add_node(num_cpus=1) for _ in range(2)]
        self.environment = os.environ | {"RAY_ADDRESS": self.cluster.address}

    def kill_one(self, chance: random.Random) -> None:
        """Kill a node's first process with SIGKILL, which ends its workers; another node takes its place."""
        node = self.others.pop(chance.randrange(2))
        os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGKILL)
        self.others.append(self.cluster.add_node(num_cpus=1, wait=False))

    def start(self, line: str, folder: Path, *more: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "packenv.cli.main", *line.split(), *more]
        return subprocess.Popen(
            words, cwd=folder, env=self.environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )

    def run(self, line: str, folder: Path, *more: str, status: int = 0) -> str:
        """What the command says on standard error."""
        process = self.start(line, folder, *more)
        _, said = process.communicate(timeout=500)
        assert process.returncode == status, said
        return said


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    found = Nodes()
    yield found
    found.cluster.shutdown()


@pytest.mark.parametrize("name", [name if name == IN_CI else pytest.param(name, marks=pytest.mark.minutes) for name in COMMANDS])
def test_results_are_those_of_one_machine(name: str, nodes: Nodes, tmp_path: Path) -> None:
    nodes.run(COMMANDS[name], tmp_path, "--json", "here.json")
    nodes.run(COMMANDS[name], tmp_path, "--json", "there.json", "--on", "ray")
    assert timeless(tmp_path / "there.json") == timeless(tmp_path / "here.json")


@pytest.mark.minutes
def test_evolution(nodes: Nodes, tmp_path: Path) -> None:
    """The agent is the same, to the byte."""
    line = "train paper/fig3a --rate 0.014 --population 6 --horizon 3000 --samples 4000"
    line += " --evaluation-slots 1000 --evaluation-seeds 1 --judge-every 0"
    nodes.run(line, tmp_path, "--name", "here")
    nodes.run(line, tmp_path, "--name", "there", "--on", "ray")
    here, there = (tmp_path / "runs" / name / "agent.safetensors" for name in ("here", "there"))
    assert here.read_bytes() == there.read_bytes()


@pytest.mark.minutes
def test_through_a_client(nodes: Nodes, tmp_path: Path) -> None:
    """The command runs outside the cluster."""
    nodes.run(EVALUATE, tmp_path, "--json", "here.json")
    nodes.run(EVALUATE, tmp_path, "--json", "there.json", "--on", f"ray://127.0.0.1:{nodes.client_port}")
    assert timeless(tmp_path / "there.json") == timeless(tmp_path / "here.json")


@pytest.mark.minutes
def test_nodes_that_die_change_nothing(nodes: Nodes, tmp_path: Path) -> None:
    """KILLS times, at random moments, the log is whole and the answer the same."""
    line = f"{COMMANDS['leaderboard']} --slots 200000"
    nodes.run(line, tmp_path, "--json", "here.json")
    chance, kills = random.Random(4), 0
    while kills < KILLS:
        (tmp_path / "log").unlink(missing_ok=True)
        process = nodes.start(line, tmp_path, "--json", "there.json", "--on", "ray", "--log", "log")
        wait = 8.0  # so that the kills come while it runs
        while kills < KILLS and not ended_within(process, wait):
            nodes.kill_one(chance)
            kills += 1
            wait = 4 * chance.random()
        _, said = process.communicate(timeout=500)
        assert process.returncode == 0, said
        assert timeless(tmp_path / "there.json") == timeless(tmp_path / "here.json")
        assert len((tmp_path / "log").read_text().splitlines()) == 8


@pytest.mark.minutes
def test_a_driver_that_dies_goes_on_from_its_log(nodes: Nodes, tmp_path: Path) -> None:
    line = f"{COMMANDS['leaderboard']} --seeds 24"
    nodes.run(line, tmp_path, "--json", "here.json")
    process = nodes.start(line, tmp_path, "--json", "there.json", "--on", "ray", "--log", "log")
    log = tmp_path / "log"
    began = time.monotonic()
    while (not log.exists() or log.read_text().count("\n") < 5) and time.monotonic() < began + 120:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    done = log.read_text().count("\n")
    assert 5 <= done < 48
    said = nodes.run(line, tmp_path, "--json", "there.json", "--on", "ray", "--log", "log")
    assert f"{done} of 48 runs are in log already" in said
    assert timeless(tmp_path / "there.json") == timeless(tmp_path / "here.json")


@pytest.mark.minutes
def test_a_policy_of_ones_own_is_sent(nodes: Nodes, tmp_path: Path) -> None:
    """The nodes work in other folders, and know nothing of the module. A run that raises is said, and the others go on."""
    (tmp_path / "failing.py").write_text(FAILING)
    line = "evaluate paper/fig4b -p failing:Failing -p bf-js --slots 200 --seeds 5 --on ray --json out.json"
    said = nodes.run(line, tmp_path, status=2)
    assert "packenv: failing:Failing on paper/fig4b, seed 3: " in said and "KeyError: 'seed 3'" in said
    assert "1 of 10 runs failed" in said
    assert {record["policy"] for record in json.loads((tmp_path / "out.json").read_text())} == {"bf-js"}
    said = nodes.run(line, tmp_path, "--fail-fast", status=2)
    assert "KeyError: 'seed 3' (" in said and "failing.py, line " in said and "runs failed" not in said
    nodes.run(line.replace("--seeds 5", "--seeds 3"), tmp_path)


def test_other_versions_are_refused(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    from packenv.executors.local import executor

    monkeypatch.setenv("RAY_ADDRESS", nodes.cluster.address)
    with executor("ray") as cluster:
        assert cluster.submit(len, [1, 2]).result(120) == 2
        assert (cluster.nodes, cluster.workers) == (3, 3)  # type: ignore[attr-defined]
        version, sources, python = cluster.versions  # type: ignore[attr-defined]
        for versions, why in (
            (("9.9", sources, python), f"has packenv {version}, and 9.9 is wanted"),
            ((version, "x", python), f"has other sources of packenv {version}"),
            ((version, sources, "3.99.1"), f"has Python {python}, and 3.99.1 is wanted"),
        ):
            cluster.versions = versions  # type: ignore[attr-defined]
            with pytest.raises(InputError, match=why):
                cluster.submit(len, []).result(120)


def test_what_ray_raises_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.exceptions import OutOfMemoryError, RaySystemError, WorkerCrashedError

    from packenv.executors import ray_cluster

    assert isinstance(ray_cluster._plain(OutOfMemoryError("node n: 5 GB\nmore")), MemoryError)
    assert "too little memory on a node: " in str(ray_cluster._plain(OutOfMemoryError("node n: 5 GB\nmore")))
    assert isinstance(ray_cluster._plain(WorkerCrashedError()), RuntimeError)
    assert "a node has no packenv" in str(ray_cluster._plain(RaySystemError("No module named 'packenv'")))
    assert isinstance(ray_cluster._plain(MisuseError("x")), MisuseError)


@pytest.mark.minutes
def test_too_little_memory_on_a_node() -> None:
    """The node's limit is below what it has taken before it begins."""
    limits = {"RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "200", "RAY_ADDRESS": "local"}
    code = "import time, packenv\nwith packenv.executor('ray', 1) as pool: pool.submit(time.sleep, 60).result(300)"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | limits, capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        "MemoryError: too little memory on a node: 1 worker(s) were killed due to the node running low on memory" in done.stderr
    )


def test_no_cluster(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from packenv.executors import ray_cluster
    from packenv.executors.local import executor

    monkeypatch.setattr(ray_cluster, "PATIENCE", 1.0)
    with pytest.raises(InputError, match=r"no cluster answers at ray://127\.0\.0\.1:1 within 1 s"):
        executor("ray://127.0.0.1:1")
    assert "packenv: waiting for a cluster at ray://127.0.0.1:1, at most 1 s" in capfd.readouterr().err
    with pytest.raises(InputError, match="ray://HOST:PORT is wanted"):
        executor("ray://nowhere")


def ended_within(process: subprocess.Popen[str], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def timeless(path: Path) -> Any:
    """The JSON of a result without what depends on the machine's speed."""
    found = contents(path)
    assert found
    return found
