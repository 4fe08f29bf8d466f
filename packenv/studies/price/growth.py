"""How solving times grow with the size of a problem, if some runs were stopped before they had their proof.

A time T at size x is lognormal around t₀ + g(x), with g(x) = exp(a + b x) (exponential) or exp(a + b ln x) (a power). A run
that ended with a proof counts with the density of its time; one that was stopped counts with the probability that it takes
longer (right-censoring). Parameters are those of maximum likelihood, separately for each form of g.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm

from packenv.runs.statistics import Interval, certainly_above, interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FORMS: dict[str, Callable[[Floats], Floats]] = {"exponential": lambda size: size, "a power": np.log}
LEAST_SPREAD = 0.01  # of the logarithm of T: times that lie on a curve exactly have no likelihood
STEEPEST = 20.0  # change of ln g between the smallest and the largest size, at most


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
        """Whether times grow, and the exponential explains them certainly better than a power does."""
        return self.fits["exponential"].b > 0 and self.better.low is not None and certainly_above(self.better, 0)


def compare(size: Floats, seconds: Floats, proven: Bools) -> Comparison:
    """Fit both forms to runs of n problems: their sizes, seconds until they ended, and whether with a proof."""
    fits = {name: fitted(form(size), seconds, proven) for name, form in FORMS.items()}
    return Comparison(fits, interval((fits["exponential"].likelihood - fits["a power"].likelihood).tolist()))


def fitted(x: Floats, seconds: Floats, proven: Bools) -> Growth:
    """The parameters of the largest likelihood for ln g = a + b x, found from several starts."""
    taken, width = np.log(seconds), float(np.ptp(x)) or 1.0

    def log_likelihood(parameters: Floats) -> Floats:
        log_base, a, rise, log_spread = parameters
        middle = np.logaddexp(log_base, a + np.clip(rise, -STEEPEST, STEEPEST) * (x - x.min()) / width)
        spread = max(np.exp(log_spread), LEAST_SPREAD)
        z = (taken - middle) / spread
        return np.asarray(np.where(proven, norm.logpdf(z) - np.log(spread), norm.logsf(z)))

    low, high = float(taken.min()), float(taken.max())
    starts = [(low - gap, low - drop, rise, 0.0) for gap in (0.1, 5.0) for drop in (0.0, 5.0) for rise in (high - low, 15.0)]
    found = [
        minimize(lambda p: -log_likelihood(p).sum(), start, method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000})
        for start in starts
    ]
    best = min(found, key=lambda result: float(result.fun)).x
    b = float(np.clip(best[2], -STEEPEST, STEEPEST)) / width
    a = float(best[1]) - b * float(x.min())
    return Growth(float(np.exp(best[0])), a, b, max(float(np.exp(best[3])), LEAST_SPREAD), log_likelihood(best))
