"""Configuration: its options, actions and arrays on a given cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.virtual_queues.kinds import kind_levels, scalar_capacity, server_kinds
from packenv.envs.configuration.policy_action import policy_action
from packenv.envs.configuration.rules import VQS, ConfigurationRules
from packenv.envs.core.definition import Definition, Layout, Sizes
from packenv.envs.observation.layout import checked_actions, observed_shapes, orders_for
from packenv.envs.options import Options, one_of
from packenv.errors import InputError
from packenv.policy import BY_INDEX, BY_LINE, BY_MIX, Needs
from packenv.theory.configurations import maximal_configurations
from packenv.theory.partition import reduced_bounds, reduced_configurations

RULES = ("vqs-bf", "vqs")  # in the order of packenv.envs.configuration.rules
SETS = ("reduced", "maximal")
MOST_CONFIGURATIONS = 20_000
"""Enough for all maximal configurations up to J = 5."""


def layout(
    sizes: Sizes, capacity: NDArray[np.int64], options: Options, *, rule: str = "vqs-bf", configurations: str = "reduced"
) -> Layout:
    """Configuration on a cluster of capacity (L, D) units. Tasks are packed by scalar size, as VQS and VQS-BF do."""
    if not sizes.levels:
        raise InputError("configurations are of the partition's types: Configuration has J, not types")
    maximal = one_of("configurations", configurations, SETS) == 1
    rules = ConfigurationRules(one_of("rule", rule, RULES), int(maximal))
    full = options.observation == "full"
    kind, kind_capacity = server_kinds(scalar_capacity(capacity))
    levels = kind_levels(sizes.levels, kind_capacity)
    table, known = configuration_table([configurations_of(j, sizes.types, maximal) for j in levels])
    orders = orders_for(sizes._replace(resources=1), options.observation) | BY_INDEX | BY_MIX
    least = None
    if rules.rule == VQS:
        orders |= BY_LINE
        least = (kind_capacity >> np.array(levels))[kind]
    actions = checked_actions(int(known.max()))
    always = {
        "virtual_queues": (sizes.types, 4 if full else 2),
        "servers": (sizes.servers, sizes.resources + (sizes.types if full else 0) + 1),
    }
    observed = observed_shapes(sizes, options, actions, always, {"configurations": (sizes.types,)})
    return Layout(
        rules=rules,
        needs=Needs(orders, levels=sizes.levels, least=least),
        actions=actions,
        observed=observed,
        summaries="actions" in observed,
        configurations=table,
        known=known,
    )


def configuration_table(found: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(G, N, 2J) the configurations of all kinds of server, padded with zeros, and (G,) how many each has."""
    known = np.array([len(rows) for rows in found])
    table = np.zeros((len(found), known.max(), found[0].shape[1]), np.int64)
    for kind, rows in enumerate(found):
        table[kind, : len(rows)] = rows
    return table, known


def configurations_of(levels: int, types: int, maximal: bool) -> NDArray[np.int64]:
    """(N, types) configurations of a kind of server with `levels` levels, as counts of each type."""
    rows = maximal_of_partition(levels) if maximal else reduced_configurations(levels)
    return np.pad(rows, ((0, 0), (0, types - rows.shape[1])))


def maximal_of_partition(levels: int) -> NDArray[np.int64]:
    """(N, 2J) all maximal configurations of the upper-rounded types of the partition I, in descending lexicographic order."""
    whole = 3 << levels  # in these units every supremum is whole
    return maximal_configurations(reduced_bounds(levels, whole), whole, MOST_CONFIGURATIONS).astype(np.int64)


DEFAULTS = {"observation": "normalized", "reward": "size", "invalid": "nearest", "segment": 100}

DEFINITION = Definition("Configuration", layout, policy_action, defaults=DEFAULTS)
