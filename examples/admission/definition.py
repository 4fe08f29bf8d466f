"""Admission: its options, actions and arrays on a given cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import Definition, Layout, Sizes
from packenv.envs.observation.layout import needs_of_types
from packenv.envs.options import Options
from packenv.policy import BY_INDEX, BY_QUEUE, BY_TYPE

from .rules import AdmissionRules


def layout(sizes: Sizes, capacity: NDArray[np.int64], options: Options, *, patient: bool = True) -> Layout:
    return Layout(
        rules=AdmissionRules(int(patient)),
        needs=needs_of_types(sizes, capacity, BY_QUEUE | BY_INDEX | BY_TYPE),
        actions=2,
        observed={"queue": (sizes.window, sizes.resources + 2), "servers": (sizes.servers, sizes.resources)},
    )


DEFINITION = Definition("Admission", layout)
