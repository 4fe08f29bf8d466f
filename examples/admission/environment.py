"""Admission for Gymnasium: one environment, and a batch."""

from __future__ import annotations

from packenv.envs.interfaces.batched import BatchEnv
from packenv.envs.interfaces.single import SingleEnv

from .definition import DEFINITION


class Admission(SingleEnv):
    """Start the oldest waiting task, or wait."""

    definition = DEFINITION


class AdmissionVector(BatchEnv):
    """A batch of `Admission`."""

    definition = DEFINITION
