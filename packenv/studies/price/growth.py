"""How solving times grow with the size of a problem, if some runs were stopped before they had their proof.

A time T at size x is lognormal around t₀ + g(x), with g(x) = exp(a + b x) (exponential) or exp(a + b ln x) (a power). A run
that ended with a proof counts with the density of its time; one that was stopped counts with the probability that it takes
longer (right-censoring). Parameters are those of maximum likelihood, separately for each form of g.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr

from packenv.runs.statistics import Interval, certainly_above, interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FORMS: dict[str, Callable[[Floats], Floats]] = {"exponential": lambda size: size, "a power": np.log}
LEAST_SPREAD = 0.01  # of the logarithm of T: times that lie on a curve exactly have no likelihood
LIKELIER = 20
STEEPEST = 100.0  # change of ln g between the smallest and the largest size, at most
HALF_LOG = 0.5 * math.log(2 * math.pi)


class Growth(NamedTuple):
    """A form of g with the parameters of the largest likelihood."""

    base: float  # t₀, seconds
    a: float
    b: float
    spread: float  # standard deviation of ln T
    likelihood: Floats  # (n,) its logarithm, by run


class Comparison(NamedTuple):
    """Both forms, and by how much the exponential explains a run better: the mean difference of log-likelihoods (Vuong 1989)."""

    fits: dict[str, Growth]
    better: Interval

    @property
    def exponential(self) -> bool:
        """Whether times grow, and the exponential explains them certainly and LIKELIER times better than a power does.

        Where both explain the runs alike, their differences are tiny and the interval alone says little.
        """
        together = [float(fit.likelihood.sum()) for fit in self.fits.values()]
        likelier = together[0] - together[1] >= math.log(LIKELIER)
        return self.fits["exponential"].b > 0 and self.better.low is not None and certainly_above(self.better, 0) and likelier


def compare(size: Floats, seconds: Floats, proven: Bools) -> Comparison:
    """Fit both forms to runs of n problems: their sizes, seconds until they ended, and whether with a proof."""
    fits = {name: fitted(form(size), seconds, proven) for name, form in FORMS.items()}
    return Comparison(fits, interval((fits["exponential"].likelihood - fits["a power"].likelihood).tolist()))


def fitted(x: Floats, seconds: Floats, proven: Bools) -> Growth:
    """The parameters of the largest likelihood for ln g = a + b x, found from several starts."""
    taken, width = np.log(seconds), float(np.ptp(x)) or 1.0
    place = (x - x.max()) / width  # from -1 to 0

    def log_likelihood(parameters: Floats) -> Floats:
        log_base, last, rise, log_spread = parameters  # `last` is ln g at the largest size
        z = (taken - np.logaddexp(log_base, last + rise * place)) / np.exp(log_spread)
        return np.asarray(np.where(proven, -0.5 * z**2 - HALF_LOG - log_spread, log_ndtr(-z)))

    low, high = float(taken.min()), float(taken.max())
    bounds = [(low - 10, high), (low - 10, high + STEEPEST), (-STEEPEST, STEEPEST), (np.log(LEAST_SPREAD), 5.0)]
    starts = [(low - 0.1, high + more, rise, 0.0) for more in (0.0, 5.0, 20.0) for rise in (0.5, high - low + more, 30.0)]
    found = [minimize(lambda p: -log_likelihood(p).sum(), start, method="L-BFGS-B", bounds=bounds) for start in starts]
    best = min(found, key=lambda result: float(result.fun)).x
    log_base, last, rise, log_spread = map(float, best)
    b = rise / width
    return Growth(math.exp(log_base), last - b * float(x.max()), b, math.exp(log_spread), log_likelihood(best))
