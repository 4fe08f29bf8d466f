"""What packenv's own policies and environments must pass, for yours: `check_policy` and `check_environment`.

They raise AssertionError with one line that says what is wrong, and need no test framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.lazy_names import lazy_names

if TYPE_CHECKING:
    from packenv.testing.environments import check_environment as check_environment
    from packenv.testing.policies import check_policy as check_policy
    from packenv.testing.replay import problem_of as problem_of

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {".environments": ["check_environment"], ".policies": ["check_policy"], ".replay": ["problem_of"]},
)
