"""Options of each verb. A new line adds one to function and command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from packenv.errors import ArgumentError, InputError
from packenv.inputs.numbers import read_number, read_share
from packenv.options.fields import Count, Folder, JsonFile, OutFile, PolicyName, Range, Seconds, Share, option, options_in
from packenv.options.shared import DEFAULT_SLOTS, OF_TRACES, PROCESSES, Estimates, Reading, WorkloadOptions

WAITING_LIMIT = 5_000_000
"""Default number of waiting tasks that stops a run."""

MEASURES = "mean queue, mean wait, p95 wait, mean completion or makespan"
"""Measures to compare two policies."""

MOST_SEEDS = 128
"""Seeds after which `until` gives up."""

GOAL_EXAMPLES = "p95 wait <= 60s, mean queue <= 10, p99 completion <= 2h, makespan <= 1d, utilisation >= 70%"

PLAN_SEEDS = 4
"""Runs with each number of servers. The same number confirms the answer."""


@dataclass(frozen=True)
class EvaluateOptions:
    """Options of a comparison of policies on a workload."""

    estimate_error: float | None = option(
        None, "Largest relative error of durations that policies see (tables of jobs).", group="Policies"
    )
    cutoff: Seconds | None = option(
        None, "Show jobs with a longer mean task duration separately, as long jobs.", metavar="90s", group="Measures"
    )
    by_size: bool = option(False, "Also show delays by task size: each of a few, or quartiles.")
    by: str | None = option(
        None,
        "Also show delays by user, account, partition, … of a trace, class of a table or stream, or tenant.",
        metavar="LABEL",
    )
    slowdown_bound: Seconds | None = option(
        None,
        "Show bounded slowdowns and responses; shorter durations count as this  [default: 10s; shown for logs of parallel jobs].",
        metavar="10s",
    )
    slots: Count | None = option(
        None, f"Slots to simulate  [default: a trace's own; {DEFAULT_SLOTS:,} otherwise].", group="Run", common=True
    )
    backlog: Count | None = option(None, "Keep N tasks waiting: utilisation shows what a policy can carry.")
    reject: bool = option(False, "Reject tasks that cannot start on arrival; count them by missing resource.")
    drain: bool = option(False, "Run until all work is done.")
    warmup: int | None = option(None, "Slots at the start to leave out of measures  [default: 0 for traces, a tenth otherwise].")
    seed: int = option(0, "First seed.")
    seeds: Count | Iterable[int] = option(
        8, "Runs per policy: new jobs, same for all; traces: random policies only.", typed=1, common=True
    )
    until: Share | None = option(
        None, f"Double the seeds until each mean queue has a 95 % interval of ± this share: 2%; at most {MOST_SEEDS}."
    )
    measure: str | None = option(
        None, "Measure of the figure over several loads: mean_delay, delay_p95, …  [default: mean_queue].", metavar="KEY"
    )
    waiting_limit: Count = option(WAITING_LIMIT, "Stop a run when more tasks wait.", "--max-waiting")

    def __post_init__(self) -> None:
        if self.until is not None:
            until = read_share(self.until)
            if not 0 < until < 1:
                raise ArgumentError(f"`until` must be a share above 0 and below 1, such as 2%, not {self.until!r}")
            object.__setattr__(self, "until", until)


@dataclass(frozen=True)
class CompareOptions:
    """Options that decide whether one side is worse than another."""

    measure: str | None = option(
        None,
        f"Measure: {MEASURES}  [default: mean queue; a trace: mean wait; its jobs: mean completion].",
        metavar="MEASURE",
        group="Comparison",
        common=True,
    )
    margin: Share = option(0.05, "Tolerated disadvantage of A, as a share: 0.05 or 5%.", common=True)
    policy: PolicyName = option("bf-js", "Policy to run when you compare two sets of servers.", "--policy", "-p", common=True)
    slots: Count | None = option(
        None, f"Slots of each run  [default: {DEFAULT_SLOTS:,}; a trace: until all work is done].", common=True
    )
    seeds: Count = option(4, "Runs per side at first; doubled until the comparison is decided.", common=True)
    time: Seconds = option(60.0, "Time limit: seconds, or 10min.", common=True)


@dataclass(frozen=True)
class JudgeOptions:
    """Length of the search for the supported fraction of ρ*."""

    seeds: Count = option(8, "Runs at each load; fewer must be longer, and cost more.", group="Run", common=True)
    width: float = option(0.01, "Stop when the interval is at most this wide (0 to 1).", common=True)
    tasks: Count = option(2_560_000, "Arrivals in the longest runs, at least the default; first runs: a 64th.", common=True)


@dataclass(frozen=True)
class CapacityOptions:
    """Length of the search for a bracket of ρ*."""

    gap: float = option(0.001, "Stop when (upper - lower) / upper is at most this.", group="Search", common=True)
    seconds: Seconds = option(60.0, "Stop after this time: seconds, or 10min.", common=True)


@dataclass(frozen=True)
class OptimumOptions:
    """Options of the search for the shortest schedule."""

    objective: Literal["makespan", "completion"] = option(
        "makespan", "What to minimise: last end, or mean completion time of jobs.", group="Search", common=True
    )
    slots: Count | None = option(None, "Schedule the tasks that arrive in N slots (random workloads).", common=True)
    time_limit: Seconds = option(60.0, "Stop the search after this time: seconds, or 10min.", "--limit", common=True)
    seed: Annotated[int, Range(0)] = option(0, "Seed of the jobs and of the search.")
    gap: float = option(0.0, "Stop within this share of the bound: 0.05 is 5 %.")
    fixed_allocation: bool = option(False, "Assign each task in advance to the server with the least work.")
    workers: Count | None = option(None, "Cores for the search  [default: all].")


@dataclass(frozen=True)
class OptimalPolicyOptions:
    """Options of the policy with the shortest queue, and its test runs."""

    most: Count | None = option(None, "Waiting jobs per size to distinguish  [default: as many as matter].", group="Search")
    within: float = option(1e-4, "Relative error of the mean queue.", common=True)
    seconds: Seconds = option(600.0, "Give up after this time: seconds, or 1h.", common=True)
    slots: Count = option(1_000_000, "Slots of each run that checks the policy.")
    seeds: Count = option(8, "Number of these runs.")


@dataclass(frozen=True)
class LeaderboardOptions:
    """Options of a ranking of policies."""

    reference: PolicyName | None = option(
        None,
        "Policy to divide by; `best`: of each measure, for tables of jobs  [default: bf-js; tables of jobs: best].",
        group="Ranking",
        common=True,
    )
    seeds: Count = option(16, "Number of seeds; all policies get the same jobs.", common=True)
    slots: Count = option(1_000_000, "Slots of each run; tables run to their end.", common=True)
    warmup: Annotated[int, Range(0)] | None = option(
        None, "Slots at the start to leave out of measures  [default: a tenth; traces: 0]."
    )
    judge: bool = option(True, "Also find the fraction of ρ* that each policy keeps stable.", "--judge/--no-judge", common=True)
    matrix: bool = option(False, "Show one table of ratios, policies by workloads; judge nothing.")


@dataclass(frozen=True)
class PlanOptions:
    """Options of a plan. Not every option goes with every question."""

    types: str | None = option(
        None,
        "Server types and costs, for the cheapest mix: 1=0.50,2=0.95; or 1:0.5=0.8.",
        metavar="SERVER=COST,…",
        group="Plan",
        common=True,
    )
    growth: str | None = option(None, "Multiply arrivals by this factor; a trace becomes faster, not longer.", metavar="FACTOR")
    draws: Annotated[int, Range(0, 1000)] | None = option(None, "Also plan for N other draws of days, or seeds  [default: 0].")
    without: str | None = option(
        None, "Servers that fail: 3,7,10-12 (from 0), or names from a list.", metavar="SERVERS", common=True
    )
    add: str | None = option(None, "Server type to add, such as 64:256.", metavar="SERVER", common=True)
    max_demand: float | None = option(None, "Also plan without a trace's tasks that need more than this.")
    slots: Count | None = option(None, f"Slots of each run of a workload  [default: {DEFAULT_SLOTS:,}].", group="Run")
    seeds: Count | None = option(None, f"Runs with each number; N more confirm the answer  [default: {PLAN_SEEDS}].")


@dataclass(frozen=True)
class ArrivalOptions:
    """Arrivals as a number or an interval, in texts of the command line."""

    load: str | None = option(
        None, "Arrivals as a share of ρ*: X, or LOW:HIGH, drawn per episode.", metavar="X", group="Workload"
    )
    intensity: str | None = option(None, "Arrivals as a share of the area bound: X or LOW:HIGH.", metavar="X", common=True)
    rate: str | None = option(None, "Arriving tasks per slot: X or LOW:HIGH.", metavar="X")

    def __post_init__(self) -> None:
        self.intervals()

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Return the interval that is given, by name.

        Raises InputError for several, and unless 0 < LOW <= HIGH.
        """
        texts = {key: text for key, text in vars(self).items() if text is not None}
        if len(texts) > 1:
            raise ArgumentError("give one of `load`, `intensity` and `rate`")
        return {key: _interval(key, text) for key, text in texts.items()}


def _interval(name: str, text: str) -> tuple[float, float]:
    try:
        ends = [read_number(part) for part in text.split(":")]
    except InputError:
        ends = []
    if len(ends) not in (1, 2) or not 0 < ends[0] <= ends[-1] < float("inf"):
        raise ArgumentError(f"`{name}` must be a number above 0, or LOW:HIGH, not {text!r}")
    return ends[0], ends[-1]


@dataclass(frozen=True)
class ServeOptions:
    """Options of a live scheduler."""

    servers: str | None = option(None, "Servers: 5, 3x1,2x0.5, 20x64:256, or a file.", "--servers", "-s", metavar="SPEC")
    resources: str | None = option(None, "Names of the resources, for amounts in tasks: cpu,memory.", metavar="NAMES")
    workload: str | None = option(
        None, "Workload or trace like the expected tasks, for policies that need it.", metavar="WORKLOAD"
    )
    socket: OutFile | None = option(None, "Listen on a Unix socket at this path, instead of standard input.")
    log: OutFile | None = option(None, "Save all messages in this file, and resume from it.", metavar="FILE.jsonl")
    slot_seconds: Seconds | None = option(
        None, "Let slots pass by the clock, each this long  [default: one slot per decision].", metavar="1s"
    )
    seed: int = option(0, "Seed of a random policy.")


@dataclass(frozen=True)
class RecordOptions:
    """Options of recorded episodes."""

    environment: str = option(
        "ServerFill", "Environment: ServerFill, Placement, …", "--env", metavar="ENV", group="Recording", common=True
    )
    policy: str = option(
        "bf-js", "Policy or agent to record; random: any action that the mask allows.", "--policy", "-p", common=True
    )
    episodes: Count = option(20, "Number of episodes; their seeds count up from --seed.", common=True)
    out: str | None = option(None, "New folder for the dataset, named NAME-vN.", metavar="FOLDER", common=True)
    gif: str | None = option(None, "Write an animation of the first episode.", metavar="FILE.gif", common=True)
    horizon: Count | None = option(None, "Slots of an episode  [default: 10,000; tables: until all work is done].")
    resources: str | None = option(
        None, "Resources that count: `all`; cpu,memory; `max` or max:cpu,memory: only the largest.", metavar="NAMES"
    )
    seed: Annotated[int, Range(0)] = option(0, "Seed of the first episode.")
    options: tuple[str, ...] = option(
        (), "Option of the environment: observation, reward, …; repeat for more.", "--option", metavar="KEY=VALUE"
    )


@dataclass(frozen=True)
class WarmupOptions:
    """Targets of compilation in advance."""

    environments: tuple[str, ...] = option((), "Environment; repeat for more.", "--env", metavar="ENV")
    source: str | None = option(
        None,
        "Workload to compile for; similar resources share code  [default: paper/fig4b; JobFill: a table of jobs].",
        "--workload",
        metavar="WORKLOAD",
    )


@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """Options of learning. Equal ones give equal weights.

    0 and "" stand for the default.
    """

    way: Literal["evolution", "ppo"] = option(
        "evolution", "Evolve weighted sums, or train sb3-contrib's MaskablePPO.", group="Agent", common=True
    )
    environment: str = option("ServerFill", "Environment: ServerFill, Placement, …", "--env", metavar="ENV", common=True)
    network: str = option(
        "", "Weighted sum of an action's terms: linear, sum or varying  [default: linear; JobFill varying].", metavar="NETWORK"
    )
    J: int | None = option(None, "Divide sizes into 2J virtual queues, as VQS does  [default: by the workload].", "--J")
    types: int | None = option(None, "Divide sizes into N virtual queues of equal width instead.")
    window: int = option(0, "Tasks (JobFill: groups) that the agent sees  [default: 16; JobFill 32].")
    options: dict[str, Any] = option(
        dict, "Option of the environment: passing, rule, …; repeat for more.", "--option", metavar="KEY=VALUE", typed=()
    )
    reward: str = option(
        "", "JobFill: completion, makespan, value [:unfairness=PRICE]; ppo: any  [default: by the environment].", metavar="REWARD"
    )
    guard: PolicyName | None = option(
        "", "Policy that schedules while too many tasks wait, or none  [default: bf-js; JobFill and ppo none]."
    )
    guard_limit: int = option(500, "Waiting tasks above which the guard schedules.")
    start: str | None = option(None, "Start from this saved agent's weights (a name or a path).", "--from", metavar="AGENT")
    imitate: PolicyName | None = option(None, "Start from weights that imitate this policy.", metavar="POLICY")
    imitation_steps: int = option(0, "Steps of imitation  [default: 400; JobFill 10,000].")
    samples: int = option(
        0,
        "Train for N started tasks; ppo: steps, in whole updates of 16,384  [default: 16,000,000; ppo 300,000].",
        group="Training",
        common=True,
    )
    horizon: int = option(0, "Slots of a candidate's run; ppo: of an episode  [default: 100,000; ppo 10,000].")
    seed: int = option(0, "Seed of the jobs and of the training.", common=True)
    learning_rate: float = option(0.0, "First step size  [default: 0.15, after --imitate 0.05; ppo 0.0003].")
    population: int = option(0, "Candidates per generation  [default: by the weights].")


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of a training run: folders and evaluations."""

    threads: Count = option(2, "Candidates to run at the same time, in processes.", group="Training")
    on: str = option(PROCESSES, "Where to run: processes; ray (existing or new local cluster); ray://HOST:PORT.", metavar="WHERE")
    logdir: Folder = option("runs", "Parent folder of the runs' folders.", group="Run folder")
    name: str | None = option(
        None, "Folder of this run  [default: from environment, workload, way and seed].", metavar="NAME", common=True
    )
    resume: bool = option(False, "Continue the run of this name, or start it.", common=True)
    checkpoint_every: int = option(0, "Samples between checkpoints  [default: a 20th].", metavar="N")
    evaluate_every: int = option(
        0, "Samples between evaluations  [default: a 10th; the first after a 50th].", metavar="N", group="Evaluation"
    )
    judge_every: int | None = option(None, "Samples between judgments, 0 for none  [default: a 3rd].", metavar="N")
    against: PolicyName | None = option(None, "Policy to compare with in evaluations  [default: bf-js; JobFill tetris:f=0].")
    evaluation_slots: Annotated[int, Range(1000)] = option(200_000, "Slots of each run of an evaluation.")
    evaluation_seeds: Count = option(4, "Runs of an evaluation at each load.")
    keep: Literal["best", "last"] = option("best", "Save the best agent in evaluations, or the last one.")
    out: OutFile | None = option(None, "Also save the agent here (.safetensors and .json).", group="Output", common=True)


def of_traces(name: str) -> Any:
    """Return the field of `WorkloadOptions` with this name, for a trace."""
    item, words = options_in(WorkloadOptions)[name]
    return option(item.default, words.help, *words.flags, metavar=words.metavar, group=words.group)


@dataclass(frozen=True)
class ReadOptions(Reading):
    """Options for reading a trace and choosing resources."""

    resources: str | None = of_traces("resources")


OF_ROWS = ("slot_seconds", "resources", *(name for name in OF_TRACES if name not in ("slot_seconds", "devices", "gangs")))
"""Options of reading for commands that show or convert a trace."""


@dataclass(frozen=True)
class VerdictOptions:
    """Options of a verdict on a log."""

    columns: str | None = of_traces("columns")
    time_unit: Literal["s", "ms", "us", "ns", "min", "h"] | None = of_traces("time_unit")
    partition: str | None = of_traces("partition")
    cycle: Seconds = option(86_400.0, "Length of the load's cycle, if it has one  [default: a day].")


@dataclass(frozen=True)
class ConvertOptions:
    """Options of the conversion of a trace to slots."""

    speedup: str = option("1", "Divide submission times by BETA, an exact decimal.", metavar="BETA")
    estimates: Estimates | None = of_traces("estimates")


@dataclass(frozen=True)
class DescribeOptions:
    """Options of the description of a trace."""

    servers: str | None = option(None, "Also show the load of servers (trace's units): 5, 2x32:128, a file.", metavar="SPEC")


@dataclass(frozen=True)
class ProfileOptions:
    """Options of a workload fitted to a trace."""

    servers: str | None = option(
        None,
        "Servers, in the trace's units: 5, 2x32:128, or a file  [default: of capacity 1, as many as make the load 0.82].",
        metavar="SPEC",
    )
    name: str | None = option(None, "Name of the fitted workload  [default: the file's name, then -like].", metavar="NAME")
    about: str = option("", "Text about the data, for the JSON file.", metavar="TEXT")
    out: JsonFile | None = option(None, "Write the fitted workload as JSON; commands accept it as WORKLOAD.", metavar="FILE")
