"""The three environments' rules, as the core needs them: what the cluster keeps, how many actions, what is observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.virtual_queues.kinds import kind_levels, scalar_capacity, server_kinds
from packenv.envs.observation.actions import CONTEXT, FEATURES
from packenv.envs.options import Options, one_of
from packenv.errors import InputError
from packenv.policy import BY_DEMAND, BY_INDEX, BY_LINE, BY_MIX, BY_QUEUE, BY_ROOM, BY_SIZE, BY_TYPE, Needs
from packenv.theory.configurations import maximal_configurations
from packenv.theory.partition import reduced_bounds, reduced_configurations

MOST_ACTIONS = 2**20
MOST_CONFIGURATIONS = 20_000
"""All maximal ones are that many up to J = 5."""

PLACEMENT_RULES = ("largest", "head", "window")
SERVER_ORDERS = ("tightest", "index")
CONFIGURATION_RULES = ("vqs-bf", "vqs")
CONFIGURATION_SETS = ("reduced", "maximal")


Shapes = Mapping[str, tuple[int, ...]]


class Sizes(NamedTuple):
    """The numbers that shape an environment."""

    servers: int  # L
    resources: int  # D
    kinds: int  # G
    types: int  # 2J, or as many as were asked for
    levels: int  # J; 0: types of equal width
    window: int  # K


@dataclass(frozen=True)
class Rules:
    """One environment: its face, and what its steps work on."""

    face: Any  # see packenv.envs.core.step
    form: int
    needs: Needs
    actions: int
    width: int
    seen: Shapes  # shapes of the observation's arrays, in order
    books: bool  # whether ages of jobs and rooms of servers are kept
    table: NDArray[np.int64]  # (G, N, 2J) configurations
    known: NDArray[np.int64]  # (G,)


def sizes_of(capacity: NDArray[np.int64], levels: int, options: Options) -> Sizes:
    kinds = len(server_kinds(scalar_capacity(capacity))[1])
    if options.types is not None:
        return Sizes(capacity.shape[0], capacity.shape[1], kinds, options.types, 0, options.window)
    return Sizes(capacity.shape[0], capacity.shape[1], kinds, 2 * levels, levels, options.window)


def _needs(sizes: Sizes, capacity: NDArray[np.int64], orders: int) -> Needs:
    """With the partition I's types, or with types of equal width up to the largest capacity."""
    needs = Needs(orders, vectors=sizes.resources > 1, levels=sizes.levels)
    if sizes.levels:
        return needs
    most = scalar_capacity(capacity).max()
    return needs._replace(types=most * np.arange(sizes.types, 0, -1, dtype=np.int64) // sizes.types)


def _check_actions(actions: int) -> int:
    if actions > MOST_ACTIONS:
        raise InputError(f"{actions} actions are too many; ServerFill's do not grow with the number of servers")
    return actions


def _orders(sizes: Sizes, observation: str) -> int:
    """Orders that observations and masks ask for."""
    orders = BY_TYPE | (BY_LINE | BY_MIX if observation != "compact" else 0)
    if sizes.resources > 1:
        return orders | BY_DEMAND | BY_QUEUE
    return orders | BY_SIZE | (BY_QUEUE if observation == "full" else 0)


def _seen(sizes: Sizes, options: Options, actions: int, compact: Shapes, full: Shapes) -> Shapes:
    """Shapes of the observation, in order: of the arrays that are always shown, and of those that only full shows."""
    if options.observation == "actions":
        return {"actions": (actions, FEATURES), "context": (CONTEXT,)}
    if options.observation == "compact":
        return compact
    return {"queue": (sizes.window, sizes.resources + 2), **compact, **full}


def _no_table(sizes: Sizes) -> dict[str, Any]:
    return {"table": np.zeros((sizes.kinds, 0, sizes.types), np.int64), "known": np.zeros(sizes.kinds, np.int64)}


def placement(sizes: Sizes, capacity: NDArray[np.int64], options: Options, *, rule: str = "largest") -> Rules:
    """The whole cluster at once."""
    from packenv.envs.placement.rules import WINDOW, PlacementFace

    form = one_of("rule", rule, PLACEMENT_RULES)
    full = options.observation == "full"
    width = sizes.window if form == WINDOW else sizes.types
    own = (0, BY_LINE, BY_QUEUE)[form]
    needs = _needs(sizes, capacity, _orders(sizes, options.observation) | own)
    actions = _check_actions(sizes.servers * width + 1)
    shown = {
        "virtual_queues": (sizes.kinds * sizes.types, 4 if full else 2),
        "servers": (sizes.servers, sizes.resources + (sizes.types if full else 0)),
    }
    seen = _seen(sizes, options, actions, shown, {})
    return Rules(PlacementFace(), form, needs, actions, width, seen, "actions" in seen, **_no_table(sizes))


def server_fill(
    sizes: Sizes, capacity: NDArray[np.int64], options: Options, *, order: str = "tightest", passing: bool = True
) -> Rules:
    """One server at a time."""
    from packenv.envs.server_fill.rules import ServerFillFace

    form = one_of("order", order, SERVER_ORDERS)
    width = one_of("passing", passing, (False, True))
    full = options.observation == "full"
    orders = _orders(sizes, options.observation)
    if sizes.resources == 1:
        orders |= (BY_ROOM, BY_INDEX)[form]
    shown = {"virtual_queues": (sizes.types, 4 if full else 2), "server": (sizes.resources + (sizes.types + 2 if full else 0),)}
    seen = _seen(sizes, options, sizes.types + 1, shown, {"cluster": (sizes.resources + sizes.types + 1,)})
    needs = _needs(sizes, capacity, orders)
    books = options.observation != "compact"
    return Rules(ServerFillFace(), form, needs, sizes.types + 1, width, seen, books, **_no_table(sizes))


def configuration(
    sizes: Sizes,
    capacity: NDArray[np.int64],
    options: Options,
    *,
    rule: str = "vqs-bf",
    configurations: str = "reduced",
) -> Rules:
    """Empty servers ask for a configuration. Tasks are packed by scalar size, as VQS and VQS-BF do."""
    from packenv.envs.configuration.rules import VQS, ConfigurationFace

    form = one_of("rule", rule, CONFIGURATION_RULES)
    if not sizes.levels:
        raise InputError("configurations are of the partition's types: Configuration has J, not types")
    maximal = one_of("configurations", configurations, CONFIGURATION_SETS) == 1
    full = options.observation == "full"
    scalar = scalar_capacity(capacity)
    kind, kind_capacity = server_kinds(scalar)
    levels = kind_levels(sizes.levels, kind_capacity)
    found = [_configurations(j, sizes.types, maximal) for j in levels]
    known = np.array([len(table) for table in found])
    table = np.zeros((sizes.kinds, known.max(), sizes.types), np.int64)
    for k, rows in enumerate(found):
        table[k, : len(rows)] = rows
    orders = _orders(sizes._replace(resources=1), options.observation) | BY_INDEX | BY_MIX | (BY_LINE if form == VQS else 0)
    least = (kind_capacity >> np.array(levels))[kind] if form == VQS else None
    needs = Needs(orders, levels=sizes.levels, least=least)
    actions = _check_actions(int(known.max()))
    shown = {
        "virtual_queues": (sizes.types, 4 if full else 2),
        "servers": (sizes.servers, sizes.resources + (sizes.types if full else 0) + 1),
    }
    seen = _seen(sizes, options, actions, shown, {"configurations": (sizes.types,)})
    return Rules(ConfigurationFace(), form, needs, actions, int(maximal), seen, "actions" in seen, table, known)


def _configurations(levels: int, types: int, maximal: bool) -> NDArray[np.int64]:
    """Configurations of a kind of server with `levels` levels, as counts of each type."""
    rows = maximal_of_partition(levels) if maximal else reduced_configurations(levels)
    return np.pad(rows, ((0, 0), (0, types - rows.shape[1])))


def maximal_of_partition(levels: int) -> NDArray[np.int64]:
    """(N, 2J) all maximal configurations of the upper-rounded types of the partition I, in descending lexicographic order."""
    whole = 3 << levels  # in these units every supremum is whole
    return maximal_configurations(reduced_bounds(levels, whole), whole, MOST_CONFIGURATIONS).astype(np.int64)


MAKERS: dict[str, Callable[..., Rules]] = {"Placement": placement, "ServerFill": server_fill, "Configuration": configuration}
OWN_OPTIONS = {"Placement": ("rule",), "ServerFill": ("order", "passing"), "Configuration": ("rule", "configurations")}
