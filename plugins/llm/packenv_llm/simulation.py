"""One run: requests, a replica, a rule, and all times."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.extend import NO_VERDICT, ArgumentError, InputError, Verdict, judge_run, settling_time
from packenv_llm import engine
from packenv_llm.functions import compiled_functions
from packenv_llm.replica import Replica
from packenv_llm.requests import Requests
from packenv_llm.rules import ADMISSIONS, BATCHES, ORDERS, REJOINS, VICTIMS, Rule

BINS = 512
WARMUP = 0.1
"""Share of the first requests without measures."""


@dataclass(frozen=True)
class Run:
    """The result of a run, with times in seconds.

    first, last  (n,) times of the first and of the last token
    silence      (n,) longest time between two tokens
    bins         (bins, 3) waiting requests, running requests and blocks in use, on average over `width` seconds each
    used, running, waiting  block-seconds in use, and seconds of running and waiting requests
    """

    rule: Rule
    requests: Requests
    replica: Replica
    seed: int
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    silence: NDArray[np.float64]
    preemptions: NDArray[np.int32]
    gaps: NDArray[np.int64]
    bins: NDArray[np.float64]
    width: float
    seconds: float
    busy: float
    used: float
    running: float
    waiting: float
    steps: int
    wasted: int
    computed: int
    done: int
    verdict: Verdict
    log: NDArray[np.void] = field(repr=False)


def core_of(requests: Requests, replica: Replica, rule: Rule, seed: int = 0, closed: int = 0, log: int = 0) -> engine.Core:
    """Build the initial state. Raises InputError for impossible requests."""
    if closed < 0:
        raise ArgumentError(f"`closed` is a number of clients, not {closed}")
    requests.check(replica, not rule.chunked, rule.admission == "reserve")
    n = len(requests)
    places = min(replica.places, n)
    request = np.zeros(n, engine.request_type)
    for key in ("arrival", "prompt", "output", "limit"):
        request[key] = getattr(requests, key)
    request["predicted"] = requests.output if requests.predicted is None else requests.predicted
    request["priority"] = 0.0 if requests.priority is None else requests.priority
    request["first"] = request["last"] = request["end"] = np.nan
    # Write the rule and the replica as numbers for the engine.
    setting = np.zeros(1, engine.setting_type)
    addresses = compiled_functions(rule.source, rule.file) if rule.source else {}
    values: dict[str, Any] = {
        **{"block": replica.block, "usable": replica.usable, "budget": replica.tokens, "places": places, "closed": closed},
        "shortest": requests.prompt.min(),
        **{key: getattr(replica.time, key) for key in ("fixed", "prefill", "decode", "level", "above", "quantum")},
        **{"batch": BATCHES.index(rule.batch), "chunked": int(rule.chunked), "hold": int(rule.hold)},
        **{"admission": ADMISSIONS.index(rule.admission), "reserve": int(rule.watermark * replica.blocks)},
        **{"threshold": rule.threshold, "order": ORDERS.index(rule.order), "victim": VICTIMS.index(rule.victim)},
        **{"rejoin": REJOINS.index(rule.rejoin), "rate": rule.rate, "seed": seed},
        **{"moving": int(rule.order == "hrrn" or addresses.get("order", (0, False))[1])},
        **{f"{name}_at": address for name, (address, _) in addresses.items()},
    }
    for key, value in values.items():
        setting[key] = value
    horizon = float(requests.arrival[-1])
    if closed:  # about as long as that takes, for the width of bins
        horizon = n / closed * float(requests.output.mean()) * replica.time.seconds(0, closed) * 1.5
    setting["width"] = max(horizon, 1e-9) / BINS
    count = np.zeros(1, engine.count_type)
    count["free"], count["ratio"] = replica.usable, engine.START
    power = 1 << int(requests.output.max() + 2).bit_length()
    return engine.Core(
        request=request,
        setting=setting,
        count=count,
        queue=np.zeros(n, np.int32),
        **{name: np.zeros(places + 1, np.int32) for name in ("running", "fresh", "entering")},
        phase=np.zeros(replica.block, np.int64),
        ring=np.full(power, engine.NONE, np.int32),
        peak_beat=np.zeros(power, np.int64),
        peak=np.zeros(power),
        gaps=np.zeros(engine.GAP_BINS, np.int64),
        bins=np.zeros((BINS, 3)),
        ends=np.zeros((2, places + 1)),
        log=np.zeros(log, engine.log_type),
        seen=engine.Seen(
            request=np.zeros(1, engine.seen_request), replica=np.zeros(1, engine.seen_replica), parameters=np.zeros(0)
        ),
    )


def simulate(
    requests: Requests,
    replica: Replica,
    rule: Rule,
    seed: int = 0,
    closed: int = 0,
    drain: bool = True,
    intensity: float = 0.0,
    log: int = 0,
) -> Run:
    """Run requests through a replica.

    closed     number of clients with one request at a time (0: requests arrive by the table)
    drain      run until all requests are done, instead of the last arrival
    intensity  the load as a share of the bound: at 1 or more no run is called stable
    log        most entries of the log of services

    Raises InputError for requests that can never run, and for a rule that admits nobody or makes no progress.
    """
    core = core_of(requests, replica, rule, seed, closed, log)
    until = np.inf if drain or closed else float(requests.arrival[-1])
    try:
        why = engine.run(core, until, -1)
    except ValueError as error:
        raise InputError(f"rule {rule.name}: {error}") from None
    count, request = core.count[0], core.request
    if why == engine.STUCK:
        stuck = int(core.queue[0])
        raise InputError(f"rule {rule.name}: admits nobody at {count['now']:.6g} s, with nothing running; request {stuck} waits")
    if why == engine.ENDLESS_LOOP:
        raise InputError(f"rule {rule.name}: no request has had a token for {engine.MOST_IDLE:,} steps at {count['now']:.6g} s")
    width, verdict = float(core.setting[0]["width"]), NO_VERDICT
    bins, outputs = core.bins / width, requests.output.astype(np.float64)
    if not closed:
        # Judge stability from the waiting requests over time, in slots of a microsecond.
        residence = 1e6 * count["running_time"] / max(count["done"], 1)
        settling = settling_time(residence, residence * float((outputs**2).mean() / outputs.mean() ** 2) / 2)
        verdict = judge_run(np.ascontiguousarray(bins[:, 0]), max(round(width * 1e6), 1), settling, intensity)
    table = replace(requests, arrival=request["arrival"].copy()) if closed else requests
    names = {"seconds": "now", "used": "used_time", "running": "running_time", "waiting": "waiting_time"}
    values: dict[str, Any] = {
        **{name: request[key] for name, key in (("first", "first"), ("last", "end"), ("silence", "gap"))},
        **{name: float(count[names.get(name, name)]) for name in ("seconds", "busy", "used", "running", "waiting")},
        **{name: int(count[name]) for name in ("steps", "wasted", "computed", "done")},
        **{"preemptions": request["preemptions"], "gaps": core.gaps, "log": core.log[: int(count["logged"])]},
    }
    return Run(rule, table, replica, seed, bins=bins, width=width, verdict=verdict, **values)
