"""The networks of agents that learn: small enough for compiled inference, which reads the same weights by the same names.

`shared` looks at every action with the same weights, so virtual queues and servers may be permuted and their number may
vary; `linear` adds up a few properties of an action, with weights that depend on how much waits; `mlp` looks at all
arrays at once, and knows only the numbers it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, linear

from packenv.envs.observation.actions import CONTEXT
from packenv.errors import InputError, nearest
from packenv.learning.agents.learned import COUNT, SIZE, TERMS
from packenv.learning.agents.saved import SavedAgent

KINDS = ("shared", "linear", "mlp")
INVALID = -1e8
"""The score of an action that is not valid: its probability is 0."""

Observation = Mapping[str, Tensor]


class Rows(NamedTuple):
    """A row for every valid action of every environment, N in all (few of E · A are valid), environment by environment."""

    features: Tensor  # (N, F)
    context: Tensor  # (E, C)
    environment: Tensor  # (N,) which environment a row belongs to
    first: Tensor  # (E,) the first row of each
    place: Tensor  # (N,) where its score goes in (E · A)
    valid: Tensor  # (E, 1) how many each environment has


def rows_of(seen: Observation, mask: Tensor) -> Rows:
    """The rows of the valid actions."""
    actions, valid = seen["actions"], mask.sum(1, keepdim=True)
    place = mask.flatten().nonzero().squeeze(1)
    environment = torch.div(place, mask.shape[1], rounding_mode="floor")
    first = valid.squeeze(1).long().cumsum(0) - valid.squeeze(1).long()
    return Rows(actions.flatten(0, 1).index_select(0, place), seen["context"], environment, first, place, valid)


class Spread(torch.autograd.Function):
    """(E, H) to (N, H): what an environment has in common, for each of its rows."""

    @staticmethod
    def forward(ctx: Any, common: Tensor, rows: Rows) -> Tensor:
        ctx.rows = rows
        return common.index_select(0, rows.environment)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return summed(gradients[0], ctx.rows), None


class Gather(torch.autograd.Function):
    """(N, H) to (E, H): the sum over the rows of each environment."""

    @staticmethod
    def forward(ctx: Any, each: Tensor, rows: Rows) -> Tensor:
        ctx.rows = rows
        return summed(each, rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0].index_select(0, ctx.rows.environment), None


spread: Callable[[Tensor, Rows], Tensor] = Spread.apply
gather: Callable[[Tensor, Rows], Tensor] = Gather.apply


def summed(each: Tensor, rows: Rows) -> Tensor:
    """The sums, by the one kernel that adds up neighbouring rows side by side (index_add takes eight times as long)."""
    return embedding_bag(torch.arange(len(each)), each, rows.first, mode="sum")


def layer_of(layer: nn.Linear, own: Tensor, common: Tensor, rows: Rows) -> Tensor:
    """(N, H) relu(W [own; common] + b), the common part computed once per environment."""
    width = own.shape[1]
    of_common = spread(linear(common, layer.weight[:, width:], layer.bias), rows)
    return torch.relu_(torch.addmm(of_common, own, layer.weight[:, :width].T))


def mean_of(each: Tensor, rows: Rows) -> Tensor:
    """(E, H) mean over the valid actions of each environment."""
    return gather(each, rows) / rows.valid


class SharedActor(nn.Module):
    """A score for every action, from its own features, the context, and the mean of what the valid actions look like."""

    def __init__(self, features: int, context: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(features + context, hidden)
        self.second = nn.Linear(2 * hidden, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, rows: Rows) -> Tensor:
        """(N,) scores of the valid actions."""
        first = layer_of(self.first, rows.features, rows.context, rows)
        second = layer_of(self.second, first, mean_of(first, rows), rows)
        scores: Tensor = self.last(second).squeeze(1)
        return scores


def with_later_features(given: Tensor, own: Tensor) -> Tensor:
    """First weights from before the last features were there, with nothing for them: the context follows the features."""
    more = own.shape[1] - given.shape[1]
    if more <= 0:
        return given
    return torch.cat((given[:, :-CONTEXT], given.new_zeros(len(given), more), given[:, -CONTEXT:]), dim=1)


class SharedCritic(nn.Module):
    """The value of a state, from the context and the mean of what the valid actions look like."""

    def __init__(self, features: int, context: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(features + context, hidden)
        self.second = nn.Linear(hidden + context, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, rows: Rows) -> Tensor:
        """(E, 1)."""
        mean = mean_of(layer_of(self.first, rows.features, rows.context, rows), rows)
        value: Tensor = self.last(torch.relu(self.second(torch.cat((mean, rows.context), dim=1))))
        return value


class LinearActor(nn.Module):
    """⟨w + q·v, terms of the action⟩, q being its feature 18, the logarithm of what waits.

    At first only the size counts: best fit.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(2, TERMS))  # w, v
        with torch.no_grad():
            self.weights[0, SIZE] = 1.0

    def forward(self, rows: Rows) -> Tensor:
        """(N,) scores of the valid actions."""
        plain, scaled = linear(terms_of(rows.features), self.weights).unbind(1)
        return plain + rows.features[:, 18] * scaled


def terms_of(features: Tensor) -> Tensor:
    """(N, TERMS) of actions, as packenv.learning.agents.learned.set_terms."""
    passing, size, left, filled, jobs = (features[:, k] for k in (1, 2, 3, 4, 12))
    exact, fitting, excess, queue = (features[:, k] for k in (14, 15, 16, 17))
    count, large = float(COUNT), (size > 0.5).float()
    shares = size, left, filled, left.sqrt(), filled.sqrt(), large
    counts = size * jobs * count, queue * count, exact * count, passing
    company = large * exact * count, large * fitting * count, large * (exact == 0), large * (fitting == 0)
    return torch.stack((*shares, *counts, *company, (1 - 2 * large) * excess * count), dim=1)


class Mlp(nn.Module):
    """Plain layers."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        widths = [inputs, hidden, hidden, outputs]
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in pairwise(widths)])

    def forward(self, x: Tensor) -> Tensor:
        """(E, inputs) to (E, outputs)."""
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        result: Tensor = self.layers[-1](x)
        return result


def flattened(seen: Observation) -> Tensor:
    """(E, inputs) all arrays but the mask, in the order of their names, on a scale of logarithms."""
    x = torch.cat([seen[name].flatten(1) for name in sorted(seen) if name != "action_mask"], dim=1)
    return torch.sign(x) * torch.log1p(torch.abs(x))


class Network(nn.Module):
    """An actor, and a critic where the algorithm asks for one. Masks are found in the observation, or given.

    Raises InputError for an unknown kind, or an observation that the kind cannot read.
    """

    def __init__(self, seen: spaces.Space[Any], actions: int, kind: str, hidden: int, critic: bool = True) -> None:
        super().__init__()
        if kind not in KINDS:
            raise InputError(f"unknown network {kind!r}{nearest(kind, KINDS)}")
        assert isinstance(seen, spaces.Dict)
        shapes = {name: space.shape or () for name, space in seen.spaces.items() if name != "action_mask"}
        self.by_action = kind != "mlp"
        self.actor: nn.Module
        self.critic: nn.Module
        if self.by_action:
            if set(shapes) != {"actions", "context"}:
                raise InputError(f"the {kind} network reads the observation `actions`; for others there is the network mlp")
            widths = shapes["actions"][1], shapes["context"][0], hidden
            self.actor = SharedActor(*widths) if kind == "shared" else LinearActor()
            self.critic = SharedCritic(*widths) if critic else nn.Identity()
        else:
            inputs = sum(int(np.prod(shape)) for shape in shapes.values())
            self.actor = Mlp(inputs, hidden, actions)
            self.critic = Mlp(inputs, hidden, 1) if critic else nn.Identity()
        self._begin()

    def _begin(self) -> None:
        """Orthogonal weights; scores begin near 0, so that no action is preferred."""
        for part, last in ((self.actor, 0.01), (self.critic, 1.0)):
            layers = [layer for layer in part.modules() if isinstance(layer, nn.Linear)]
            for layer in layers:
                nn.init.orthogonal_(layer.weight, gain=last if layer is layers[-1] else 2**0.5)
                nn.init.zeros_(layer.bias)

    def begin_with(self, agent: SavedAgent) -> None:
        """Take over an agent's actor. Raises InputError if it is another kind of network, or has other sizes."""
        own = self.actor.state_dict()
        given = {name.removeprefix("actor."): torch.from_numpy(array) for name, array in agent.weights.items()}
        if isinstance(self.actor, SharedActor) and "first.weight" in given:
            given["first.weight"] = with_later_features(given["first.weight"], own["first.weight"])
        if {name: array.shape for name, array in own.items()} != {name: array.shape for name, array in given.items()}:
            raise InputError(f"{agent.name}: its network is not of the kind and size that is to be trained")
        self.actor.load_state_dict(given)

    def read(self, seen: Observation, mask: Tensor) -> Any:
        """The observation as actor and critic take it: `Rows`, or all arrays in one."""
        return rows_of(seen, mask) if self.by_action else flattened(seen)

    def scores(self, read: Any, mask: Tensor) -> Tensor:
        """(E, A) the actor's score of every action; INVALID where the mask is 0."""
        found: Tensor = self.actor(read)
        if self.by_action:
            return found.new_full((mask.numel(),), INVALID).index_copy(0, read.place, found).view_as(mask)
        return found.masked_fill(mask == 0, INVALID)

    def values(self, read: Any) -> Tensor:
        """(E, 1) the critic's value."""
        value: Tensor = self.critic(read)
        return value

    def exported(self) -> dict[str, NDArray[np.float32]]:
        """The actor's weights under the names that compiled inference knows."""
        return {f"actor.{name}": value.detach().cpu().numpy().copy() for name, value in self.actor.state_dict().items()}


def mask_of(seen: Observation, given: Any = None) -> Tensor:
    """(E, A) float: 1 where an action is valid. All are where none is: an episode that is over has no decision to make."""
    if given is not None:
        mask = torch.as_tensor(given).float()
    else:
        mask = seen["action_mask"] if "action_mask" in seen else seen["actions"][:, :, 0]
    return torch.where(mask.sum(dim=1, keepdim=True) > 0, mask, torch.ones_like(mask))
