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

    estimate_error: float | None = option(None, "Durations are believed with up to this share of error (tables of jobs).")
    cutoff: Seconds | None = option(
        None, "Jobs whose tasks take longer than this on average are shown apart, as long ones.", metavar="90s"
    )
    by_size: bool = option(False, "Also show delays by the size of tasks: of each of a few, or by quartiles.")
    slowdown_bound: Seconds | None = option(
        None,
        "Show bounded slowdowns and responses: a run of less counts as if it took so long  [default: 10s; shown of logs of "
        "parallel jobs].",
        metavar="10s",
    )
    slots: Count | None = option(None, f"Slots to simulate  [default: a trace's own; {DEFAULT_SLOTS:,} otherwise].")
    backlog: Count | None = option(None, "Keep so many tasks waiting: utilisation is then what a policy can carry.")
    reject: bool = option(False, "What does not start when it arrives is lost, and counted by what it lacked.")
    drain: bool = option(False, "Go on until all work is done.")
    warmup: int | None = option(None, "Slots at the start that are not measured  [default: 0 for traces, a tenth otherwise].")
    seed: int = option(0, "First seed.")
    seeds: Count | Iterable[int] = option(
        8, "How many seeds: of the jobs, the same for every policy; of a trace, of the policies that draw by chance.", typed=1
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
                raise ArgumentError(f"`until` is a share above 0 and below 1, such as 2%, not {self.until!r}")
            object.__setattr__(self, "until", until)


@dataclass(frozen=True)
class CompareOptions:
    """Options that decide whether one side is worse than another."""

    measure: str | None = option(None, f"{MEASURES}  [default: mean queue; of a trace mean wait; of its jobs mean completion].")
    margin: Share = option(0.05, "A may be so much worse than B, as a share: 0.05 or 5%.")
    policy: PolicyName = option("bf-js", "Policy that runs on two sets of servers.", "--policy", "-p")
    slots: Count | None = option(None, f"Slots of each run  [default: {DEFAULT_SLOTS:,}; a trace until all work is done].")
    seeds: Count = option(4, "Runs of each at first: they double until it is decided.")
    time: Seconds = option(60.0, "While so many seconds last, or 10min.")


@dataclass(frozen=True)
class JudgeOptions:
    """Length of the search for the supported fraction of ρ*."""

    seeds: Count = option(8, "Runs at each load. With fewer, each load is decided later, by longer runs: that costs more.")
    width: float = option(0.01, "Stop when the interval is at most this wide; 0 to 1.")
    tasks: Count = option(2_560_000, "Arrivals in the longest runs, at least as many; the first ones have a 64th of them.")


@dataclass(frozen=True)
class CapacityOptions:
    """Length of the search for a bracket of ρ*."""

    gap: float = option(0.001, "Stop when (upper - lower) / upper is at most this.")
    seconds: Seconds = option(60.0, "Stop after this time: seconds, or 10min.")


@dataclass(frozen=True)
class OptimumOptions:
    """Options of the search for the shortest schedule."""

    objective: Literal["makespan", "completion"] = option("makespan", "Last end, or mean completion time of jobs.")
    slots: Count | None = option(None, "With a random workload: schedule the tasks that arrive in so many slots.")
    time_limit: Seconds = option(60.0, "Stop the search after so many seconds, or 10min.", "--limit")
    seed: Annotated[int, Range(0)] = option(0, "Seed of the jobs and of the search.")
    gap: float = option(0.0, "Stop when the schedule is within this share of the bound: 0.05 is 5 %.")
    fixed_allocation: bool = option(False, "Give each task the server with the least work beforehand.")
    workers: Count | None = option(None, "Cores that the search uses  [default: all].")


@dataclass(frozen=True)
class OptimalPolicyOptions:
    """Options of the policy with the shortest queue, and its test runs."""

    most: Count | None = option(None, "Waiting jobs of a size that are told apart  [default: as many as matter].")
    within: float = option(1e-4, "Relative error of the mean queue.")
    seconds: Seconds = option(600.0, "End without a policy after this time: seconds, or 1h.")
    slots: Count = option(1_000_000, "Length of each run that checks the policy.")
    seeds: Count = option(8, "Number of these runs.")


@dataclass(frozen=True)
class LeaderboardOptions:
    """Options of a ranking of policies."""

    reference: PolicyName | None = option(
        None,
        "Policy by which the others are divided; `best`: on tables of jobs, the best of each measure  "
        "[default: bf-js; on tables of jobs best].",
    )
    seeds: Count = option(16, "Number of seeds; the jobs of a seed are the same for every policy.")
    slots: Count = option(1_000_000, "Slots of each run; a table is run to its end.")
    warmup: Annotated[int, Range(0)] | None = option(
        None, "Slots at the start that are not measured  [default: a tenth; traces 0]."
    )
    judge: bool = option(True, "Also find the fraction of ρ* that each policy keeps stable.", "--judge/--no-judge")
    matrix: bool = option(
        False,
        "Show one table, of policies by workloads, with ratios alone, and judge nothing. Agents that come with packenv then "
        "compete away from home too.",
    )


@dataclass(frozen=True)
class PlanOptions:
    """Options of a plan. Not every option goes with every question."""

    types: str | None = option(None, "Kinds of machines and the cost of each, for the cheapest mix: 1=0.50,2=0.95; or 1:0.5=0.8.")
    growth: str | None = option(None, "Arrivals grow by this factor: a trace comes so much faster, a workload has more tasks.")
    draws: Annotated[int, Range(0, 1000)] | None = option(
        None, "Numbers for so many other draws of days, or seeds  [default: 0]."
    )
    without: str | None = option(
        None, "What if these fail? Servers such as 3,7,10-12, from 0; those of a list with names by name.", metavar="SERVERS"
    )
    add: str | None = option(None, "Kind of server to add, such as 64:256.", metavar="SERVER")
    max_demand: float | None = option(None, "Also without the tasks of a trace that need more: what do they cost?")
    slots: Count | None = option(None, f"Slots of each run of a workload  [default: {DEFAULT_SLOTS:,}].")
    seeds: Count | None = option(None, f"Runs with each number; as many others confirm the answer  [default: {PLAN_SEEDS}].")


@dataclass(frozen=True)
class ArrivalOptions:
    """Arrivals as a number or an interval, in texts of the command line."""

    load: str | None = option(None, "Arrivals as a share of ρ*: X, or LOW:HIGH, from which each episode draws its own.")
    intensity: str | None = option(None, "Arrivals as a share of the area bound: X or LOW:HIGH.")
    rate: str | None = option(None, "Tasks per slot: X or LOW:HIGH.")

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

    servers: str | None = option(None, "Servers: 5, 3x1,2x0.5, 20x64:256, or a file.", "--servers", "-s")
    resources: str | None = option(None, "Names of their resources, by which tasks say amounts: cpu,memory.")
    workload: str | None = option(None, "Workload or trace like the tasks to come, for policies that know their law.")
    socket: OutFile | None = option(None, "Listen on a Unix socket at this path, in place of standard input.")
    log: OutFile | None = option(None, "Keep all messages in this file; begin again from it.", metavar="FILE.jsonl")
    slot_seconds: Seconds | None = option(
        None, "Slots pass by the clock, each so long  [default: each decision is in the next slot].", metavar="1s"
    )
    seed: int = option(0, "Seed of a policy that draws by chance.")


@dataclass(frozen=True)
class RecordOptions:
    """Options of recorded episodes."""

    environment: str = option("ServerFill", "Environment: ServerFill, Placement, …", "--env")
    policy: str = option("bf-js", "Policy or agent that plays; random: any action that the mask allows.", "--policy", "-p")
    episodes: Count = option(20, "Episodes, of the seeds from --seed on.")
    out: str | None = option(None, "New folder for the dataset; its name is NAME-vN.", metavar="FOLDER")
    gif: str | None = option(None, "Write a moving picture of the policy in the first episode.", metavar="FILE.gif")
    horizon: Count | None = option(None, "Slots of an episode  [default: 10,000; of a table until its work is done].")
    resources: str | None = option(
        None, "Resources of a task that count: `all`, or names (cpu,memory); `max`, or max:cpu,memory: only the largest."
    )
    seed: Annotated[int, Range(0)] = option(0, "Seed of the first episode.")
    options: tuple[str, ...] = option((), "Option of the environment: observation, reward, …", "--option", metavar="KEY=VALUE")


@dataclass(frozen=True)
class WarmupOptions:
    """Targets of compilation in advance."""

    environments: tuple[str, ...] = option((), "Environment; may be repeated.", "--env", metavar="ENV")
    source: str | None = option(
        None,
        "Workload to compile for: those alike in resources share the code  [default: paper/fig4b; JobFill a table of jobs].",
        "--workload",
    )


@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """Options of learning. Equal ones give equal weights.

    0 and "" stand for the default.
    """

    way: Literal["evolution", "ppo"] = option("evolution", "Evolve weighted sums, or train MaskablePPO of sb3-contrib.")
    environment: str = option("ServerFill", "Environment: ServerFill, Placement, …", "--env")
    network: str = option("", "Weighted sum of an action's terms: linear, sum or varying  [default: linear; JobFill varying].")
    J: int | None = option(None, "Divide sizes into 2J virtual queues, as VQS does  [default: by the workload].", "--J")
    types: int | None = option(None, "Divide sizes into so many virtual queues of equal width instead.")
    window: int = option(0, "How many tasks (JobFill: groups) the agent sees  [default: 16; JobFill 32].")
    options: dict[str, Any] = option(
        dict, "Option of the environment: passing, rule, …", "--option", metavar="KEY=VALUE", typed=()
    )
    reward: str = option("", "JobFill: completion, makespan, value [:unfairness=PRICE]; ppo: any  [default: by the environment].")
    guard: PolicyName | None = option(
        "", "Policy that schedules while too many tasks wait; none: no guard  [default: bf-js; JobFill and ppo none]."
    )
    guard_limit: int = option(500, "The guard schedules while more tasks than this wait.")
    start: str | None = option(None, "Start from the weights of this saved agent (a name or a path).", "--from", metavar="AGENT")
    imitate: PolicyName | None = option(None, "Begin with weights that imitate this policy.", metavar="POLICY")
    imitation_steps: int = option(0, "Steps of imitation  [default: 400; JobFill 10,000].")
    samples: int = option(0, "Train for so many started tasks; ppo: steps  [default: 16,000,000; ppo 300,000].")
    horizon: int = option(0, "Slots of a candidate's run; ppo: of an episode  [default: 100,000; ppo 10,000].")
    seed: int = option(0, "Seed of the jobs and of the training.")
    learning_rate: float = option(0.0, "First step size  [default: 0.15, after --imitate 0.05; ppo 0.0003].")
    population: int = option(0, "Candidates in a generation  [default: by the weights].")


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of a training run: folders and evaluations."""

    threads: Count = option(2, "Candidates that run at the same time, in processes.")
    on: str = option(PROCESSES, "processes; ray: a cluster's, or a new local one's; ray://HOST:PORT.", metavar="WHERE")
    logdir: Folder = option("runs", "Folder in which each run has a folder of its own.")
    name: str | None = option(None, "Name of this run's folder  [default: from environment, workload, way and seed].")
    resume: bool = option(False, "Continue the run of this name, or start it if there is none.")
    checkpoint_every: int = option(0, "Samples between checkpoints  [default: a 20th].", metavar="N")
    evaluate_every: int = option(0, "Samples between evaluations  [default: a 10th; the first after a 50th].", metavar="N")
    judge_every: int | None = option(None, "Samples between judgments, 0 for none  [default: a 3rd].", metavar="N")
    against: PolicyName | None = option(None, "Policy that evaluations compare with  [default: bf-js; JobFill tetris:f=0].")
    evaluation_slots: Annotated[int, Range(1000)] = option(200_000, "Slots of each run of an evaluation.")
    evaluation_seeds: Count = option(4, "Runs of an evaluation at each load.")
    keep: Literal["best", "last"] = option("best", "Save the best agent in evaluations, or the last.")
    out: OutFile | None = option(None, "Also save the agent here (.safetensors and .json).")


def of_traces(name: str) -> Any:
    """Return the field of `WorkloadOptions` with this name, for a trace."""
    item, words = options_in(WorkloadOptions)[name]
    return option(item.default, words.help, *words.flags, metavar=words.metavar)


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
    cycle: Seconds = option(86_400.0, "Length of the cycle that the load follows, if it does  [default: a day].")


@dataclass(frozen=True)
class ConvertOptions:
    """Options of the conversion of a trace to slots."""

    speedup: str = option("1", "Divide submission times by BETA, an exact decimal.", metavar="BETA")
    estimates: Estimates | None = of_traces("estimates")


@dataclass(frozen=True)
class DescribeOptions:
    """Options of the description of a trace."""

    servers: str | None = option(None, "Also the load of these servers, in the trace's units: 5, 2x32:128, or a file.")


@dataclass(frozen=True)
class ProfileOptions:
    """Options of a workload fitted to a trace."""

    servers: str | None = option(
        None,
        "Servers, in the trace's units: 5, 2x32:128, or a file  [default: of capacity 1, as many as make the load 0.82].",
    )
    name: str | None = option(None, "Name of the fitted workload  [default: the file's name followed by -like].", metavar="NAME")
    about: str = option("", "Text about the data, kept in the JSON.", metavar="TEXT")
    out: JsonFile | None = option(
        None, "Write the fitted workload as JSON, which every command reads as a WORKLOAD.", metavar="FILE"
    )
