"""The runs that the screenshot of TensorBoard shows: training on figure 4(b), beside BF-J/S and a shipped agent.

Writes the folder `runs` in --out (default: experiments/pictures), for `tensorboard --logdir DIR/runs`; the screenshot itself is
taken in a browser. Two million steps take an hour or two. With --quick: a short training.
"""

from collections.abc import Sequence

from experiments.script_options import options_of
from packenv.cli.main import main as packenv

LONG = ("--horizon", "1000000", "--samples", "2000000")
SHORT = ("--horizon", "5000", "--samples", "2048", "--evaluation-slots", "4000", "--evaluation-seeds", "1")


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    runs = str(options.folder / "runs")
    evaluate = ["evaluate", "paper/fig4b", "--intensity", "0.95", "-p", "bf-js", "-p", "agent:fig4b", "--tensorboard", runs]
    if options.processes:
        evaluate += ["--processes", str(options.processes)]
    packenv([*evaluate, "--slots", "20000" if options.quick else "1000000"])
    train = ["train", "paper/fig4b", "--way", "ppo", "--intensity", "0.85:0.99", "--logdir", runs, "--name", "fig4b, long queues"]
    packenv([*train, *(SHORT if options.quick else LONG)])
    print(f"tensorboard --logdir {runs}")


if __name__ == "__main__":
    main()
