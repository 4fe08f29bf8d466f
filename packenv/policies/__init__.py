"""Policies that do not learn: one folder per paper.

Each scheduling rule follows the paper's pseudo-code. Names in `packenv.catalogue` and `HOMES` are imported when they are first
used. Type checkers read the list below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.catalogue import CATALOGUE
from packenv.lazy_names import lazy_names

if TYPE_CHECKING:
    from packenv.policies.backfilling.backfilling import Conservative as Conservative
    from packenv.policies.backfilling.backfilling import Easy as Easy
    from packenv.policies.backfilling.reserve import Reserve as Reserve
    from packenv.policies.delay.delay import Delay as Delay
    from packenv.policies.delay.delay import DelayDynamic as DelayDynamic
    from packenv.policies.delay.delay import Fair as Fair
    from packenv.policies.eagle.hawk import Eagle as Eagle
    from packenv.policies.eagle.hawk import Hawk as Hawk
    from packenv.policies.eagle.hawk import LeastWaitingTime as LeastWaitingTime
    from packenv.policies.eagle.hawk import Sparrow as Sparrow
    from packenv.policies.eagle.hawk import Yaq as Yaq
    from packenv.policies.gpus.policies import DotProduct as DotProduct
    from packenv.policies.gpus.policies import Fgd as Fgd
    from packenv.policies.gpus.policies import GpuBestFit as GpuBestFit
    from packenv.policies.gpus.policies import GpuClustering as GpuClustering
    from packenv.policies.gpus.policies import GpuPacking as GpuPacking
    from packenv.policies.gpus.policies import RandomServer as RandomServer
    from packenv.policies.optimal import Optimal as Optimal
    from packenv.policies.optimal import load_optimal as load_optimal
    from packenv.policies.optimal import save_optimal as save_optimal
    from packenv.policies.orders import ORDERS as ORDERS
    from packenv.policies.price.job_order import JobFifo as JobFifo
    from packenv.policies.price.job_order import Priority as Priority
    from packenv.policies.price.job_order import SmallestDemand as SmallestDemand
    from packenv.policies.price.price import Price as Price
    from packenv.policies.random_requirements.best_fit import BestFit as BestFit
    from packenv.policies.random_requirements.best_fit import BestFitJobs as BestFitJobs
    from packenv.policies.random_requirements.best_fit import BestFitServers as BestFitServers
    from packenv.policies.random_requirements.fifo import FifoFirstFit as FifoFirstFit
    from packenv.policies.random_requirements.fifo import SlotFifo as SlotFifo
    from packenv.policies.random_requirements.max_weight import MaxWeight as MaxWeight
    from packenv.policies.random_requirements.quickswap import Quickswap as Quickswap
    from packenv.policies.random_requirements.virtual_queues import VQS as VQS
    from packenv.policies.random_requirements.virtual_queues import VQSBestFit as VQSBestFit
    from packenv.policies.replay import Replay as Replay
    from packenv.policies.replay import Sat as Sat
    from packenv.policies.rules.rule import Pairing as Pairing
    from packenv.policies.rules.rule import PriorityRule as PriorityRule
    from packenv.policies.tetris.fair import DRF as DRF
    from packenv.policies.tetris.fair import SlotFair as SlotFair
    from packenv.policies.tetris.fair import TaskFair as TaskFair
    from packenv.policies.tetris.tetris import Tetris as Tetris
    from packenv.policies.throughput_optimal.kmw import KMaxWeight as KMaxWeight
    from packenv.policies.throughput_optimal.msr import MSR as MSR
    from packenv.policies.whole_jobs.srpt import CriticalPath as CriticalPath
    from packenv.policies.whole_jobs.srpt import Graphene as Graphene
    from packenv.policies.whole_jobs.srpt import MostWork as MostWork
    from packenv.policies.whole_jobs.srpt import ShortestRemaining as ShortestRemaining
    from packenv.policies.whole_jobs.weighted_fair import WeightedFair as WeightedFair

HOMES: dict[str, list[str]] = {
    "packenv.policies.optimal": ["Optimal", "load_optimal", "save_optimal"],
    "packenv.policies.orders": ["ORDERS"],
    "packenv.policies.replay": ["Replay"],
}
for entry in CATALOGUE.values():
    HOMES.setdefault(entry.module, []).append(entry.name)
HOMES["packenv.policies.rules.rule"].append("PriorityRule")

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_names(__name__, HOMES)
