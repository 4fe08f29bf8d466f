"""Workloads by name, such as `packenv.workload("paper/fig4b")`.

A new named workload is a function in a file of this folder that returns a `Workload`, and a line in `WORKLOADS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from packenv.errors import InputError, nearest
from packenv.inputs.text_files import STANDARD_INPUT
from packenv.lazy_names import load

if TYPE_CHECKING:
    from packenv.workloads.workload import Workload

ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".sqlite", ".swf", ".tr", ".gz")
"""Endings of files that are traces."""


class Named(NamedTuple):
    """Maker of a workload, `file:function`, and its facts for `packenv list`."""

    maker: str
    resources: int
    servers: int
    arrivals: float  # tasks per slot; number of tasks if all arrive in slot 0
    intensity: float | None  # None: all tasks arrive in slot 0
    arguments: tuple[Any, ...] = ()  # of the function


WORKLOADS: dict[str, Named] = {
    "paper/fig3a": Named("random_requirements:fig3a", 1, 1, 0.014, 0.7),
    "paper/fig3b": Named("random_requirements:fig3b", 1, 1, 0.0306, 0.918),
    "paper/fig4a": Named("random_requirements:fig4a", 1, 5, 0.45, 0.9),
    "paper/fig4b": Named("random_requirements:fig4b", 1, 5, 0.09, 0.9),
    "google2011-like": Named("random_requirements:google2011_like", 2, 160, 0.5039, 0.713),
    "analytics": Named("analytics:analytics", 4, 50, 9.678, 1.5),
    "dag": Named("dag:dag", 2, 10, 0.7633, 0.9),
    "price/fig1": Named("instances:flow_shop", 2, 1, 4, None),
    "price/fig2": Named("instances:phased", 2, 2, 17, None, (10, 3, (10, 10), 4)),
    "price/fig3": Named("instances:phased", 2, 2, 79, None, (30, 5, (30, 30), 9)),
    "price/fig5": Named("instances:phased", 2, 2, 279, None, (100, 5, (10, 10), 4, 5)),
    "price/fig8": Named("instances:phased", 2, 2, 279, None, (100, 5, (30, 30), 4, 5)),
    "price/abundant": Named("instances:price_abundant", 2, 2, 279, None),
    "eagle/google": Named("eagle:eagle", 1, 15000, 0.01066, 0.9, ("google",)),
    "eagle/cloudera": Named("eagle:eagle", 1, 15000, 0.04417, 0.9, ("cloudera",)),
    "eagle/facebook": Named("eagle:eagle", 1, 15000, 0.2002, 0.9, ("facebook",)),
    "eagle/yahoo": Named("eagle:eagle", 1, 4000, 0.02206, 0.9, ("yahoo",)),
    "delay/facebook": Named("blocks:readers", 1, 100, 0.4002, 0.8),
    "delay/racks": Named("blocks:readers", 1, 100, 0.4002, 0.8, (100, 20)),
    "delay/changing": Named("blocks:changing", 1, 100, 0.4002, 0.8),
    "delay/hot": Named("blocks:hot", 1, 100, 0.4002, 0.8),
    "delay/hot-changing": Named("blocks:hot_changing", 1, 100, 0.4002, 0.8),
    "hpc/lublin": Named("lublin:lublin", 1, 1, 0.001846, 0.395),
    "hpc/lublin-70": Named("lublin:lublin", 1, 1, 0.003275, 0.7, (10_000, 128, 0.7)),
    "hpc/lublin-90": Named("lublin:lublin", 1, 1, 0.004211, 0.9, (10_000, 128, 0.9)),
    "gpu/openb-like": Named("gpus:openb_like", 3, 122, 0.1661, 0.9),
    "gpu/openb-like-kinds": Named("gpus:openb_like", 3, 122, 0.1477, 0.8, (40_000, 0.8, True)),
    "small/fig3a": Named("random_requirements:small_workload", 1, 1, 0.14, 0.7, ("small/fig3a",)),
    "small/fig3a-busy": Named("random_requirements:small_workload", 1, 1, 0.17, 0.85, ("small/fig3a-busy",)),
    "small/two-servers": Named("random_requirements:small_workload", 1, 2, 0.2857, 0.706, ("small/two-servers",)),
    "small/three-sizes": Named("random_requirements:small_workload", 1, 1, 0.168, 0.7, ("small/three-sizes",)),
    "small/worst-vqs-bf": Named("random_requirements:small_workload", 1, 1, 0.3709, 0.833, ("small/worst-vqs-bf",)),
    "small/worst-vqs": Named("random_requirements:small_workload", 1, 1, 0.5737, 0.797, ("small/worst-vqs",)),
}
"""By name."""


def names() -> list[str]:
    """Return the names of all workloads that come with packenv."""
    return list(WORKLOADS)


def named_workload(name: str) -> Workload:
    """Return the workload with one of the `names`."""
    row = WORKLOADS[name]
    file, _, function = row.maker.partition(":")
    workload: Workload = getattr(load(f"packenv.workloads.named.{file}"), function)(*row.arguments)
    return workload.with_(name=name)


def check_source(text: str) -> None:
    """Raise InputError for a text that names no workload or file."""
    if text in (*WORKLOADS, STANDARD_INPUT) or (text and Path(text).exists()):
        return
    if text.endswith((*ENDINGS, ".json")) or text.startswith((".", "/")):
        raise InputError(f"{Path(text)}: no such file")
    raise unknown_workload(text)


def unknown_workload(text: str) -> InputError:
    """Return the error for an unknown name, with the nearest ones."""
    if Path(text).suffix:
        return InputError(f"{text}: no such file")
    return InputError(f"unknown workload {text!r}{nearest(text, names())} (or a file *.json)")
