"""Placement for Gymnasium: one environment, and a batch."""

from __future__ import annotations

from packenv.envs.documentation import documented
from packenv.envs.interfaces.batched import BatchEnv
from packenv.envs.interfaces.single import SingleEnv
from packenv.envs.placement.definition import DEFINITION


@documented
class Placement(SingleEnv):
    """Which job goes on which server: the whole cluster at once.

    ## Description
    Jobs arrive at a cluster, wait, are put on servers, run and leave (Psychas and Ghaderi, arXiv 1901.05998). The agent
    places waiting tasks one at a time, several in one slot if it likes, or waits for the next event: an arrival, a
    completion, or both.

    ## Action Space
    `Discrete(S·K + 1)` with `choices=(S, K)`: a = s·K + k starts a task on the s-th of the servers on which some task fits, the
    one with least room first, of servers with equal room the first; there, the largest task that fits of the k-th of the virtual
    queues that it can serve, counted from the largest sizes. So action 0 is what BF-S does. Sizes of action and observation do
    not depend on the number of servers. The last action waits for the next event.

    `Discrete(L·2J + 1)` with `choices=None`: a = server·2J + j starts the largest task of virtual queue j that fits on the server
    (`rule` "head": its head of line, if that fits). With `rule` "window" `Discrete(L·K + 1)`: a = server·K + k starts the k-th
    oldest waiting task. The last action waits. Then the defaults are `observation="normalized"` and `passing=True`, and there
    are 2J virtual queues.

    `info["action_mask"]` (int8) and `action_masks()` (bool) say which actions are valid. In place of one
    that is not, `invalid` says what is done; with "wait" it counts as wait.

    ## Observation Space
    The default, "flat", is an array within [−1, 1]: of each action but the last 12 numbers, as in ServerFill; then room and jobs
    of each of the S servers, then `context` as in "normalized". `feature_names` has a name for each. "full" (f) and "compact"
    are a Dict of float32 arrays, of every server; amounts are in units of capacity, times in slots; all are at least 0.

    | key | shape | |
    |---|---|---|
    | `queue` | (K, D + 2) | (f) of the oldest waiting tasks: demand of each resource, age, 1 where there is a task |
    | `virtual_queues` | (G·2J, 4 or 2) | tasks, largest that fits on any server, (f) size waiting, (f) age of the head |
    | `servers` | (L, D + 2J or D) | of each server: free amount of each resource, (f) jobs in service of each type |
    | `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

    ## Own Arguments
    | `choices` | (3, 4) | how many servers are offered, and virtual queues on each; None: all of them |
    | `passing` | False | the agent waits only where nothing fits, and one choice is carried out without asking; or True |
    | `rule` | `"largest"` | or, with `choices=None`, `"head"`, `"window"` |
    """

    definition = DEFINITION


class PlacementVector(BatchEnv):
    """A batch of `Placement`: see there, and `BatchEnv`."""

    definition = DEFINITION
