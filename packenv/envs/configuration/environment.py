"""Configuration for Gymnasium: one environment, and a batch."""

from __future__ import annotations

from packenv.envs.configuration.definition import DEFINITION
from packenv.envs.documentation import documented
from packenv.envs.interfaces.batched import BatchEnv
from packenv.envs.interfaces.single import SingleEnv


class Configuration(SingleEnv):
    """An empty server takes a configuration, and keeps it until it is empty again.

    ## Description
    The decision of VQS and VQS-BF: how many jobs of each type a server serves at a time. The agent decides only when a
    server is empty and a task that fits on it waits; tasks then start by the rules of VQS-BF (`rule` "vqs": of VQS). Several
    resources are packed by scalar size, the largest demand.

    ## Action Space
    `Discrete(4J − 4)`: the reduced configurations in the order of PAPERS §1.4, `core.layout.configurations` (G, A, 2J). With
    `configurations` "maximal": all maximal ones, in descending lexicographic order, up to J = 5.

    `info["action_mask"]` (int8) and `action_masks()` (bool) say which actions are valid. All are valid, except where
    servers differ and small ones have fewer; in place of one that is not,
    `invalid` says what is done; with "wait" it counts as 0.

    ## Observation Space
    A Dict of float32 arrays. Amounts are in units of capacity, times in slots; all are at least 0.

    | key | shape | |
    |---|---|---|
    | `queue` | (K, D + 2) | (f) of the oldest waiting tasks: demand of each resource, age, 1 where there is a task |
    | `virtual_queues` | (2J, 4 or 2) | tasks, largest that fits on the empty server, (f) size waiting, (f) age of the head |
    | `servers` | (L, D + 2J + 1 or D + 1) | free amounts, (f) jobs of each type, 1 for the server of the decision |
    | `configurations` | (2J,) | (f) active configurations of the busy servers, added up |
    | `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

    ## Own Arguments
    | `rule` | `"vqs-bf"` | or `"vqs"` |
    | `configurations` | `"reduced"` | or `"maximal"` |
    """

    definition = DEFINITION


documented(Configuration, of_configurations=True)


class ConfigurationVector(BatchEnv):
    """A batch of `Configuration`: see there, and `BatchEnv`."""

    definition = DEFINITION
