"""The picture of `packenv judge`: supported fractions of ρ* beside ½ and ⅔."""

from __future__ import annotations

from packenv.files import atomic_path
from packenv.theory.stability.judge import Judgment


def draw_judgments(judged: list[Judgment], path: str) -> None:
    """A bar for each judgment: solid up to what is supported, pale up to what is not; written whole or not at all."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 1.2 + 0.32 * len(judged)), layout="constrained")
    policies = list(dict.fromkeys(judgment.policy for judgment in judged))
    for n, judgment in enumerate(judged):
        colour = f"C{policies.index(judgment.policy) % 10}"
        axes.barh(n, judgment.low, color=colour, height=0.6)
        axes.barh(n, judgment.high - judgment.low, left=judgment.low, color=colour, alpha=0.35, height=0.6)
    for share, label in ((1 / 2, "½"), (2 / 3, "⅔"), (1, "ρ*")):
        axes.axvline(share, color="black", linewidth=1, linestyle=":")
        axes.text(share, 1.01, label, ha="center", va="bottom", transform=axes.get_xaxis_transform())
    axes.set_yticks(range(len(judged)), [f"{judgment.workload}   {judgment.policy}" for judgment in judged])
    axes.set_ylim(len(judged) - 0.4, -0.6)
    axes.set_xlim(0, 1.05)
    axes.set_xlabel("supported fraction of ρ* (pale: not decided)")
    axes.spines[["top", "right"]].set_visible(False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150, format=path.rsplit(".", 1)[-1])
    pyplot.close(figure)
