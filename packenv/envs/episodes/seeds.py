"""Seeds of episodes: functions of seed and episode number.

The first episode has the jobs of `packenv.simulate` with the same seed. Seeds of later episodes are hashes. So a row of a batch
has the same episodes as a single environment with its seed.
"""

from __future__ import annotations

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = 2**64 - 1
MOST = 2**63 - 1


def mix(word: int) -> int:
    """SplitMix64's finaliser."""
    word = ((word ^ (word >> 30)) * FIRST) & WORD
    word = ((word ^ (word >> 27)) * SECOND) & WORD
    return word ^ (word >> 31)


def episode_seed(root: int, episode: int) -> int:
    """Return an episode's seed < 2^63, for episode 0 the root."""
    return root if episode == 0 else mix((mix(root + GOLDEN & WORD) + episode * GOLDEN) & WORD) & MOST


def share(seed: int) -> float:
    """Return an episode's position, [0, 1), in the load range."""
    return (mix(seed * FIRST + GOLDEN & WORD) >> 11) * 2.0**-53
