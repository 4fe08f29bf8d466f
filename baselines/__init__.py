"""Policies that do not learn: one file per family, each reads like the paper's pseudo-code."""

from baselines.best_fit import BestFit, BestFitJobs, BestFitServers
from baselines.delay import Delay, DelayDynamic, Fair
from baselines.fair import DRF, SlotFair
from baselines.fifo import FifoFirstFit, SlotFifo
from baselines.hawk import Eagle, Hawk, LeastWaitingTime, Sparrow, Yaq
from baselines.job_order import JobFifo, Priority, SmallestDemand
from baselines.max_weight import MaxWeight
from baselines.price import Price
from baselines.replay import Replay
from baselines.sat import Sat
from baselines.tetris import Tetris
from baselines.virtual_queues import VQS, VQSBestFit

__all__ = [
    "DRF",
    "VQS",
    "BestFit",
    "BestFitJobs",
    "BestFitServers",
    "Delay",
    "DelayDynamic",
    "Eagle",
    "Fair",
    "FifoFirstFit",
    "Hawk",
    "JobFifo",
    "LeastWaitingTime",
    "MaxWeight",
    "Price",
    "Priority",
    "Replay",
    "Sat",
    "SlotFair",
    "SlotFifo",
    "SmallestDemand",
    "Sparrow",
    "Tetris",
    "VQSBestFit",
    "Yaq",
]
