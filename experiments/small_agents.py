"""Train an agent on each of the six small workloads `small/…`, and compare its queue with the shortest of any policy.

The optimal policy is the teacher: the agent imitates it, and one iteration of PPO with a tiny learning rate follows (with three
sizes 2 million samples, whose agents are compared every 400,000). The observation "compact" tells how many tasks of each size
wait and the room of each server, which says what is in service there.
With --quick: on the first workload alone, with little imitation and short runs.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.script_options import options_of
from packenv import find_policy, workload
from packenv.cli.main import main as packenv
from packenv.runs.run import by_policy, runs_of
from packenv.runs.runner import RunOptions, run_all
from packenv.runs.statistics import Interval, ratio_of_means

IMITATION = {
    "small/fig3a": 1500,
    "small/fig3a-busy": 2000,
    "small/two-servers": 10_000,
    "small/three-sizes": 8000,
    "small/worst-vqs-bf": 6000,
    "small/worst-vqs": 6000,
}
"""Steps of imitation, on 64 clusters."""
TRAIN = "--env Placement --network mlp --hidden 128 --observation compact --guard none --samples 32768 --learning-rate 1e-6"
MORE = {
    "small/three-sizes": "--samples 2000000 --learning-rate 1e-4 --reward queue --average-reward"
    " --evaluate-every 400000 --evaluation-slots 500000"
}
"""Options that take the place of those of TRAIN."""
UNSEEN = 5000
"""The first seed of the comparison: training and its evaluations have seen none of them."""


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    processes = ["--processes", str(options.processes)] if options.processes else []
    with TemporaryDirectory() as folder:
        for name, steps in [*IMITATION.items()][: 1 if options.quick else None]:
            policy, agent = (str(Path(folder) / f"{kind}-{name.replace('/', '-')}") for kind in ("optimal", "agent"))
            say(["optimal-policy", name, "--out", policy, "--slots", "1000", "--seeds", "1", *processes])
            teacher = ["--imitate", f"optimal:{policy}", "--imitation-steps", str(100 if options.quick else steps)]
            log = ["--judge-every", "0", "--threads", "1", "--logdir", folder, "--out", agent]
            more = [] if options.quick else MORE.get(name, "").split()
            say(["train", name, *TRAIN.split(), *more, *teacher, "--against", f"optimal:{policy}", *log])
            slots, seeds = (20_000, 2) if options.quick else (1_000_000, 16)
            ratio = ratio_to_optimal(name, [f"optimal:{policy}", f"agent:{agent}"], slots, seeds, options.processes)
            said = " to ".join(f"{end:.4f}" for end in ratio[1:] if end is not None)
            print(f"{name}: {ratio.mean:.4f} times the queue of the optimal policy (95 %: {said})\n", flush=True)


def ratio_to_optimal(name: str, policies: list[str], slots: int, seeds: int, processes: int | None) -> Interval:
    """The second policy's mean queue over the first's, with a 95 % interval, on the same jobs."""
    runs = runs_of(workload(name), [find_policy(each) for each in policies], range(UNSEEN, UNSEEN + seeds), slots)
    queues = by_policy(policies, [result.mean_queue for result in run_all(runs, RunOptions(processes))])
    return ratio_of_means(queues[policies[1]], queues[policies[0]])


def say(command: list[str]) -> None:
    """Print a command, and run it."""
    print(f"$ {shlex.join(['packenv', *command])}", flush=True)
    packenv(command)


if __name__ == "__main__":
    main()
