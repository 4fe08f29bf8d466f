"""The environments by name, and what each is."""

from __future__ import annotations

import inspect

from packenv.envs.faces.batched import BatchEnv
from packenv.envs.faces.single import SingleEnv

OBSERVED = """
    D resources, L servers, G kinds of server (by capacity), 2J types, K = `window`. Only in full: (f).

    With `observation="actions"` instead: `actions` (A, 17), a row of features for every action (zeros where it is not
    valid), and `context` (9,), a few numbers about the whole cluster, all of order 1 whatever the workload; listed in
    `packenv.envs.observation.actions`. Networks that score every action by the same weights read it.
"""

IN_COMMON = """
    ## Rewards
    Of a step that takes the cluster over some slots (none, for a task that starts): `queue`: −∫ Q dt, Q the waiting
    tasks; `delay`: minus the delays, in slots, of the tasks that started; `size`: size placed less the rate at which
    size arrives; `tasks`: the same of their number; `advantage`: ∫ Q dt of the baseline on the same jobs, less one's own.
    `info["elapsed"]` has the slots.

    ## Starting State
    An empty cluster in slot 0, or what `start` says. `reset(seed=s)`: the jobs that `packenv.simulate` draws with seed s;
    later episodes have other jobs, and so have other seeds. Where a workload draws a table for every seed, each episode
    plays its own; J, and the scales of features, are those of seed 0's table.

    ## Episode End
    Endless workloads are never terminated, only truncated: at `horizon` slots, or when more than `waiting_limit` tasks
    wait. A finite table is terminated when all its work is done. `info["reason"]` says which.

    ## Arguments
    | argument | default | |
    |---|---|---|
{own}    | `workload` | `"paper/fig4b"` | a name, a `.json` file, or a `packenv.Workload` (also of a finite table of jobs) |
    | `servers` | the workload's | 5, "3x1,2x0.5", "3x1:0.5" (two resources), capacities |
    | `load`, `intensity`, `rate` | the workload's | a number, or a pair from which each episode draws its own |
    | `horizon` | 10,000 | slots of an episode; None: never truncated |
    | `J` | the workload's | levels of the universal partition: 2J virtual queues |
    | `types` | None | so many virtual queues in place of 2J, for sizes of equal width up to the largest server |
    | `window` | 16 | K, how many of the oldest waiting tasks are shown |
    | `observation` | `"full"` | or `"compact"`, `"actions"` |
    | `mask_in_observation` | False | adds `action_mask` to the observation |
    | `reward` | `"queue"` | `"delay"`, `"size"`, `"tasks"`, `"advantage"`, or a function of a `Passage` |
    | `baseline` | `"bf-js"` | the policy that `advantage` compares with |
    | `invalid_penalty` | 0 | taken from the reward for an invalid action |
    | `waiting_limit` | 1,000 | more waiting tasks truncate the episode |
    | `guard` | None | a compiled policy that schedules in the agent's place, unasked, in every slot that |
    | `guard_limit` | 500 | begins with more than so many tasks waiting; `info["guarded"]`: slots that passed so |
    | `start` | `"empty"` | `"warm"`, `Warm(policy, slots)`, or a list of (size, server, slots that remain) in service |
    | `record_schedule` | False | keeps when and where each task started, for `schedule()` |
    | `render_mode` | None | `"rgb_array"`, `"human"`, `"ansi"` |

    Raises InputError for what cannot be, with the nearest names.

    ## Vectorized
    `gymnasium.make_vec(…, num_envs=N, vectorization_mode="vector_entry_point", autoreset_mode=…)` steps N clusters in
    one compiled call (one for each row where tables are drawn by seed); row i is the single environment with seed s + i.
    `packenv.envs.faces.sb3.PackVecEnv` is the same for Stable-Baselines3.

    ## Version History
    v0: first.
"""


def documented(kind: type[SingleEnv]) -> type[SingleEnv]:
    """Complete a docstring by what all environments have in common; `{own}` is replaced by the rows of its own arguments."""
    own, _, rest = (kind.__doc__ or "").partition("## Own Arguments\n")
    kind.__doc__ = inspect.cleandoc(own.rstrip() + "\n" + OBSERVED + IN_COMMON.replace("{own}", rest.rstrip() + "\n"))
    return kind


@documented
class Placement(SingleEnv):
    """Which job goes on which server: the whole cluster at once.

    ## Description
    Jobs arrive at a cluster, wait, are put on servers, run and leave (Psychas and Ghaderi, arXiv 1901.05998). The agent
    places waiting tasks one at a time, several in one slot if it likes, or waits for the next event: an arrival, a
    completion, or both.

    ## Action Space
    `Discrete(L·2J + 1)`: a = server·2J + j starts the largest task of virtual queue j that fits on the server (`rule`
    "head": its head of line, if that fits). With `rule` "window" `Discrete(L·K + 1)`: a = server·K + k starts the k-th
    oldest waiting task. The last action waits.

    `info["action_mask"]` (int8) and `action_masks()` (bool) say which actions are valid. An invalid action counts as wait.

    ## Observation Space
    A Dict of float32 arrays. Amounts are in units of capacity, times in slots; all are at least 0.

    | key | shape | |
    |---|---|---|
    | `queue` | (K, D + 2) | (f) of the oldest waiting tasks: demand of each resource, age, 1 where there is a task |
    | `virtual_queues` | (G·2J, 4 or 2) | tasks, largest that fits on any server, (f) size waiting, (f) age of the head |
    | `servers` | (L, D + 2J or D) | of each server: free amount of each resource, (f) jobs in service of each type |
    | `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

    ## Own Arguments
    | `rule` | `"largest"` | or `"head"`, `"window"` |
    """

    kind = "Placement"


@documented
class ServerFill(SingleEnv):
    """One server at a time: which virtual queue does it serve next?

    ## Description
    Servers with room for something that waits are asked in turn, the tightest first (`order` "index": the first). Sizes of
    action and observation do not depend on the number of servers: an agent trained on 5 runs on 1,000.

    ## Action Space
    `Discrete(2J + 1)`: a = j starts the largest task of virtual queue j that fits on the server at hand. The last
    action passes: the server is not asked again before its next completion or the next arrival.

    `info["action_mask"]` (int8) and `action_masks()` (bool) say which actions are valid. An invalid action counts as pass.

    ## Observation Space
    A Dict of float32 arrays. Amounts are in units of capacity, times in slots; all are at least 0.

    | key | shape | |
    |---|---|---|
    | `queue` | (K, D + 2) | (f) of the oldest waiting tasks: demand of each resource, age, 1 where there is a task |
    | `virtual_queues` | (2J, 4 or 2) | tasks, largest that fits on the server at hand, (f) size waiting, (f) age of the head |
    | `server` | (D + 2J + 2 or D,) | the one at hand: free amounts, (f) jobs by type, (f) mean and deviation of their ages |
    | `cluster` | (D + 2J + 1,) | (f) free share of each resource; share of servers by the type of their room; the last: none |
    | `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

    ## Own Arguments
    | `order` | `"tightest"` | or `"index"` |
    | `passing` | True | False: a server may not be passed, and what can only be done in one way is done unasked |
    """

    kind = "ServerFill"


@documented
class Configuration(SingleEnv):
    """An empty server takes a configuration, and keeps it until it is empty again.

    ## Description
    The decision of VQS and VQS-BF: how many jobs of each type a server serves at a time. The agent is asked only when a
    server is empty and something waits (that fits on it); tasks then start by the rules of VQS-BF (`rule` "vqs": of VQS). Several
    resources are packed by scalar size, the largest demand.

    ## Action Space
    `Discrete(4J − 4)`: the reduced configurations in the order of PAPERS §1.4, `core.rules.table` (G, A, 2J). With
    `configurations` "maximal": all maximal ones, in descending lexicographic order, up to J = 5.

    `info["action_mask"]` (int8) and `action_masks()` (bool) say which actions are valid. All are valid, except where
    servers differ and small ones have fewer; an invalid action counts as 0.

    ## Observation Space
    A Dict of float32 arrays. Amounts are in units of capacity, times in slots; all are at least 0.

    | key | shape | |
    |---|---|---|
    | `queue` | (K, D + 2) | (f) of the oldest waiting tasks: demand of each resource, age, 1 where there is a task |
    | `virtual_queues` | (2J, 4 or 2) | tasks, largest that fits on the empty server, (f) size waiting, (f) age of the head |
    | `servers` | (L, D + 2J + 1 or D + 1) | of each server: free amounts, (f) jobs of each type, 1 for the one at hand |
    | `configurations` | (2J,) | (f) active configurations of the busy servers, added up |
    | `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

    ## Own Arguments
    | `rule` | `"vqs-bf"` | or `"vqs"` |
    | `configurations` | `"reduced"` | or `"maximal"` |
    """

    kind = "Configuration"


class PlacementVector(BatchEnv):
    """`Placement`, batched: see there, and `BatchEnv`."""

    kind = "Placement"


class ServerFillVector(BatchEnv):
    """`ServerFill`, batched: see there, and `BatchEnv`."""

    kind = "ServerFill"


class ConfigurationVector(BatchEnv):
    """`Configuration`, batched: see there, and `BatchEnv`."""

    kind = "Configuration"
