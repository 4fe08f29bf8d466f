"""Seeds of episodes: pure functions of the environment's seed and the number of the episode.

The first episode has the jobs that `packenv.simulate` draws with the same seed; seeds of later episodes are hashes. So a
row of a batch has the same episodes as a single environment with its seed.
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
    """Seed of the jobs of an episode, 0 ≤ seed < 2^63; that of episode 0 is the environment's own."""
    return root if episode == 0 else mix((mix(root + GOLDEN & WORD) + episode * GOLDEN) & WORD) & MOST


def share(seed: int) -> float:
    """A number in [0, 1) that is a function of the seed: where in its range the load of the episode lies."""
    return (mix(seed * FIRST + GOLDEN & WORD) >> 11) * 2.0**-53
