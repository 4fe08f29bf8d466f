"""The slow, obvious model of a replica, written from the definitions: lists of requests, one step after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from packenv_llm.replica import Replica
from packenv_llm.rules import Rule


@dataclass
class Request:
    index: int
    arrival: float
    prompt: int
    output: int
    limit: int
    predicted: int = 0
    priority: float = 0.0
    produced: int = 0
    computed: int = 0
    held: int = 0  # blocks
    in_decode: bool = False  # all known tokens were computed since it was last admitted
    first: float = math.nan
    last: float = math.nan
    end: float = math.nan
    longest_gap: float = 0.0
    preemptions: int = 0
    before: int = 0  # tokens computed by the replica at the arrival
    rejoined: tuple[int, float] | None = None  # (-1, …) at the front, (1, …) at the back

    @property
    def known(self) -> int:
        return self.prompt + self.produced

    @property
    def left(self) -> int:
        return max(self.predicted - self.produced, 1)


@dataclass
class Model:
    replica: Replica
    rule: Rule
    requests: list[Request]
    closed: int = 0
    random: object = None  # number of the preemption -> choice among candidates
    now: float = 0.0
    queue: list[Request] = field(default_factory=list)
    running: list[Request] = field(default_factory=list)
    steps: list[dict] = field(default_factory=list)
    preempted: int = 0
    wasted: int = 0
    ratio: float = 0.7
    arrived: int = 0
    computed: int = 0

    def blocks(self, tokens: int) -> int:
        return -(-tokens // self.replica.block)

    @property
    def free(self) -> int:
        return self.replica.usable - sum(r.held for r in self.running)

    def key(self, r: Request) -> tuple:
        """Smallest first."""
        if r.rejoined is not None:
            return (r.rejoined[0], r.rejoined[1], 0)
        rule, waited = self.rule, self.now - r.arrival
        value = {
            "fcfs": 0.0,
            "prompt": r.known,
            "aged": r.known + rule.rate * r.arrival,
            "hrrn": -waited / r.known if not 0 < rule.rate < len(self.queue) else 0.0,
            "edf": r.arrival + r.known / max(rule.rate, 1e-300),
            "priority": r.priority,
            "limit": r.limit,
            "known-output": r.left,
            "aged-tokens": r.known + rule.rate * r.before,
        }[rule.order]
        return (0, value, r.index)

    def victim(self) -> Request:
        def computed(r: Request) -> float:
            return r.computed

        order = {
            "tail": lambda r: 0,
            "least": computed,
            "most": lambda r: -r.computed,
            "score": lambda r: -(r.held / max(1, r.known)) * (1 - r.produced / max(1, r.limit)),
            "retract": lambda r: (r.produced, -r.prompt),
            "priority": lambda r: (-r.priority, -r.index),
            "prompt": lambda r: r.prompt,
        }
        if self.rule.victim == "random":
            return self.running[self.random(self.preempted, len(self.running))]
        places = range(len(self.running))
        return self.running[min(places, key=lambda n: (order[self.rule.victim](self.running[n]), -n))]

    def preempt(self, r: Request) -> None:
        self.left += self.served.pop(r.index, 0)
        self.preempted += 1
        self.wasted += r.computed
        r.preemptions += 1
        r.computed = r.held = 0
        r.in_decode = False
        r.rejoined = {"front": (-1, -self.preempted), "back": (1, self.preempted), "order": None}[self.rule.rejoin]
        self.running.remove(r)
        self.queue.append(r)
        self.stopped = True

    def serve(self, candidates: list[Request]) -> None:
        for r in candidates:
            if r not in self.running:
                continue
            take = min(r.known - r.computed, self.left)
            if take == 0:
                continue
            needed = max(0, self.blocks(r.computed + take) - r.held)
            while needed > self.free:
                v = self.victim()
                self.preempt(v)
                if v is r:
                    self.ended = True
                    return
            r.held += needed
            self.served[r.index] = take
            self.left -= take

    def retract(self) -> None:
        decodes = [r for r in self.running if r.in_decode]
        if sum(self.blocks(r.computed + 1) - r.held for r in decodes) <= self.free:
            return
        while len(self.running) > 1:
            self.preempt(self.victim())
            decodes = [r for r in self.running if r.in_decode]
            if sum(self.blocks(r.computed + 20) - r.held for r in decodes) <= self.free:
                break
        self.ratio = min(1.0, sum(r.produced + 20 for r in self.running) / sum(r.limit + 1 for r in self.running))

    def decodes(self) -> None:
        if self.ended:
            return
        if self.rule.victim == "retract":
            self.retract()
        self.serve([r for r in self.running if r.in_decode])

    def under_way(self) -> None:
        if not self.ended:
            self.serve([r for r in self.running if not r.in_decode])

    def fits(self, r: Request, take: int) -> bool:
        reserve = int(self.rule.watermark * self.replica.blocks) if self.running else 0
        if self.blocks(take) + reserve > self.free:
            return False
        if self.rule.admission == "prompt":
            return self.blocks(r.known) + reserve <= self.free
        if self.rule.admission == "reserve":
            return sum(self.blocks(x.prompt + x.limit - 1) for x in [*self.running, r]) + reserve <= self.replica.usable
        if self.rule.admission == "ratio":
            coming = sum(min(x.limit - x.produced, 4096) for x in [*self.running, r])
            return r.known + self.ratio * coming <= (self.free - reserve) * self.replica.block
        if self.rule.admission == "known-look-ahead":
            # (steps still to come, tokens computed before them); a prompt takes one step, with its first token
            members = [(x.left, x.computed if x.in_decode else x.known - 1) for x in self.running] + [(r.left, r.known - 1)]
            for end, _ in members:
                held = sum(self.blocks(computed + end) for steps, computed in members if steps >= end)
                if held + reserve > self.replica.usable:
                    return False
        return True

    def admit(self) -> None:
        rule = self.rule
        if self.stopped or (len(self.queue) < rule.threshold and self.arrived < len(self.requests)):
            return
        while self.queue and len(self.running) < self.replica.places and self.left > 0:
            r = min(self.queue, key=self.key)
            take = min(r.known, self.left)
            if (not rule.chunked and take < r.known) or not self.fits(r, take):
                return
            r.held = self.blocks(r.known if rule.hold else take)
            self.queue.remove(r)
            self.running.append(r)
            self.served[r.index] = take
            self.left -= take

    def arrive(self) -> None:
        present = len(self.queue) + len(self.running)
        while self.arrived < len(self.requests):
            r = self.requests[self.arrived]
            if self.closed:
                if present >= self.closed:
                    return
                r.arrival = self.now
            elif r.arrival > self.now:
                return
            r.before = self.computed
            self.queue.append(r)
            self.arrived += 1
            present += 1

    def step(self) -> bool:
        """Run a step; False when all work is done."""
        self.progress = False
        self.arrive()
        if not self.queue and not self.running:
            if self.arrived == len(self.requests):
                return False
            self.now = self.requests[self.arrived].arrival
            return True
        self.served: dict[int, int] = {}
        self.left, self.stopped, self.ended = self.replica.tokens, False, False
        if self.rule.batch == "mixed":
            self.decodes(), self.under_way(), self.admit()
        elif self.rule.batch == "prefill-first":
            self.under_way(), self.admit(), self.decodes()
        elif self.rule.batch == "prompts-alone":
            self.under_way(), self.admit()
            if not self.served:
                self.decodes()
        elif any(r.in_decode for r in self.running):
            self.decodes()
        else:
            self.under_way(), self.admit()
        if not self.served:
            assert self.stopped or self.arrived < len(self.requests), "nothing can be admitted"
            if not self.stopped:
                self.now = self.requests[self.arrived].arrival
            return True
        outputs = sum(1 for r in self.running if r.index in self.served and r.in_decode)
        prompts = sum(self.served.values()) - outputs
        assert sum(r.held for r in self.running) <= self.replica.usable
        assert len(self.running) <= self.replica.places
        self.steps.append(
            {
                "begin": self.now,
                "served": dict(self.served),
                "used": sum(r.held for r in self.running),
                "waiting": len(self.queue) + len(self.running) - len(self.served),
            }
        )
        self.now += self.replica.time.seconds(prompts, outputs)
        self.computed += prompts + outputs
        if outputs:
            self.ratio = max(self.ratio - 0.7 * (1 - 0.14) / 600, 0.7 * 0.14)
        for r in [x for x in self.running if x.index in self.served]:
            r.computed += self.served[r.index]
            if r.computed == r.known:
                r.in_decode = True
                r.produced += 1
                self.progress = True
                if r.produced == 1:
                    r.first = self.now
                else:
                    r.longest_gap = max(r.longest_gap, self.now - r.last)
                r.last = self.now
                if r.produced == r.output:
                    r.end = self.now
                    r.held = 0
                    self.running.remove(r)
        return True

    def run(self) -> Model:
        idle = 0
        while self.step():
            idle = 0 if self.progress else idle + 1
            assert idle < 2000, "no token for 2,000 steps"
        return self
