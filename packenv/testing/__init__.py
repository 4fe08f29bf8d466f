"""Promises of packenv's policies and environments, as your tests.

Subclass `PolicyTests` and `EnvironmentTests` in your suite: each promise is a named test. `check_policy` and `check_environment`
run all of them, raise AssertionError with one line, and need no test framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.lazy_names import homes_of, lazy_names

if TYPE_CHECKING:
    from packenv.testing.environments import EnvironmentTests as EnvironmentTests
    from packenv.testing.environments import check_environment as check_environment
    from packenv.testing.policies import PolicyTests as PolicyTests
    from packenv.testing.policies import check_policy as check_policy
    from packenv.testing.replay import problem_of as problem_of

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_names(__name__, homes_of(__file__))
