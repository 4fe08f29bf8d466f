"""One run: requests, a replica, a rule, and all times."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.extend import NO_VERDICT, ArgumentError, InputError, Verdict, judge_run, settling_time
from packenv_llm import engine
from packenv_llm.replica import Replica
from packenv_llm.requests import Requests
from packenv_llm.rules import CHOICES, Rule, compiled_functions, empty_arguments

BINS = 512
WARMUP = 0.1
"""Share of the first requests without measures."""


@dataclass(frozen=True)
class Run:
    """The result of a run, with times in seconds.

    first, last  (n,) times of the first and of the last token
    silence      (n,) longest time between two tokens
    bins         (bins, 3) waiting requests, running requests and blocks in use, on average over `width` seconds each
    busy, waiting, running, used  seconds of steps, of waiting and of running requests, and block-seconds in use
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
    waiting: float
    running: float
    used: float
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
    for key in ("arrival", "prompt", "output", "limit", "predicted", "priority"):
        request[key] = getattr(requests, key)
    request["first"] = request["last"] = np.nan
    # Write the rule and the replica as numbers for the engine.
    setting = np.zeros(1, engine.setting_type)
    addresses = compiled_functions(rule.source, rule.file) if rule.source else {}
    values: dict[str, Any] = {
        **vars(replica.time),
        **{key: choices.index(getattr(rule, key)) for key, choices in CHOICES.items()},
        **{key: getattr(rule, key) for key in ("chunked", "hold", "threshold", "rate")},
        **{"block": replica.block, "usable": replica.usable, "budget": replica.tokens, "places": places, "closed": closed},
        **{"reserve": int(rule.watermark * replica.blocks), "seed": seed},
        **{"moving": rule.order == "hrrn" or addresses.get("order", (0, False))[1]},
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
    return engine.Core(
        request=request,
        setting=setting,
        count=count,
        queue=np.zeros(n, np.int32),
        running=np.zeros(places + 1, np.int32),
        phase=np.zeros(replica.block, np.int64),
        gaps=np.zeros(engine.GAP_BINS, np.int64),
        bins=np.zeros((BINS + 1, 5)),
        log=np.zeros(log, engine.log_type),
        seen=empty_arguments(),
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
    busy, waiting, running, used, _ = core.bins.sum(axis=0).tolist()
    bins, outputs = core.bins[:-1, 1:4] / width, requests.output.astype(np.float64)
    if not closed:
        # Judge stability from the waiting requests over time, in slots of a microsecond.
        residence = 1e6 * running / max(count["done"], 1)
        settling = settling_time(residence, residence * float((outputs**2).mean() / outputs.mean() ** 2) / 2)
        verdict = judge_run(np.ascontiguousarray(bins[:, 0]), max(round(width * 1e6), 1), settling, intensity)
    table = replace(requests, arrival=request["arrival"].copy()) if closed else requests
    values: dict[str, Any] = {
        "last": np.where(request["state"] == engine.DONE, request["last"], np.nan),
        **{"first": request["first"], "silence": request["gap"], "preemptions": request["preemptions"]},
        **{"gaps": core.gaps, "log": core.log[: int(count["logged"])], "seconds": float(count["now"])},
        **{name: int(count[name]) for name in ("steps", "wasted", "computed", "done")},
        **{"busy": busy, "waiting": waiting, "running": running, "used": used},
    }
    return Run(rule, table, replica, seed, bins=bins, width=width, verdict=verdict, **values)
