"""packenv decides which job runs on which server, and when.

It has an exact simulator of clusters with random resource needs, Gymnasium environments, the policies of the literature, and
bounds on what any policy can achieve. The names below are imported on first use, so `import packenv` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.envs.registration import register_all
from packenv.lazy_names import homes_of, lazy_names

if TYPE_CHECKING:
    from packenv.api import simulate as simulate
    from packenv.errors import InputError as InputError
    from packenv.executors.local import executor as executor
    from packenv.jobs import Jobs as Jobs
    from packenv.jobs import Ragged as Ragged
    from packenv.learning.agents.library_models import save_model as save_model
    from packenv.learning.training.plan import TrainedAgent as TrainedAgent
    from packenv.learning.training.train import train as train
    from packenv.live.scheduler import Scheduler as Scheduler
    from packenv.planning.pair import compare as compare
    from packenv.planning.plan import plan as plan
    from packenv.planning.plan import plan_servers as plan_servers
    from packenv.planning.server_plans import ServerPlans as ServerPlans
    from packenv.policy import Setting as Setting
    from packenv.policy import completes as completes
    from packenv.policy import find_policy as find_policy
    from packenv.policy import receives as receives
    from packenv.policy import registered as registered
    from packenv.policy import schedules as schedules
    from packenv.results.result import Result as Result
    from packenv.runs.agent_score import AgentScore as AgentScore
    from packenv.runs.agent_score import evaluate_agent as evaluate_agent
    from packenv.runs.comparison import Comparison as Comparison
    from packenv.runs.evaluate import evaluate as evaluate
    from packenv.runs.leaderboard import Leaderboard as Leaderboard
    from packenv.runs.leaderboard import leaderboard as leaderboard
    from packenv.runs.many import judge as judge
    from packenv.runs.many import simulate_many as simulate_many
    from packenv.runs.verdict import sustained as sustained
    from packenv.runs.verdict import verdict as verdict
    from packenv.theory.capacity.bracket import Bracket as Bracket
    from packenv.theory.capacity.configuration_bounds import halving_bound as halving_bound
    from packenv.theory.capacity.configuration_bounds import vqs_bound as vqs_bound
    from packenv.theory.capacity.max_workload import max_workload as max_workload
    from packenv.theory.capacity.max_workload import resolved as resolved
    from packenv.theory.makespan.optimum import Optimum as Optimum
    from packenv.theory.makespan.optimum import optimal_schedule as optimal_schedule
    from packenv.theory.queue_bound.bound import QueueBound as QueueBound
    from packenv.theory.queue_bound.queue_bound import queue_bound as queue_bound
    from packenv.theory.stability.judgment import Judgment as Judgment
    from packenv.theory.stability.judgment import Judgments as Judgments
    from packenv.theory.stationary_optimum.optimum import StationaryOptimum as StationaryOptimum
    from packenv.theory.stationary_optimum.optimum import stationary_optimum as stationary_optimum
    from packenv.units import UNIT as UNIT
    from packenv.units import to_units as to_units
    from packenv.workloads.find import workload as workload
    from packenv.workloads.named.registry import names as names
    from packenv.workloads.network import Network as Network
    from packenv.workloads.servers import Servers as Servers
    from packenv.workloads.workload import Workload as Workload


__version__ = "0.10.0"

register_all()

if not TYPE_CHECKING:  # a checker then knows which names there are
    __all__, __getattr__, __dir__ = lazy_names(__name__, homes_of(__file__))
