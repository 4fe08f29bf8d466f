"""What a plug-in may use, next to the public names of `packenv`, `packenv.cluster` and `packenv.policies`.

These names are stable: the changelog announces a change one version ahead. Those of *engine* may change in any version.
Each is imported when it is first used, so `import packenv.extend` is cheap.

errors          `InputError` is one line for the user, `ArgumentError` names arguments in backticks, `MisuseError` is a policy's.
                `library_needed`, `line_on`, `nearest`, `experimental`
units           `UNIT`, `to_units`
options         `option` makes a field of a dataclass an option, `takes` gives it to a function, `options_of` to a command.
                `Count`, `InFile`, `OutFile`, `PolicyName`, `Range`, `Seconds`, `Share`, `DEFAULT_SLOTS`, `EvaluateOptions`,
                `WorkloadOptions`, `workload_options`, `ProcessOptions`, `process_options`, `log`
commands        `INPUT`, `POLICY` and `WORKLOAD` are types of click's arguments. `Outputs`, `output_options`, `runs_in`,
                `chosen_policies`, `workload_from`, `begin_lines`, `print_notes`, `text_console`
results         `Showable`, `Answer`, `Table`, `Column`, `numbers`, `Styled`, `Charts`, `Figure`, `LineChart`, `RowChart`,
                `GridChart`, `BinChart`, `Page`, `Section`; parts of charts: `ChartRow`, `Key`, `Line`, `Mark`,
                `COLOURS`, `colours_for`
texts           `counted`, `counted_by_reason`, `do_not_go`, `estimate`, `lasting`, `left_out_lines`, `listed`, `number`
reading         within limits of size and memory: `reading`, `read_text`, `from_standard_input`, `read_json`, `parse_json`,
                `lines_of`, `first_bytes`, `read_number`, `read_whole`, `read_quantity`, `exact`, `finite_number`, `whole_number`,
                `excerpt`, `Memory`, `MOST_BYTES`, `PER_BYTE`, `without_collection`, `is_of_kubectl`, `read_trace`, `Columns`,
                `resource_names`, `chosen_resources`, `Wanted`
writing         `atomic_path`, `check_writable`, `write_json`
laws            `Law`, `AtomicLaw`, `Empirical`, `Geometric`, `Uniform`, `parse_law`; in compiled code `Builder`, `Laws`, `draw`
random numbers  pure functions of (seed, column, index): `word_at(mix(seed), column)` is the key of a column,
                `uniform(word_at(key, index))` a number of it
workloads       `at_a_rate`, `as_servers`, `InService`, `BeginsBusy`, `begins_busy`, `Source`, `table_source`, `misjudged`,
                `INTENSITIES`, `Provenance`; in a Jobs table: `NO_GANG`, `NO_MODEL`, `WHOLE`, `SHARE`, `HOW_MANY`, `MOST_DEVICES`
runs            `Run`, `runs_of`, `seeds_for`, `Runner`, `RunOptions`, `extract_all`; any work side by side: `Pieces`,
                `local_executor`, `ThisProcess`
statistics      `Interval`, `interval`, `mean_and_half`, `paired_ratio`, `ratio_of_means`, `doubt_at`, `DOUBT`, `UNKNOWN`
stability       `judge_run`, `settling_time`, `Verdict`, `combine`, `STABLE`, `UNSTABLE`, `UNDECIDED`, `NO_VERDICT`; the search
                for the largest stable load: `LoadSearch`, `PlannedRun`, `RunOutcome`
bounds          `completion_bound`
goals of plans  `Goal`, `GOAL`, `parse_goal`, `share_of`, `fewest_of`, `Trial`, `AskRuns`, `mean_of`, `is_met`, `open_goals`,
                `least_from`, `NoneMeets`, `plan_all`, `Say`, `print_refused`
policies        `find_policy`, `name_of`, `attached`, `initial_state_of`, `needs_of`
rules in files  read as text and never executed: `checked` reads a function in the words of a `Vocabulary`,
                `rule_address` compiles it, `call_address` calls it from compiled code
compiled code   `compiled` for a short function, `apart` for a long one or one with many callers, `Compiled`, `Frame`
packages        `lazy_names`, `homes_of`
engine          the simulator's loop, step by step: `build`, `runner_for`, `begin`, `overfull_server`, `OVERFULL`, `make_room`,
                `FINISHED`, `GROW`, `PAUSED`, `DONE`, `NEVER`, `TASK`, `TAKEN`, `WAYS`, `has_homes`, `eligible_slots`,
                `problem_of`, `problem_of_places`, `base`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.lazy_names import homes_of as homes_of
from packenv.lazy_names import lazy_names as lazy_names

if TYPE_CHECKING:
    from packenv.api import at_a_rate as at_a_rate
    from packenv.cli.options.names import INPUT as INPUT
    from packenv.cli.options.names import POLICY as POLICY
    from packenv.cli.options.names import WORKLOAD as WORKLOAD
    from packenv.cli.options.of_fields import log as log
    from packenv.cli.options.of_fields import options_of as options_of
    from packenv.cli.options.of_fields import process_options as process_options
    from packenv.cli.options.of_fields import runs_in as runs_in
    from packenv.cli.options.of_fields import workload_options as workload_options
    from packenv.cli.options.workload import begin_lines as begin_lines
    from packenv.cli.options.workload import chosen_policies as chosen_policies
    from packenv.cli.options.workload import workload_from as workload_from
    from packenv.cli.outputs import Outputs as Outputs
    from packenv.cli.outputs import output_options as output_options
    from packenv.cli.plan import print_refused as print_refused
    from packenv.cli.tables import print_notes as print_notes
    from packenv.cli.tables import text_console as text_console
    from packenv.cluster.build import build as build
    from packenv.cluster.devices import TAKEN as TAKEN
    from packenv.cluster.events import WAYS as WAYS
    from packenv.cluster.locality import has_homes as has_homes
    from packenv.cluster.loop import OVERFULL as OVERFULL
    from packenv.cluster.loop import begin as begin
    from packenv.cluster.loop import overfull_server as overfull_server
    from packenv.cluster.loop import runner_for as runner_for
    from packenv.cluster.slots import FINISHED as FINISHED
    from packenv.cluster.slots import GROW as GROW
    from packenv.cluster.slots import PAUSED as PAUSED
    from packenv.cluster.state import DONE as DONE
    from packenv.cluster.state import NEVER as NEVER
    from packenv.cluster.state import TASK as TASK
    from packenv.compiled.cache import base as base
    from packenv.compiled.decorators import Compiled as Compiled
    from packenv.compiled.decorators import apart as apart
    from packenv.compiled.decorators import compiled as compiled
    from packenv.compiled.frame import Frame as Frame
    from packenv.compiled.intrinsics import call_address as call_address
    from packenv.content.charts import COLOURS as COLOURS
    from packenv.content.charts import BinChart as BinChart
    from packenv.content.charts import ChartRow as ChartRow
    from packenv.content.charts import GridChart as GridChart
    from packenv.content.charts import Key as Key
    from packenv.content.charts import Line as Line
    from packenv.content.charts import LineChart as LineChart
    from packenv.content.charts import Mark as Mark
    from packenv.content.charts import RowChart as RowChart
    from packenv.content.charts import colours_for as colours_for
    from packenv.content.page import Charts as Charts
    from packenv.content.page import Figure as Figure
    from packenv.content.page import Page as Page
    from packenv.content.page import Section as Section
    from packenv.content.showable import Answer as Answer
    from packenv.content.showable import Showable as Showable
    from packenv.content.tables import Column as Column
    from packenv.content.tables import Styled as Styled
    from packenv.content.tables import Table as Table
    from packenv.content.tables import numbers as numbers
    from packenv.content.text import counted as counted
    from packenv.content.text import counted_by_reason as counted_by_reason
    from packenv.content.text import do_not_go as do_not_go
    from packenv.content.text import estimate as estimate
    from packenv.content.text import lasting as lasting
    from packenv.content.text import left_out_lines as left_out_lines
    from packenv.content.text import listed as listed
    from packenv.content.text import number as number
    from packenv.errors import ArgumentError as ArgumentError
    from packenv.errors import InputError as InputError
    from packenv.errors import MisuseError as MisuseError
    from packenv.errors import library_needed as library_needed
    from packenv.errors import line_on as line_on
    from packenv.errors import nearest as nearest
    from packenv.executors.local import ThisProcess as ThisProcess
    from packenv.executors.local import local_executor as local_executor
    from packenv.executors.pieces import Pieces as Pieces
    from packenv.experimental import experimental as experimental
    from packenv.files import atomic_path as atomic_path
    from packenv.files import check_writable as check_writable
    from packenv.files import write_json as write_json
    from packenv.inputs.json_files import MOST_BYTES as MOST_BYTES
    from packenv.inputs.json_files import PER_BYTE as PER_BYTE
    from packenv.inputs.json_files import finite_number as finite_number
    from packenv.inputs.json_files import parse_json as parse_json
    from packenv.inputs.json_files import read_json as read_json
    from packenv.inputs.json_files import whole_number as whole_number
    from packenv.inputs.json_files import without_collection as without_collection
    from packenv.inputs.memory import Memory as Memory
    from packenv.inputs.numbers import exact as exact
    from packenv.inputs.numbers import excerpt as excerpt
    from packenv.inputs.numbers import read_number as read_number
    from packenv.inputs.numbers import read_quantity as read_quantity
    from packenv.inputs.numbers import read_whole as read_whole
    from packenv.inputs.text_files import from_standard_input as from_standard_input
    from packenv.inputs.text_files import lines_of as lines_of
    from packenv.inputs.text_files import read_text as read_text
    from packenv.inputs.text_files import reading as reading
    from packenv.jobs import HOW_MANY as HOW_MANY
    from packenv.jobs import MOST_DEVICES as MOST_DEVICES
    from packenv.jobs import NO_GANG as NO_GANG
    from packenv.jobs import NO_MODEL as NO_MODEL
    from packenv.jobs import SHARE as SHARE
    from packenv.jobs import WHOLE as WHOLE
    from packenv.options.fields import Count as Count
    from packenv.options.fields import InFile as InFile
    from packenv.options.fields import OutFile as OutFile
    from packenv.options.fields import PolicyName as PolicyName
    from packenv.options.fields import Range as Range
    from packenv.options.fields import Seconds as Seconds
    from packenv.options.fields import Share as Share
    from packenv.options.fields import option as option
    from packenv.options.fields import takes as takes
    from packenv.options.shared import DEFAULT_SLOTS as DEFAULT_SLOTS
    from packenv.options.shared import INTENSITIES as INTENSITIES
    from packenv.options.shared import ProcessOptions as ProcessOptions
    from packenv.options.shared import WorkloadOptions as WorkloadOptions
    from packenv.options.verbs import EvaluateOptions as EvaluateOptions
    from packenv.planning.goals import GOAL as GOAL
    from packenv.planning.goals import Goal as Goal
    from packenv.planning.goals import fewest_of as fewest_of
    from packenv.planning.goals import parse_goal as parse_goal
    from packenv.planning.goals import share_of as share_of
    from packenv.planning.plan import Say as Say
    from packenv.planning.plan import plan_all as plan_all
    from packenv.planning.request import open_goals as open_goals
    from packenv.planning.search import NoneMeets as NoneMeets
    from packenv.planning.search import least_from as least_from
    from packenv.planning.trials import AskRuns as AskRuns
    from packenv.planning.trials import Trial as Trial
    from packenv.planning.trials import is_met as is_met
    from packenv.planning.trials import mean_of as mean_of
    from packenv.policies.rules.language import Vocabulary as Vocabulary
    from packenv.policies.rules.language import checked as checked
    from packenv.policies.rules.machine_code import rule_address as rule_address
    from packenv.policy import attached as attached
    from packenv.policy import find_policy as find_policy
    from packenv.policy import initial_state_of as initial_state_of
    from packenv.policy import name_of as name_of
    from packenv.policy import needs_of as needs_of
    from packenv.results.job_times import eligible_slots as eligible_slots
    from packenv.results.stability import NO_VERDICT as NO_VERDICT
    from packenv.results.stability import STABLE as STABLE
    from packenv.results.stability import UNDECIDED as UNDECIDED
    from packenv.results.stability import UNSTABLE as UNSTABLE
    from packenv.results.stability import Verdict as Verdict
    from packenv.results.stability import combine as combine
    from packenv.results.stability import judge_run as judge_run
    from packenv.results.stability import settling_time as settling_time
    from packenv.runs.run import Run as Run
    from packenv.runs.run import runs_of as runs_of
    from packenv.runs.run import seeds_for as seeds_for
    from packenv.runs.runner import Runner as Runner
    from packenv.runs.runner import RunOptions as RunOptions
    from packenv.runs.runner import extract_all as extract_all
    from packenv.runs.statistics import DOUBT as DOUBT
    from packenv.runs.statistics import UNKNOWN as UNKNOWN
    from packenv.runs.statistics import Interval as Interval
    from packenv.runs.statistics import doubt_at as doubt_at
    from packenv.runs.statistics import interval as interval
    from packenv.runs.statistics import mean_and_half as mean_and_half
    from packenv.runs.statistics import paired_ratio as paired_ratio
    from packenv.runs.statistics import ratio_of_means as ratio_of_means
    from packenv.simulation import make_room as make_room
    from packenv.testing.replay import problem_of as problem_of
    from packenv.testing.replay import problem_of_places as problem_of_places
    from packenv.theory.completion.bound import completion_bound as completion_bound
    from packenv.theory.stability.judge import LoadSearch as LoadSearch
    from packenv.theory.stability.judge import PlannedRun as PlannedRun
    from packenv.theory.stability.judge import RunOutcome as RunOutcome
    from packenv.units import UNIT as UNIT
    from packenv.units import to_units as to_units
    from packenv.workloads.estimates import misjudged as misjudged
    from packenv.workloads.find import is_of_kubectl as is_of_kubectl
    from packenv.workloads.in_service import BeginsBusy as BeginsBusy
    from packenv.workloads.in_service import InService as InService
    from packenv.workloads.in_service import begins_busy as begins_busy
    from packenv.workloads.laws import Empirical as Empirical
    from packenv.workloads.laws import Geometric as Geometric
    from packenv.workloads.laws import Law as Law
    from packenv.workloads.laws import Uniform as Uniform
    from packenv.workloads.laws import parse_law as parse_law
    from packenv.workloads.laws.encoding import Builder as Builder
    from packenv.workloads.laws.encoding import Laws as Laws
    from packenv.workloads.laws.law import AtomicLaw as AtomicLaw
    from packenv.workloads.provenance import Provenance as Provenance
    from packenv.workloads.resources import chosen_resources as chosen_resources
    from packenv.workloads.sampling import draw as draw
    from packenv.workloads.sampling import mix as mix
    from packenv.workloads.sampling import uniform as uniform
    from packenv.workloads.sampling import word_at as word_at
    from packenv.workloads.servers import as_servers as as_servers
    from packenv.workloads.source import Source as Source
    from packenv.workloads.source import table_source as table_source
    from packenv.workloads.traces import read_trace as read_trace
    from packenv.workloads.traces.columns import Columns as Columns
    from packenv.workloads.traces.formats import first_bytes as first_bytes
    from packenv.workloads.traces.trace import Wanted as Wanted
    from packenv.workloads.traces.trace import resource_names as resource_names

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_names(__name__, homes_of(__file__))
    __all__ += ["homes_of", "lazy_names"]
