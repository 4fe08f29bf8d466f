"""The best action of any network: one compiled function, chosen by the network's type."""

from __future__ import annotations

from typing import Any

from packenv.compiled.decorators import dispatched
from packenv.envs.core.state import Batch
from packenv.learning.agents.inference.linear import LinearNetwork, best_of_linear, linear_network
from packenv.learning.agents.inference.mlp import MlpNetwork, best_of_mlp, mlp_network
from packenv.learning.agents.inference.one_array import FROM_LIBRARY, OneArrayNetwork, best_of_one_array
from packenv.learning.agents.inference.shared import SharedNetwork, best_of_shared, shared_network
from packenv.learning.agents.inference.weighted_sum import WeightedSum, best_of_sum, sum_network, varying_network

FROM_WEIGHTS: dict[str, Any] = {
    "shared": shared_network,
    "linear": linear_network,
    "sum": sum_network,
    "varying": varying_network,
    "mlp": mlp_network,
    **FROM_LIBRARY,
}
"""Makes a compiled network from its saved weights, by the kind of network that a saved agent names."""


def best_action(network: Any, b: Batch) -> int:
    """The valid action of the highest score, the first of equals."""
    raise NotImplementedError  # compiled code calls one of those below


dispatched(
    best_action,
    {
        ("best_action", SharedNetwork): best_of_shared,
        ("best_action", LinearNetwork): best_of_linear,
        ("best_action", WeightedSum): best_of_sum,
        ("best_action", MlpNetwork): best_of_mlp,
        ("best_action", OneArrayNetwork): best_of_one_array,
    },
)
