"""Quantities, and what a pod asks for, worked by hand with the rules of Kubernetes' documentation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from packenv.errors import InputError
from packenv_kubernetes.requests import quantity, requests_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("500m", Fraction(1, 2)),
        ("2", 2),
        (3, 3),
        (0.5, Fraction(1, 2)),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("128Mi", 128 * 2**20),
        ("1Ki", 1024),
        ("1k", 1000),
        ("1.5Gi", 3 * 2**29),
        ("2e3", 2000),
        ("2E3", 2000),
        ("2E", 2 * 10**18),
        ("1e-3", Fraction(1, 1000)),
        ("100n", Fraction(1, 10**7)),
        ("0", 0),
    ],
)
def test_quantities(text: Any, value: Fraction) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize("text", ["", "-1", "1 Gi", "1Kib", "1g", "m", "1e999", "٣", "1_0", "9" * 31, True, None, [], "nan"])
def test_no_quantities(text: Any) -> None:
    with pytest.raises(InputError, match="is not a quantity such as 500m or 2Gi"):
        quantity(text)


def asking(amount: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": amount}}, **more}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [asking("1"), asking("2")]}, 3),
        ({"containers": [asking("1")], "initContainers": [asking("2"), asking("5"), asking("3")]}, 5),  # one after the other
        ({"containers": [asking("4")], "initContainers": [asking("3")]}, 4),
        ({"containers": [asking("1")], "overhead": {"cpu": "250m"}}, Fraction(5, 4)),
        # a sidecar stays: it counts with the containers, and with init containers that start after it
        ({"containers": [asking("1")], "initContainers": [asking("1", restartPolicy="Always"), asking("3")]}, 4),
        ({"containers": [asking("1")], "initContainers": [asking("3"), asking("1", restartPolicy="Always")]}, 3),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2),  # a limit alone is the request
        ({"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]}, 1),
        ({"containers": [asking("1")], "resources": {"requests": {"cpu": "6"}}}, 6),  # of the pod as a whole
        ({"containers": [asking("1"), {}], "resources": {"limits": {"cpu": "6"}}}, 1),  # its request is what its containers ask
        ({"containers": [{}, {}], "resources": {"limits": {"cpu": "6"}}, "overhead": {"cpu": "1"}}, 7),  # its limit: none asks
        ({"containers": [asking("0")], "resources": {"limits": {"cpu": "6"}}}, 0),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}], "resources": {"limits": {"cpu": "6"}}}, 2),
        ({"containers": [asking("1")], "resources": {"limits": {"cpu": "6"}, "requests": {"cpu": "3"}}}, 3),
    ],
)
def test_requests(spec: dict[str, Any], cpu: Fraction) -> None:
    assert requests_of(spec) == {"cpu": cpu}


def test_a_limit_of_the_pod_is_the_request_of_what_no_container_asks() -> None:
    spec = {"containers": [asking("1")], "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
    assert requests_of(spec) == {"cpu": 1, "memory": 2**30}


def test_resources_are_counted_apart() -> None:
    spec = {
        "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}, {"resources": None}],
        "initContainers": [{"resources": {"requests": {"cpu": "3", "nvidia.com/gpu": "1"}}}],
    }
    assert requests_of(spec) == {"cpu": 3, "memory": 2**30, "nvidia.com/gpu": 1}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"containers": [asking("two")]}, "containers, requests, cpu: 'two' is not a quantity"),
        ({"containers": {"cpu": 1}}, "containers: a list of objects is expected"),
        ({"containers": [{"resources": {"requests": [1]}}]}, "containers, requests: an object with quantities is expected"),
        ({"containers": [{"resources": "all"}]}, "containers: resources are not an object"),
        ({"overhead": {"memory": "-1Gi"}}, "overhead, memory: '-1Gi' is not a quantity"),
    ],
)
def test_bad_specs(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        requests_of(spec)


@pytest.mark.parametrize(
    ("spec", "given", "more", "cpu"),
    [
        ("1", {"allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "3"}}}, {}, 3),  # it shrinks
        ("4", {"allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "2"}}}, {}, 4),  # deferred
        ("1", {"allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "3"}}}, {}, 3),  # it has not yet given back
        ("4", {"allocatedResources": {"cpu": "2"}}, {"resize": "Infeasible"}, 2),
        (
            "4",
            {"allocatedResources": {"cpu": "2"}},
            {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]},
            2,
        ),
        ("4", {"name": "another", "allocatedResources": {"cpu": "9"}}, {}, 4),
    ],
)
def test_resizes(spec: str, given: dict[str, Any], more: dict[str, Any], cpu: int) -> None:
    status = {"containerStatuses": [{"name": "c"} | given], **more}
    assert requests_of({"containers": [asking(spec, name="c")]}, status)["cpu"] == cpu
