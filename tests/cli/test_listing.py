"""`packenv list` shows every policy with its parameters and their defaults."""

from __future__ import annotations

import inspect
import re

import pytest
from click.testing import CliRunner

from packenv.cli.listing import listing
from packenv.policy import find_policy, name_of, registered
from packenv.workloads.find import workload
from packenv.workloads.named.registry import WORKLOADS

POLICIES = [name for name in registered() if name not in ("agent", "optimal", "replay")]


@pytest.fixture(scope="module")
def listed() -> str:
    result = CliRunner().invoke(listing, env={"COLUMNS": "1000"})
    assert result.exit_code == 0, result.output
    return result.output


def told_of(name: str, listed: str) -> str:
    """What is said beside and below a name."""
    found = re.search(rf"^  {re.escape(name)} +(.*\n(?:    +.*\n)*)", listed, re.MULTILINE)
    assert found is not None
    return " ".join(found[1].split())


@pytest.mark.parametrize("name", POLICIES)
def test_every_parameter_is_listed_with_its_default(name: str, listed: str) -> None:
    told = told_of(name, listed)
    for key, parameter in inspect.signature(type(find_policy(name))).parameters.items():
        assert f"{key}={parameter.default}" in told


def test_parameters_of_hawk_and_drf_are_listed(listed: str) -> None:
    hawk = told_of("hawk", listed)
    assert hawk.endswith(" cutoff=-1.0, reserved=-1.0, ratio=2, minimum=2, delay=0.0005, attempts=10")
    assert told_of("drf", listed).endswith(" checked=0")


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_a_tuple_of_parameters_with_defaults(name: str) -> None:
    policy = find_policy(name)
    assert isinstance(policy, tuple)
    assert policy._fields == tuple(policy._field_defaults)  # type: ignore[attr-defined]
    assert name_of(policy) == name


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_line_on_a_workload_is_true_of_it(name: str) -> None:
    made, row = workload(name), WORKLOADS[name]
    at_once = made.jobs is not None and made.jobs.arrival[-1] == 0
    arrivals = (len(made.jobs or ()), None) if at_once else (float(f"{made.rate:.4g}"), float(f"{made.intensity:.3f}"))
    assert (row.resources, row.servers, row.arrivals, row.intensity) == (made.D, len(made.servers), *arrivals)
