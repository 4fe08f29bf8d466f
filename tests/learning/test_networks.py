"""The networks: permutations do not matter to the shared one, and the exported weights say what it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from packenv import InputError
from packenv.envs.core.features import CONTEXT, FEATURES
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.saved import load_agent
from tests.reference.networks.network import INVALID, Network, mask_of

E, A, F, C, H = 6, 5, 3, 4, 8
SEEN = spaces.Dict({"actions": spaces.Box(-9, 9, (A, F)), "context": spaces.Box(-9, 9, (C,))})


def observation(seed: int, actions: int = A) -> dict[str, torch.Tensor]:
    made = torch.Generator().manual_seed(seed)
    features = torch.randn((E, actions, F), generator=made)
    valid = (torch.rand((E, actions), generator=made) < 0.6).float()
    valid[:, 0] = 1.0
    features[:, :, 0] = 1.0
    return {"actions": features * valid.unsqueeze(2), "context": torch.randn((E, C), generator=made)}


def network(kind: str = "shared", seen: spaces.Dict = SEEN, actions: int = A) -> Network:
    torch.manual_seed(0)
    made = Network(seen, actions, kind, H, waiting=2)
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    return made


def both(net: Network, seen: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    mask = mask_of(seen)
    with torch.no_grad():
        read = net.read(seen, mask)
        return net.scores(read, mask), net.values(read)


class Caller(torch.nn.Module):
    """A function of a network as a module of its own."""

    def __init__(self, net: Network, function: Callable[[Network], Any]) -> None:
        super().__init__()
        self.net, self.function = net, function

    def forward(self) -> Any:
        return self.function(self.net)


def test_permuted_actions_have_permuted_scores_and_the_same_value() -> None:
    net, seen = network(), observation(1)
    scores, values = both(net, seen)
    order = torch.tensor([3, 0, 4, 1, 2])
    other_scores, other_values = both(net, seen | {"actions": seen["actions"][:, order]})
    assert torch.allclose(scores[:, order], other_scores, atol=1e-5)
    assert torch.allclose(values, other_values, atol=1e-5)


def test_more_actions_that_are_not_valid_change_nothing() -> None:
    net, seen = network(), observation(2)
    scores, values = both(net, seen)
    wider = torch.cat((seen["actions"], torch.zeros(E, 7, F)), dim=1)
    wide_scores, wide_values = both(net, seen | {"actions": wider})
    assert torch.allclose(scores, wide_scores[:, :A], atol=1e-5)
    assert (wide_scores[:, A:] == INVALID).all()
    assert torch.allclose(values, wide_values, atol=1e-5)


def test_the_shared_network_spelled_out() -> None:
    """The formula of the docstring in NumPy, action by action, from the exported weights."""
    net, seen = network(), observation(3)
    scores, _ = both(net, seen)
    w = {name.removeprefix("actor."): array.astype(np.float64) for name, array in net.exported().items()}
    assert {name: array.shape for name, array in w.items()} == {
        "first.weight": (H, F + C),
        "first.bias": (H,),
        "second.weight": (H, 2 * H),
        "second.bias": (H,),
        "last.weight": (1, H),
        "last.bias": (1,),
    }
    for e in range(E):
        actions, context = seen["actions"][e].numpy(), seen["context"][e].numpy()
        valid = [a for a in range(A) if actions[a, 0] == 1]
        first = {a: np.maximum(w["first.weight"] @ [*actions[a], *context] + w["first.bias"], 0) for a in valid}
        mean = np.mean([first[a] for a in valid], axis=0)
        for a in range(A):
            if a not in valid:
                assert scores[e, a] == INVALID
                continue
            second = np.maximum(w["second.weight"] @ [*first[a], *mean] + w["second.bias"], 0)
            assert float(scores[e, a]) == pytest.approx((w["last.weight"] @ second + w["last.bias"]).item(), rel=1e-4)


def test_gradients_of_the_shared_network_are_slopes() -> None:
    """Also where an environment has one valid action, and where the first and the last row are."""
    net, seen = network().double(), {name: array.double() for name, array in observation(4).items()}
    seen["actions"][2, 1:] = 0.0
    mask = mask_of(seen)
    names, weights = zip(*net.named_parameters(), strict=True)

    def outputs(*changed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def computed(own: Network) -> tuple[torch.Tensor, torch.Tensor]:
            read = own.read(seen, mask)
            return own.scores(read, mask)[mask > 0], own.values(read)

        return torch.func.functional_call(Caller(net, computed), {f"net.{n}": w for n, w in zip(names, changed, strict=True)}, ())

    assert torch.autograd.gradcheck(outputs, weights)


def test_the_linear_network_spelled_out() -> None:
    """⟨w + q·v, terms⟩ of the features by their numbers in packenv.envs.core.features; best fit at first."""
    seen = spaces.Dict({"actions": spaces.Box(0, 9, (A, FEATURES)), "context": spaces.Box(0, 9, (CONTEXT,))})
    made = torch.Generator().manual_seed(5)
    batch = {"actions": torch.rand((E, A, FEATURES), generator=made), "context": torch.rand((E, CONTEXT), generator=made)}
    batch["actions"][:, :, 0] = 1.0
    batch["actions"][:2, :, 14:16] = 0.0
    batch["actions"][:, 1, 16] *= -1.0
    first, _ = both(Network(seen, A, "linear", H), batch)
    assert torch.equal(first, batch["actions"][:, :, 2])
    net = network("linear", seen)
    scores, values = both(net, batch)
    assert values.shape == (E, 1)
    w, v = net.exported()["actor.weights"]
    for e in range(E):
        for a, f in enumerate(batch["actions"][e].numpy()):
            jobs, exact, fitting, excess, queue = 5 * f[12], 5 * f[14], 5 * f[15], 5 * f[16], 5 * f[17]
            large = float(f[2] > 0.5)
            terms = [f[2], f[3], f[4], f[3] ** 0.5, f[4] ** 0.5, large, f[2] * jobs, queue, exact, f[1]]
            terms += [exact, fitting, exact == 0, fitting == 0, -excess] if large else [0, 0, 0, 0, excess]
            assert scores[e, a] == pytest.approx((w + f[18] * v) @ terms, abs=1e-3)


def test_the_varying_network_spelled_out() -> None:
    """⟨w + q·v, features⟩, q the third number of the context, plus ⟨u, context⟩ where the second feature is 1."""
    net, seen = network("varying"), observation(6)
    seen["actions"][:, :, 1] = 0.0
    seen["actions"][:, 0, 1] = 1.0
    scores, _ = both(net, seen)
    weights = net.exported()
    w, v, u = (weights[f"actor.{name}"] for name in ("of_action", "per_waiting", "of_context"))
    assert (w.shape, v.shape, u.shape) == ((F,), (F,), (C,))
    for e in range(E):
        context = seen["context"][e].numpy()
        for a, f in enumerate(seen["actions"][e].numpy()):
            wanted = (w + context[2] * v) @ f + (u @ context if a == 0 else 0.0)
            assert scores[e, a] == (pytest.approx(wanted, abs=1e-4) if f[0] else INVALID)


def test_the_mlp_spelled_out() -> None:
    plain = spaces.Dict({"b": spaces.Box(-9, 9, (2,)), "a": spaces.Box(-9, 9, (1, 2)), "action_mask": spaces.Box(0, 1, (A,))})
    net = network("mlp", plain)
    seen = {"b": torch.randn(E, 2), "a": torch.randn(E, 1, 2), "action_mask": torch.tensor([[1.0, 0, 1, 1, 0]]).repeat(E, 1)}
    scores, _ = both(net, seen)
    w = net.exported()
    x = np.concatenate([seen["a"].numpy().reshape(E, -1), seen["b"].numpy()], axis=1)
    x = np.sign(x) * np.log1p(np.abs(x))
    for n in range(2):
        x = np.maximum(x @ w[f"actor.layers.{n}.weight"].T + w[f"actor.layers.{n}.bias"], 0)
    wanted = x @ w["actor.layers.2.weight"].T + w["actor.layers.2.bias"]
    assert np.allclose(scores[:, [0, 2, 3]], wanted[:, [0, 2, 3]], rtol=1e-4, atol=1e-4)
    assert (scores[:, [1, 4]] == INVALID).all()


def test_where_nothing_is_valid_the_values_are_finite() -> None:
    seen = {"actions": torch.zeros(E, A, F), "context": torch.randn(E, C)}
    scores, values = both(network(), seen)
    assert torch.isfinite(values).all() and (scores > INVALID).all()


def test_training_goes_on_from_an_agent_that_did_not_know_the_last_features() -> None:
    """Its scores are the same, whatever they say."""
    seen = spaces.Dict({"actions": spaces.Box(0, 9, (A, FEATURES)), "context": spaces.Box(0, 9, (CONTEXT,))})
    agent = load_agent("fig4a")
    old = agent.weights["actor.first.weight"]
    known = old.shape[1] - CONTEXT
    assert known < FEATURES
    net = Network(seen, A, "shared", len(old))
    net.start_from(agent)
    new = net.exported()["actor.first.weight"]
    later = range(known, FEATURES)
    assert (np.delete(new, later, axis=1) == old).all() and (new[:, later] == 0).all()


def test_a_varying_network_begins_as_a_sum_does() -> None:
    plain, varying, seen = network("sum"), Network(SEEN, A, "varying", H, waiting=2), observation(7)
    about = {"environment": {"kind": "JobFill", "resources": 1, "options": {"J": 4, "observation": "actions"}}, "guard": None}
    agent = SavedAgent("a", about | {"network": {"kind": "sum", "hidden": H, "context": C}}, plain.exported())
    varying.start_from(agent)
    assert torch.equal(both(plain, seen)[0], both(varying, seen)[0])
    torch.nn.init.ones_(varying.actor.per_waiting)  # type: ignore[arg-type]
    assert not torch.allclose(both(plain, seen)[0], both(varying, seen)[0])
    with pytest.raises(InputError, match="not of the kind"):
        network("shared").start_from(agent)


@pytest.mark.parametrize("kind", ["sum", "varying", "shared"])
def test_training_goes_on_from_an_agent_that_knew_fewer_features(kind: str) -> None:
    """Of actions and of the context: the scores are the same, whatever the later features say."""
    about = {"environment": {"kind": "JobFill", "resources": 1, "options": {"J": 4, "observation": "actions"}}, "guard": None}
    before, seen = network(kind), observation(8)
    agent = SavedAgent("a", about | {"network": {"kind": kind, "hidden": H, "context": C}}, before.exported())
    more = {name: torch.cat((array, torch.randn(*array.shape[:-1], 2)), dim=-1) for name, array in seen.items()}
    shapes = {name: spaces.Box(-9, 9, tuple(array.shape[1:])) for name, array in more.items()}
    after = Network(spaces.Dict(shapes), A, kind, H, waiting=2)
    after.start_from(agent)
    assert torch.allclose(both(before, seen)[0], both(after, more)[0], atol=1e-5)


def test_networks_that_cannot_be() -> None:
    plain = spaces.Dict({"queue": spaces.Box(0, 1, (3,))})
    with pytest.raises(InputError, match="network mlp"):
        Network(plain, A, "shared", H)
    with pytest.raises(InputError, match="did you mean shared"):
        Network(SEEN, A, "share", H)
    with pytest.raises(InputError, match="choose `network` sum"):
        Network(SEEN, A, "varying", H)
