"""Work in pieces of seconds, with outcomes in any order."""

from __future__ import annotations

import pickle
import time
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import Any, NamedTuple

from packenv.errors import InputError
from packenv.executors.local import ThisProcess, report_share
from packenv.executors.shared import Shared, Sharing, ShippedModules

PIECE = 2.0  # seconds that a piece should take: handing it over costs milliseconds
SHARES = 4  # pieces that each worker should still get: the last ones are small, so that no worker waits long for another
USUAL_WORKERS = 32  # of an executor that does not say how many it has
AHEAD = 2  # pieces for each worker that an executor has at once: memory does not grow with their number

Call = Callable[[Any], Any]


class Outcome(NamedTuple):
    """The outcome of one item."""

    number: int
    value: Any
    error: Exception | None
    seconds: float  # that it took


class Work(NamedTuple):
    """The calls that pieces are made of, in this process."""

    call: Call
    items: Sequence[Any]

    def value(self) -> Work:
        return self


class Pieces:
    """A thread-safe distributor of work to an executor."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.here = isinstance(executor, ThisProcess)
        self.sharing = Sharing(executor)
        self.seconds: dict[Hashable, float] = {}  # by kind of item: how long one takes
        self.under_way = 0  # pieces that the executor has

    @property
    def workers(self) -> int:
        """The present number of pieces that run together."""
        return max(1, int(getattr(self.executor, "workers", USUAL_WORKERS)))

    def each(
        self, call: Call, items: Sequence[Any], kind: Callable[[Any], Hashable] = type, modules: ShippedModules | None = None
    ) -> Iterator[Outcome]:
        """Yield the outcome of each `call(item)`, as they end.

        kind     items that take about the same time have the same
        modules  your modules, for processes that may lack them
        An exception of the call is in the outcome. Raises InputError if the executor itself has failed.
        """
        work: Work | Shared = Work(call, items) if self.here else self.sharing.share((call, items))
        ahead, under_way = deque(range(len(items))), dict[Future[list[Outcome]], list[int]]()
        again: deque[list[int]] = deque()
        try:
            while ahead or again or under_way:
                # Keep every worker busy, with few pieces ahead.
                while (ahead or again) and len(under_way) < (1 if self.here else AHEAD * self.workers):
                    piece = again.popleft() if again else self._next(ahead, items, kind)
                    under_way[self.executor.submit(do_piece, work, modules, piece)] = piece
                    self.under_way += 1
                # Pass on outcomes, and learn how long an item takes.
                ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in ended:
                    piece = under_way.pop(future)
                    self.under_way -= 1
                    for outcome in _outcomes(future, piece, again):
                        alike = kind(items[outcome.number])
                        self.seconds[alike] = 0.5 * (self.seconds.get(alike, outcome.seconds) + outcome.seconds)
                        yield outcome
        finally:
            # The caller stops early: cancel the rest.
            for future in under_way:
                future.cancel()
            self.under_way -= len(under_way)

    def _next(self, ahead: deque[int], items: Sequence[Any], kind: Callable[[Any], Hashable]) -> list[int]:
        """Take the next piece's items, one if new."""
        most = max(1, len(ahead) // (SHARES * self.workers))
        piece = [ahead.popleft()]
        planned = self.seconds.get(kind(items[piece[0]]), PIECE)
        while ahead and len(piece) < most:
            planned += self.seconds.get(kind(items[ahead[0]]), PIECE)
            if planned > PIECE:
                break
            piece.append(ahead.popleft())
        return piece


def _outcomes(future: Future[list[Outcome]], piece: list[int], again: deque[list[int]]) -> list[Outcome]:
    """Return an ended piece's outcomes, or repeat its items."""
    try:
        return future.result()
    except InputError:
        raise
    except BrokenExecutor:
        raise InputError("a worker process was ended from outside, or ran out of memory") from None
    except Exception as error:
        if len(piece) == 1:
            return [Outcome(piece[0], None, error, 0.0)]
        again.extend([number] for number in piece)
        return []


def do_piece(work: Work | Shared, modules: ShippedModules | None, numbers: Sequence[int]) -> list[Outcome]:
    """Do these items of the work, in the executor's process."""
    if modules is not None:
        modules.put_on_path()
    call, items = work.value()
    return [_do(call, items[number], number) for number in numbers]


def _do(call: Call, item: Any, number: int) -> Outcome:
    began = time.perf_counter()
    report_share(0.0)
    try:
        value, error = call(item), None
    except Exception as raised:
        value, error = None, _sendable(raised)
    report_share(0.0)
    return Outcome(number, value, error, time.perf_counter() - began)


def _sendable(error: Exception) -> Exception:
    """Return a picklable exception, with its traceback as a note."""
    if isinstance(error, InputError):
        return error
    error.add_note(f"In the process that raised it:\n{''.join(traceback.format_exception(error))}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever the exception of a user does
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
