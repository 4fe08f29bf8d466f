"""Policies that do not learn: one folder per paper. Each scheduling rule follows the paper's pseudo-code."""

from packenv.policies.backfilling.backfilling import Conservative, Easy
from packenv.policies.backfilling.reserve import Reserve
from packenv.policies.delay.delay import Delay, DelayDynamic, Fair
from packenv.policies.eagle.hawk import Eagle, Hawk, LeastWaitingTime, Sparrow, Yaq
from packenv.policies.optimal.optimal import Optimal
from packenv.policies.optimal.saved import load_optimal, save_optimal
from packenv.policies.price.job_order import JobFifo, Priority, SmallestDemand
from packenv.policies.price.price import Price
from packenv.policies.price.sat import Sat
from packenv.policies.random_requirements.best_fit import BestFit, BestFitJobs, BestFitServers
from packenv.policies.random_requirements.fifo import FifoFirstFit, SlotFifo
from packenv.policies.random_requirements.max_weight import MaxWeight
from packenv.policies.random_requirements.quickswap import Quickswap
from packenv.policies.random_requirements.virtual_queues import VQS, VQSBestFit
from packenv.policies.replay import Replay
from packenv.policies.tetris.fair import DRF, SlotFair, TaskFair
from packenv.policies.tetris.tetris import Tetris
from packenv.policies.throughput_optimal.kmw import KMaxWeight
from packenv.policies.throughput_optimal.msr import MSR
from packenv.policies.whole_jobs.longest_below import CriticalPath, MostWork
from packenv.policies.whole_jobs.srpt import Graphene, ShortestRemaining
from packenv.policies.whole_jobs.weighted_fair import WeightedFair

__all__ = [
    "DRF",
    "MSR",
    "VQS",
    "BestFit",
    "BestFitJobs",
    "BestFitServers",
    "Conservative",
    "CriticalPath",
    "Delay",
    "DelayDynamic",
    "Eagle",
    "Easy",
    "Fair",
    "FifoFirstFit",
    "Graphene",
    "Hawk",
    "JobFifo",
    "KMaxWeight",
    "LeastWaitingTime",
    "MaxWeight",
    "MostWork",
    "Optimal",
    "Price",
    "Priority",
    "Quickswap",
    "Replay",
    "Reserve",
    "Sat",
    "ShortestRemaining",
    "SlotFair",
    "SlotFifo",
    "SmallestDemand",
    "Sparrow",
    "TaskFair",
    "Tetris",
    "VQSBestFit",
    "WeightedFair",
    "Yaq",
    "load_optimal",
    "save_optimal",
]
