"""JobFill for Gymnasium: one environment, and a batch."""

from __future__ import annotations

from packenv.envs.documentation import documented
from packenv.envs.interfaces.batched import BatchEnv
from packenv.envs.interfaces.single import SingleEnv
from packenv.envs.job_fill.definition import DEFINITION
from packenv.envs.job_fill.features import CLUSTER_FEATURES, GROUP_FEATURES


class JobFill(SingleEnv):
    """One server at a time: from which group of identical tasks, of which job, does the next one start there?

    ## Description
    Jobs of many tasks, in phases or with predecessors, of one or several resources, with or without values, owners and places
    of their data: any finite table of jobs, such as the workload `analytics`. Decisions are about servers on which waiting
    tasks fit, in index order. Offered are groups of tasks that are alike (job, phase, demand, expected service): those that fit
    on the server, `window` at most; those with data there first, then those with data in the rack, and of these the jobs with
    the least work left first. With `choices` only the best of these are offered, by the score of Tetris, alignment less twice
    the work left, each over its mean: always taking the first is Tetris. The only group that fits on a server then starts
    without a decision. Sizes of action and observation do not depend on the number of jobs, servers or resources.

    Tasks of a group may have their data on different servers. The one that starts is the nearest to its data on the server
    of the decision: one whose data lie there, or that has none; else one with data in the rack; else any. Of equally near ones
    the earliest row starts. With `ask="always"` tasks with different data are in different groups.

    ## Action Space
    `Discrete(K + 1)`: a = n starts the nearest task of the n-th group that is offered. The last action passes: the server is left
    out until its next completion, the next task that becomes eligible, or until no task is in service anywhere. While none is,
    it is not valid (but with `ask="always"`), so that something runs while something waits.

    `info["action_mask"]` (int8) and `action_masks()` (bool) say which actions are valid. In place of one
    that is not, `invalid` says what is done; with "wait" it counts as pass.

    ## Observation Space
    `actions` (K + 1, F), a row of features for every action, and `context` (C,), of the cluster: see the tables below.
    (*): also written for the action that passes. Scarcity of a resource: Σ demand · expected slots over the tasks that have
    arrived and not started, eligible or not, over the capacity of the cluster. "compact" and "full" are not offered.

    ## Its Own Rewards
    | `"completion"` | minus the unfinished jobs, in every slot: over an episode minus the sum of completion times |
    |---|---|
    | `"overtaking"` | minus the waiting jobs with less work left than that of a task, times its work, when it starts |
    | `"value"` | as `completion`, each job weighted by its value |
    | `"makespan"` | minus the slots that pass |

    `"overtaking"` is the part of `completion`, shaped by a potential, that a choice among tasks decides
    (`packenv.envs.rewards.overtaking`), with a fraction of the noise. The others may end in `:unfairness=PRICE`, as in
    `"completion:unfairness=2"`: a job (or tenant) with waiting tasks and no share of the cluster costs the price in every
    slot, one with half its fair share half the price, and one with its fair share nothing. A fair share is one over the jobs
    (or tenants) with eligible tasks. In sum: the price times `packenv.results.fairness.missing_shares`.

    With `window` or `ask` but not `choices` all groups of the window, 8 by default, are offered.
    An episode begins with an empty cluster, without a guard, and takes no `J` or `types`.

    ## Own Arguments
    | `passing` | False | no server is passed while a group is offered; or True |
    | `choices` | 4 | groups that are offered, of the `window` (32) that are looked at, the best by score; None: all |
    | `ask` | `"changed"` | `"always"`: passed servers are asked again in every slot, and after a round with a start |
    """

    definition = DEFINITION


documented(JobFill, of_jobs=(GROUP_FEATURES, CLUSTER_FEATURES))


class JobFillVector(BatchEnv):
    """A batch of `JobFill`: see there, and `BatchEnv`."""

    definition = DEFINITION
