"""Docstrings of environments: common headings and tables of features."""

from __future__ import annotations

from dataclasses import fields

from packenv.envs.core.definition import Definition
from packenv.envs.core.features import CONTEXT, FEATURES, OF_CONFIGURATIONS, OF_TASKS, Features
from packenv.envs.core.state import REASONS
from packenv.envs.options import Options
from packenv.envs.registration import FORMER

OBSERVED = """
D resources, L servers, G kinds of server (by capacity), 2J types, K = `window`. (f): only in "full".

With `observation="actions"` instead: `actions` (A, {features}), a row of features for every action (zeros where it is not
valid), and `context` ({context},), about the whole cluster. All are of order 1 whatever the workload: a share is of the
largest server, of all servers or of the time named; a log count n is log(1 + n) / 5, a log count per root
log(1 + n · √(5 / L)) / 5, a log age a log(1 + a / mean service) / 5. Networks that score every action by the same weights
read this observation.

With `observation="normalized"`: the same numbers in one flat array within [−1, 1], for libraries without support for
actions' features. Flags stay as they are. Others are twice the number less 1, at most 1, and 0 where an action is invalid.
`feature_names` has a name for each number.

{table}
"""

OBSERVED_OF_JOBS = """
All are of order 1 whatever the number of jobs, servers and resources, the unit of time and the sizes: shares are of what is
free, of the server or of the cluster; ratios are to the mean over the waiting tasks that are offered, at most 32; a log
count n is log(1 + n) / 5. Networks that score every action by the same weights read this observation.

With `observation="normalized"`: the same numbers in one flat array within [−1, 1], for libraries without support for
actions' features: `feature_names` has a name for each.

{table}
"""

IN_COMMON = """
## Rewards
Rewards for the slots from one decision to the next (none after a started task): `queue`: −∫ Q dt, Q the waiting tasks;
`delay`: minus the delays, in slots, of the tasks that started; `size`: size placed less the rate at which size arrives;
`work`: the same, but a task counts its size slot by slot while it is in service, over the mean service; `tasks`: as `size`,
for the number of tasks; `advantage`: ∫ Q dt of the baseline on the same jobs, less the agent's. For whole jobs (JobFill):
`completion`: −∫ unfinished jobs dt, over an episode minus the sum of the jobs' completion times; `value`: the same, each
times the value of its job; `makespan`: minus the slots that pass. For one machine's jobs (NextJob): `slowdown`, `wait`.
`info["elapsed"]` has the slots. A sum of rewards begins at the first decision. The queue before it, and tasks that started
without a decision, count in `info["mean_queue"]` but in no reward. NextJob's `slowdown` and `wait` count them too.

## Info
The same keys after every step and reset, numbers only (and, if asked for, `reward_terms`):

| key | |
|---|---|
| `elapsed` | slots since the last decision |
| `slot` | the present slot |
| `invalid` | whether the action was not valid |
| `action_mask` | (A,) int8, 1 for valid actions |
| `seed` | of the episode: `packenv.simulate` draws the same jobs with it |
| `reason` | why the episode ended: {reasons}; 0 while it goes on |
| `mean_queue`, `mean_delay`, `mean_waiting_size` | of the episode so far: tasks, slots per started task, sizes (as of a run) |
| `utilisation` | of the episode so far: of the resource that is used most |
| `baseline_queue`, `baseline_delay` | of `baseline` on the same jobs (†), at the end, else −1; only with `yardstick` or `perf` |
| `perf` | at the end of an episode, else −1: from 0, twice `baseline_queue`, to 1, the proved bound (*); only with `perf` |
| `reward_terms` | the terms that add up to the reward, by name; only with `reward_terms` |
| `guarded` | of the slots since the last decision, those under the guard; only with `guard` |

(*) on the long-run mean queue of any policy (`packenv.queue_bound`), 0 where none is known, such as for tables. With the mean
queue Q, the bound B and W = 2 · `baseline_queue` it is (W − Q) / (W − B), cut off at 0 and 1. If all work is done it uses delays.
(†) over the same slots if the episode is truncated. If all work is done (`reason` 3), agent and baseline took different times,
and mean queues are over different slots. Then compare `mean_delay` with `baseline_delay`: the ratio compares all waiting.

## Starting State
An empty cluster in slot 0, or as `start` says. `reset(seed=s)` begins with the jobs that `packenv.simulate` draws with seed s.
Later episodes and other seeds have other jobs. If a workload draws a table for every seed, each episode plays its own.
J, and the scales of features, are those of seed 0's table.

## Episode End
Endless workloads are never terminated, only truncated: at `horizon` slots, or when more than `waiting_limit` tasks
wait. A table or a log is terminated when its work is done. It is also truncated if `horizon` or `waiting_limit` is given.
`info["reason"]` has the reason, and `packenv.envs.REASONS` the texts. It stays 0 if a wrapper ended the episode, such as the
wrapper of `gymnasium.make(…, max_episode_steps=…)`.

## Arguments
| argument | default | |
|---|---|---|
{own}| `workload` | {workload} | a name, a `.json` file, a trace, a table, or a `packenv.Workload` |
| `servers` | the workload's | 5, "3x1,2x0.5", "3x1:0.5" (two resources), capacities |
| `slot_seconds`, `resources`, `columns`, `time_unit` | None | of a trace or a table: as of `packenv.workload` |
| `partition`, `finished_only`, `estimates`, `speedup` | None | of a log or a trace: likewise |
| `jobs` | {jobs} | of a table: number of tasks in an episode, from a random one on; None: the whole table |
| `load`, `intensity`, `rate` | the workload's | a number, or a pair from which each episode draws its own |
| `horizon` | 10,000; of a table None | slots of an episode, 100 mean services of `paper/fig4b`; None: no limit |
| `J` | the workload's | levels of the universal partition: 2J virtual queues |
| `types` | {types} | number of virtual queues instead of 2J, of equal width up to the largest server |
| `window` | {window} | K, the number of oldest waiting tasks shown |
| `observation` | {observation} | or {other_observations} |
| `mask_in_observation` | False | adds `action_mask` to the observation |
| `reward` | {reward} | one of those above, or a function of a `Passage` |
| `baseline` | {baseline} | the policy that `advantage` and `yardstick` compare with |
| `yardstick` | {yardstick} | whether `info` has the baseline's mean queue and delay at the end of an episode |
| `perf` | False | whether `info` has `perf`; the bound takes seconds when the environment is made |
| `reward_terms` | False | whether `info` has the terms of the reward |
| `invalid` | {invalid} | what invalid actions do: the same as the `"nearest"` valid one, or the `"first"`; or `"wait"` |
| `invalid_penalty` | 0 | taken from the reward for an invalid action |
| `waiting_limit` | 1,000; of a table None | more waiting tasks truncate the episode; None: no limit |
| `guard` | None | a compiled policy that schedules in place of the agent while many tasks wait |
| `guard_limit` | 500 | in slots that begin with more tasks waiting; `info["guarded"]`: such slots |
| `start` | `"empty"` | `"warm"`, `Warm(policy, slots)`, or a list of (size, server, slots that remain) in service |
| `record_schedule` | False | records when and where each task started, for `schedule()` |
| `render_mode` | None | `"rgb_array"`, `"human"`, `"ansi"` |

Raises InputError for impossible arguments, with the nearest names.

## Vectorized
`gymnasium.make_vec(…, num_envs=N, vectorization_mode="vector_entry_point", autoreset_mode=…)` steps N clusters in
one compiled call (one for each row where tables are drawn by seed); row i is the single environment with seed s + i.
`packenv.envs.PackVecEnv` is the same for Stable-Baselines3.

## Version History
v1 (0.10.0): plain algorithms learn from the defaults. Those of v0 were {former}.
`…Normalized-v1` of 0.5.0 to 0.9.0 is v1 now, which in ServerFill has 4 choices, where it had 2.
v0: first. `cluster` of ServerFill counts servers with room above the largest type of their kind under that type
(0.1.0 counted them as full).
"""


PLAIN = {option.name: option.default for option in fields(Options)}


def documentation(definition: Definition) -> str:
    """Return an environment's docstring, its own headings and arguments first."""
    description = definition.description or ""
    if definition.features is None:
        return description
    introduction, _, arguments = description.partition("## Own Arguments\n")
    of_tasks = definition.features in (OF_TASKS, OF_CONFIGURATIONS)
    observed = OBSERVED if of_tasks else OBSERVED_OF_JOBS
    observed = observed.format(features=FEATURES, context=CONTEXT, table=feature_table(definition.features))
    reasons = ", ".join(f"{code} {text}" for code, text in enumerate(REASONS) if text)
    common = IN_COMMON.replace("{own}", arguments.rstrip() + "\n").replace("{reasons}", reasons)
    for name, value in {**PLAIN, **definition.defaults}.items():
        common = common.replace("{" + name + "}", f'`"{value}"`' if isinstance(value, str) else str(value))
    absent = tuple(f"| `{name}" for name in definition.without)  # `guarded` of infos goes with `guard`
    common = "\n".join(line for line in common.split("\n") if not (absent and line.startswith(absent)))
    known = ("full", "compact", "actions", "normalized") if of_tasks else ("actions", "normalized")  # "flat" is a default
    observations = [observation for observation in known if observation != definition.defaults.get("observation")]
    common = common.replace("{other_observations}", ", ".join(f'`"{observation}"`' for observation in observations))
    former = ", ".join(f"`{key}={value!r}`" for key, value in FORMER.get(definition.name, {}).items())
    history = "## Version History\n"
    if not former:
        common = common.partition(history)[0] + history + "v1: first."
    return (introduction.rstrip() + "\n" + observed + common.replace("{former}", former)).rstrip("\n")


def feature_table(features: Features) -> str:
    lines = [f"| `actions` | {features.subject} | scale |", "|---|---|---|"]
    for n, feature in enumerate(features.of_action):
        lines.append(f"| {n} `{feature.name}` | {feature.of_start}{' (*)' * feature.of_wait} | {feature.scale} |")
    if features is OF_TASKS:
        lines += ["", "(*) also of the action that waits or passes; without a server at hand only 0, 1 and 18. Its others are 0."]
    lines += ["", "| `context` | of the cluster | scale |", "|---|---|---|"]
    lines += [f"| {n} `{feature.name}` | {feature.of_start} | {feature.scale} |" for n, feature in enumerate(features.of_context)]
    return "\n".join(lines)
