"""The table of fields: an array that is named in one line grows, begins anew, is copied and pickled like all others."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import packenv
from packenv.cluster import BY_AGE, BY_DEMAND, BY_INDEX, BY_LINE, BY_MIX, BY_QUEUE, BY_ROOM, BY_SIZE, BY_TYPE, Cluster, Needs
from packenv.cluster.build import build, grow, lengthen
from packenv.cluster.fields import Field, Part, one_row, reset_rows, row_arrays, table_of
from packenv.compiled.frame import Frame
from packenv.units import to_units
from tests.envs.playing import plain_vec

ALL = BY_SIZE | BY_AGE | BY_TYPE | BY_DEMAND | BY_ROOM | BY_INDEX | BY_QUEUE | BY_LINE | BY_MIX
ROOT = Path(__file__).resolve().parents[2]
PER_PLACE, PER_SERVER, SCRATCH = 7, 3, 5


class Marked(Cluster):
    """A cluster with fields of its own."""

    mark: Annotated[NDArray[np.int64], Field("clusters", "places", start=PER_PLACE)]
    label: Annotated[NDArray[np.int32], Field("clusters", "servers", start=PER_SERVER)]
    lined: Annotated[NDArray[np.int64], Field("clusters", "places", orders=BY_LINE)]
    anew: Annotated[NDArray[np.int64], Field("clusters", "places", start=PER_PLACE, rebuilt=True)]
    scratch: Annotated[NDArray[np.int64], Field("clusters", "places", start=SCRATCH, scratch=True)]


def marked(clusters: int, needs: Needs) -> Marked:
    source = packenv.workload("paper/fig4b").source([0] * clusters)
    capacity = to_units(np.ones((5, 1)))
    build(source, capacity, needs, clusters=clusters)  # functions that are compiled apart take what a plain Cluster has
    c = build(source, capacity, needs, clusters=clusters, places=10, record_rows=4, kind=Marked)
    assert isinstance(c, Marked)
    return c


def test_a_field_starts_with_its_value_and_only_with_its_orders() -> None:
    c = marked(2, Needs(BY_TYPE | BY_LINE, levels=4))
    assert c.mark.shape == (2, 10) and (c.mark == PER_PLACE).all()
    assert c.label.shape == (2, 5) and (c.label == PER_SERVER).all()
    assert c.lined.shape == (2, 10)
    assert marked(2, Needs()).lined.shape == (2, 0)


def test_a_field_survives_growth() -> None:
    c = marked(2, Needs(BY_TYPE | BY_LINE, levels=4))
    c.mark[1] = np.arange(10)
    c.anew[1] = np.arange(10)
    c.label[1] = 40
    larger = grow(c, 25)
    assert larger.mark.shape == (2, 25)
    assert larger.mark[1].tolist() == [*range(10), *[PER_PLACE] * 15]
    assert (larger.anew == PER_PLACE).all()
    assert (larger.label[1] == 40).all() and (larger.label[0] == PER_SERVER).all()
    longer = lengthen(larger)
    assert longer.measures.start.shape == (2, 8)
    assert longer.mark[1].tolist() == larger.mark[1].tolist()


def test_a_field_is_reset_with_its_row() -> None:
    c, fresh = marked(3, Needs()), marked(1, Needs())
    c.mark[:], c.scratch[:] = 1, 1
    reset_rows(c, np.array([0, 2]), fresh)
    assert (c.mark[[0, 2]] == PER_PLACE).all() and (c.mark[1] == 1).all()
    assert (c.scratch == 1).all()


def test_a_field_is_seen_in_one_row_and_is_copied_and_pickled() -> None:
    c = marked(2, Needs())
    one = one_row(c, 1, marked(1, Needs()))
    one.mark[0, 3] = 77
    assert c.mark[1, 3] == 77 and one.mark.shape == (1, 10)
    for again in (copy.deepcopy(c), pickle.loads(pickle.dumps(c))):
        assert isinstance(again, Marked)
        assert again.mark[1, 3] == 77
        again.mark[1, 3] = 0
        assert c.mark[1, 3] == 77


def test_a_field_of_an_environment_is_reset_with_its_episode() -> None:
    """In a process of its own: what is compiled for batches of these clusters is not for others."""
    program = f"from {__name__} import check_an_environment\ncheck_an_environment()"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check_an_environment() -> None:
    marked(1, Needs())  # builds a plain cluster first
    with patch("packenv.envs.episodes.core.build", partial(build, kind=Marked)):
        env: Any = plain_vec("Placement", num_envs=3, vectorization_mode="vector_entry_point", servers=2)
        check_rows(env)


def check_rows(env: Any) -> None:
    core = env.core if hasattr(env, "core") else env.unwrapped.core
    core.batch.c.mark[:] = 1
    core.grow()
    assert core.batch.c.mark[1, 0] == 1 and core.batch.c.mark[1, -1] == PER_PLACE
    core.restart([0, 2])
    assert (core.batch.c.mark[[0, 2]] == PER_PLACE).all()
    assert core.batch.c.mark[1, 0] == 1
    kept = core.get_state()
    core.batch.c.mark[1, 0] = 2
    core.set_state(kept)
    assert core.batch.c.mark[1, 0] == 1


def test_every_array_of_a_cluster_is_in_the_table() -> None:
    source = packenv.workload("paper/fig4b").source([0, 0])
    c = build(source, to_units(np.ones((3, 1))), Needs(ALL, levels=3), clusters=2, places=6)
    shared = {"capacity", "scale", "offsets", "successor", "source", "box", "fits"}
    found = [array for name, array in arrays(c) if name not in shared]
    reset = {id(array) for array in row_arrays(c)}
    scratch = {id(array) for array in scratch_of(c)}
    assert all(id(array) in reset | scratch and len(array) == 2 for array in found)


def arrays(frame: Frame) -> list[tuple[str, NDArray[Any]]]:
    found = []
    for name in frame._fields:
        value = getattr(frame, name)
        if isinstance(value, np.ndarray):
            found.append((name, value))
        elif isinstance(value, Frame) and name != "source":
            found += arrays(value)
    return found


def scratch_of(frame: Frame) -> list[NDArray[Any]]:
    rows = [(getattr(frame, name), row) for name, (_, row) in table_of(type(frame)).items()]
    inner = [array for value, row in rows if isinstance(row, Part) for array in scratch_of(value)]
    return [value for value, row in rows if isinstance(row, Field) and row.scratch] + inner
