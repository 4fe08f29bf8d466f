"""Policies that do not learn: one file per family, each reads like the paper's pseudo-code."""

from baselines.best_fit import BestFit, BestFitJobs, BestFitServers
from baselines.fifo import FifoFirstFit, SlotFifo
from baselines.max_weight import MaxWeight
from baselines.replay import Replay
from baselines.sat import Sat
from baselines.virtual_queues import VQS, VQSBestFit

__all__ = [
    "VQS",
    "BestFit",
    "BestFitJobs",
    "BestFitServers",
    "FifoFirstFit",
    "MaxWeight",
    "Replay",
    "Sat",
    "SlotFifo",
    "VQSBestFit",
]
