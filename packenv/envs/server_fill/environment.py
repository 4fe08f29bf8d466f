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

    `info["action_mask"]` (int8) and `action_masks()` (bool) say which actions are valid. In place of one
    that is not, `invalid` says what is done; with "wait" it counts as pass.

    ## Observation Space
    A Dict of float32 arrays. Amounts are in units of capacity, times in slots; all are at least 0.

    This is `observation="full"` and, without (f), "compact". The default, "flat", is an array within [−1, 1]: of
    each action 12 numbers (zeros where it is not valid), then room and jobs of the server, then `context` as in "normalized".
    Of an action: whether it is valid; `size`, `room_left`, `queue_per_root`, `complements`, `companions` as in "normalized";
    4 `room_filled` − 1; 2 √`room_left` − 1 and 2 √`room_filled` − 1; 2 `excess`; 4 times its size less that of action 0, and 4
    times `room_filled` of action 0 less its own: all cut off at ±1. `feature_names` has a name for each.

    | key | shape | |
    |---|---|---|
    | `queue` | (K, D + 2) | (f) of the oldest waiting tasks: demand of each resource, age, 1 where there is a task |
    | `virtual_queues` | (2J, 4 or 2) | tasks, largest that fits on the server, (f) size waiting, (f) age of the head |
    | `server` | (D + 2J + 2 or D,) | of the decision: free amounts, (f) jobs by type, (f) mean and deviation of their ages |
    | `cluster` | (D + 2J + 1,) | (f) free share of each resource; share of servers by the type of their room; the last: none |
    | `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

    ## Own Arguments
    | `order` | `"tightest"` | or `"index"` |
    | `passing` | False | no server is passed, and a decision with one choice is carried out without asking; or True |
    | `choices` | 4 | how many virtual queues there are to choose from: those of the largest tasks that fit; None: all |
    """

    definition = DEFINITION


class ServerFillVector(BatchEnv):
    """A batch of `ServerFill`: see there, and `BatchEnv`."""

    definition = DEFINITION
