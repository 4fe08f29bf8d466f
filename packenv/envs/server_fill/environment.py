"""ServerFill for Gymnasium: one environment, and a batch."""

from __future__ import annotations

from packenv.envs.documentation import documented
from packenv.envs.interfaces.batched import BatchEnv
from packenv.envs.interfaces.single import SingleEnv
from packenv.envs.server_fill.definition import DEFINITION


@documented
class ServerFill(SingleEnv):
    """One server at a time: which virtual queue does it serve next?

    ## Description
    Decisions are about servers with room for some waiting task, one by one, the tightest first (`order` "index": the
    first). Sizes of action and observation do not depend on the number of servers: an agent trained on 5 runs on 1,000.

    ## Action Space
    `Discrete(2J + 1)`: a = j starts the largest task of virtual queue j that fits on the server. The last action passes: the
    server is left out until its next completion or the next arrival. With `choices=K`, `Discrete(K + 1)`: a = n does so for the
    n-th of the virtual queues that can be served, counted from 0 and from the largest sizes.

    `info["action_mask"]` (int8) and `action_masks()` (bool) say which actions are valid. An invalid action counts as pass, unless
    `invalid` is "nearest".

    ## Observation Space
    A Dict of float32 arrays. Amounts are in units of capacity, times in slots; all are at least 0.

    | key | shape | |
    |---|---|---|
    | `queue` | (K, D + 2) | (f) of the oldest waiting tasks: demand of each resource, age, 1 where there is a task |
    | `virtual_queues` | (2J, 4 or 2) | tasks, largest that fits on the server, (f) size waiting, (f) age of the head |
    | `server` | (D + 2J + 2 or D,) | of the decision: free amounts, (f) jobs by type, (f) mean and deviation of their ages |
    | `cluster` | (D + 2J + 1,) | (f) free share of each resource; share of servers by the type of their room; the last: none |
    | `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

    ## Own Arguments
    | `order` | `"tightest"` | or `"index"` |
    | `passing` | True | False: no server is passed, and a decision with one choice is carried out without asking |
    | `choices` | None | how many virtual queues there are to choose from: those of the largest tasks that fit; None: all |
    """

    definition = DEFINITION


class ServerFillVector(BatchEnv):
    """A batch of `ServerFill`: see there, and `BatchEnv`."""

    definition = DEFINITION
