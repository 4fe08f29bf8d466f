"""The runs that the screenshot of TensorBoard shows: training on figure 4(b), beside BF-J/S and a shipped agent.

Writes the folder `runs` in --out (default: experiments/pictures), for `tensorboard --logdir DIR/runs`; the screenshot itself is
taken in a browser. Twelve million samples take a few hours on two cores. With --quick: a short training on small networks.
"""

from collections.abc import Sequence

from experiments.script_options import options_of
from packenv.cli.main import main as packenv

LONG = ("--envs", "64", "--steps", "512", "--horizon", "1000000", "--samples", "12000000")
SHORT = ("--envs", "8", "--steps", "32", "--horizon", "5000", "--samples", "2048", "--batch", "64", "--evaluation-slots", "2000")


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    runs = str(options.folder / "runs")
    evaluate = ["evaluate", "paper/fig4b", "--intensity", "0.95", "-p", "bf-js", "-p", "agent:fig4b", "--tensorboard", runs]
    if options.processes:
        evaluate += ["--processes", str(options.processes)]
    packenv([*evaluate, "--slots", "20000" if options.quick else "1000000"])
    train = ["train", "paper/fig4b", "--intensity", "0.85:0.99", "--logdir", runs, "--name", "fig4b, long queues", "--resume"]
    if options.quick:
        packenv([*train, *SHORT, "--judge-every", "0", "--evaluation-seeds", "1"])
    else:
        packenv([*train, *LONG, "--from", "fig4b"])
    print(f"tensorboard --logdir {runs}")


if __name__ == "__main__":
    main()
