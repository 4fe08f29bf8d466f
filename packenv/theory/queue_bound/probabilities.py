"""Arrival and departure probabilities, rounded down to 2^-BITS."""

from __future__ import annotations

from decimal import Context
from fractions import Fraction

from packenv.theory.capacity.one_resource.certificate import require
from packenv.theory.queue_bound.arrivals import Setting
from packenv.theory.queue_bound.prices import PricedTasks

BITS, PRECISE = 96, 240
TINY = 1 << 16  # in multiples of 2^-BITS: smaller probabilities far from the mean are left out
DIGITS = 60
MOST_ARRIVALS = 100.0  # per slot, mean


def arrivals_below(setting: Setting, tasks: PricedTasks) -> list[int]:
    """Return lower bounds on P(A = 0), P(A = 1), …, A the arrivals' price."""
    require(setting.tasks == setting.square == 1, "this proof is for tasks that arrive one by one")
    rates = [setting.rate * mass for mass in tasks.mass]  # of tasks of each price
    mean = sum(rates, Fraction(0))
    if setting.bernoulli:
        chances = [0] * (tasks.price[-1] + 1)
        for price, rate in zip(tasks.price, rates, strict=True):
            chances[price] = _down(rate)
        return [_down(1 - mean), *chances[1:]]
    require(mean <= MOST_ARRIVALS, f"more than {MOST_ARRIVALS:g} arrivals in a slot")
    context = Context(prec=DIGITS)
    exponent = context.divide(context.create_decimal(-mean.numerator), context.create_decimal(mean.denominator))
    # the exponent is rounded by less than 10^(1 - DIGITS) of itself, and the power by as much
    none = Fraction(context.exp(exponent)) * (1 - Fraction(2 + 2 * int(mean), 10 ** (DIGITS - 1)))
    # n P(A = n) = Σ rate · price · P(A = n - price), of a compound Poisson number
    weights = [(price, _down(rate * price, PRECISE)) for price, rate in zip(tasks.price, rates, strict=True)]
    terms, last = [_down(none, PRECISE)], setting.rate * tasks.moment(1)
    while len(terms) <= last or max(terms[-tasks.price[-1] :]) >> (PRECISE - BITS) > TINY:
        n = len(terms)
        terms.append((sum(weight * terms[n - price] for price, weight in weights if price <= n) >> PRECISE) // n)
    return [term >> (PRECISE - BITS) for term in terms]


def leaving_below(leaving: Fraction, most: int) -> list[list[int]]:
    """Return lower bounds on P(0, 1, … of m tasks leave), m <= `most`."""
    goes, stays = _down(leaving), _down(1 - leaving)
    rows = [[1 << BITS]]
    for m in range(1, most + 1):
        before = rows[-1]
        shifted = zip([*before, 0], [0, *before], strict=True)
        row = [(same * stays + fewer * goes) >> BITS for same, fewer in shifted]
        while len(row) > leaving * m + 1 and row[-1] <= TINY:
            row.pop()
        rows.append(row)
    return rows


def _down(value: Fraction, bits: int = BITS) -> int:
    return (value.numerator << bits) // value.denominator
