"""`packenv serve`: a Scheduler for lines of JSON, with a log.

After a restart it continues from the log.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from packenv.errors import InputError, nearest
from packenv.inputs.numbers import excerpt
from packenv.live.scheduler import Scheduler, Start

PROTOCOL = 1
LONGEST_LINE = 2**20
CHUNK = 2**16
EVENTS = "events"
"""Kind of file, in the first line of a log."""

SILENT = 10.0  # seconds until a client that reads no answers is disconnected
MALFORMED = (TypeError, ValueError, OverflowError, RecursionError, KeyError, AttributeError)


def start_record(start: Start) -> dict[str, Any]:
    """Return a start for an answer."""
    record: dict[str, Any] = {"task": start.task, "server": start.server, "slot": start.slot}
    if start.devices:
        record["devices"] = start.devices
    return record if start.source is None else record | {"source": start.source}


class Service:
    """Answers messages. `log`: path of the file that stores them.

    seconds  length of a slot by this machine's clock, for decisions without `now`. None: each is in the next slot
    """

    def __init__(self, scheduler: Scheduler, log: str | None = None, seconds: float | None = None) -> None:
        self.scheduler, self.seconds = scheduler, seconds
        self.actions: dict[str, Callable[[Any], dict[str, Any]]] = {
            "hello": self._hello,
            "submit": lambda task: self._told(scheduler.submit, **task),
            "complete": lambda name: self._told(scheduler.complete, name),
            "fail": lambda name: self._told(scheduler.fail, name),
            "withdraw": lambda name: self._told(scheduler.withdraw, name),
            "drain": lambda name: self._told(scheduler.drain, name),
            "resume": lambda name: self._told(scheduler.resume, name),
            "remove": lambda name: {"ok": True, "waiting": scheduler.remove_server(name)},
            "add": lambda server: self._told(scheduler.add_server, server["server"], server["capacity"]),
            "decide": self._decide,
            "state": lambda _: {"slot": scheduler.slot, "running": scheduler.running, "waiting": scheduler.waiting},
        }
        self.file: Any = None
        if log is not None:
            self._open(Path(log))
        self.began = time.monotonic() - (scheduler.slot + 1) * (seconds or 0)

    def answer(self, chunk: list[bytes]) -> bytes:
        """Return an answer for each line. Changes are logged before answers."""
        answers, kept = [], []
        for line in chunk:
            reply, record = self._answer(line)
            answers.append(json.dumps(reply))
            if record is not None and self.file is not None:
                kept.append(json.dumps(record))
        if kept:
            self.file.write(("\n".join(kept) + "\n").encode())
            self.file.flush()
        return ("\n".join(answers) + "\n").encode() if answers else b""

    def _answer(self, line: bytes) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return the answer to a line, and its record in the log."""
        try:
            if len(line) > LONGEST_LINE:
                raise InputError(f"a line of {len(line):,} bytes is too long: at most {LONGEST_LINE:,}")
            message = json.loads(line)
            if not isinstance(message, dict) or len(message) != 1:
                raise InputError('a message is an object with one key, such as {"submit": {"task": "a", "size": 0.4}}')
            [(action, argument)] = message.items()
            if action not in self.actions:
                raise InputError(f"unknown message {excerpt(action)}{nearest(action, [*self.actions])}")
            reply = self.actions[action](argument)
        except InputError as problem:
            return {"error": " ".join(str(problem).split())}, None
        except MALFORMED as problem:
            return {"error": f"malformed message: {' '.join(str(problem).split())[:200]}"}, None
        if action in ("hello", "state"):
            return reply, None
        if action == "decide":
            message = {"decide": {"now": self.scheduler.slot}, "starts": reply["starts"]}
        if action == "remove":
            message = {"remove": argument, "waiting": reply["waiting"]}
        return reply, message

    @staticmethod
    def _told(call: Callable[..., Any], *values: Any, **named: Any) -> dict[str, Any]:
        call(*values, **named)
        return {"ok": True}

    def _hello(self, _: Any) -> dict[str, Any]:
        scheduler = self.scheduler
        servers = [*scheduler.server_names]
        return {"protocol": PROTOCOL, "policy": scheduler.policy_text, "servers": servers, "resources": scheduler.resources}

    def _decide(self, argument: Any) -> dict[str, Any]:
        if not isinstance(argument, dict) or {*argument} - {"now"}:
            raise InputError('a decision is {"decide": {}} or {"decide": {"now": 17}}')
        now = argument.get("now")
        if now is None and self.seconds is not None:
            now = max(int((time.monotonic() - self.began) / self.seconds), self.scheduler.slot)
        starts = [start_record(start) for start in self.scheduler.decide(now)]
        return {"starts": starts, "slot": self.scheduler.slot, "wake": self.scheduler.wake}

    # The log

    def _open(self, path: Path) -> None:
        """Replay an existing log and continue it.

        A last line that was not written whole is removed.
        """
        scheduler = self.scheduler
        header = {
            "packenv": EVENTS,
            "version": PROTOCOL,
            "policy": scheduler.policy_text,
            "servers": str(scheduler.servers),
            "names": list(scheduler.servers.names),
            "resources": scheduler.resources and list(scheduler.resources),
            "slot_seconds": self.seconds,
        }
        try:
            self.file = path.open("ab+")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        self.file.seek(0)
        whole = 0
        for number, line in enumerate(self.file, 1):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            self._replay(path, number, line, header)
        self.file.truncate(whole)
        if whole == 0:
            self.file.write((json.dumps(header) + "\n").encode())
            self.file.flush()

    def _replay(self, path: Path, number: int, line: bytes, header: dict[str, Any]) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            raise InputError(f"{path}: line {number} is not JSON: give another file to --log") from None
        if number == 1:
            if message != header:
                raise InputError(f"{path}: the log of another policy or other servers: give another file to --log")
            return
        wanted = message.pop("starts", None) if isinstance(message, dict) else None
        message.pop("waiting", None)
        reply, _ = self._answer(json.dumps(message).encode())
        if "error" in reply:
            raise InputError(f"{path}: line {number}: {reply['error']}")
        if json.loads(json.dumps(reply.get("starts"))) != wanted:
            raise InputError(f"{path}: line {number}: the policy starts other tasks now than when the log was written")


def serve_standard(service: Service) -> None:
    """Answer standard input on standard output, until it ends."""
    for lines in _lines(lambda: os.read(0, CHUNK)):
        sys.stdout.buffer.write(service.answer(lines))
        sys.stdout.buffer.flush()


def _lines(read: Callable[[], bytes]) -> Iterator[list[bytes]]:
    """Yield the complete lines of each chunk."""
    rest = b""
    while chunk := read():
        *lines, rest = (rest + chunk).split(b"\n")
        rest = rest if len(rest) <= 2 * LONGEST_LINE else rest[: LONGEST_LINE + 1]  # enough to be refused
        if lines := [line for line in lines if line.strip()]:
            yield lines


def serve_socket(service: Service, path: str) -> None:
    """Answer all clients of a Unix socket, until a signal ends the process."""
    with _listening(path) as listener, selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        rest: dict[socket.socket, bytes] = {}
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    client, _ = listener.accept()
                    client.settimeout(SILENT)
                    selector.register(client, selectors.EVENT_READ)
                    rest[client] = b""
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    if not _serve_client(service, key.fileobj, rest):
                        selector.unregister(key.fileobj)
                        rest.pop(key.fileobj)
                        key.fileobj.close()


def _serve_client(service: Service, client: socket.socket, rest: dict[socket.socket, bytes]) -> bool:
    """Answer a client, return False if it has gone or does not read."""
    try:
        chunk = client.recv(CHUNK)
        *lines, unfinished = (rest[client] + chunk).split(b"\n")
        rest[client] = unfinished if len(unfinished) <= 2 * LONGEST_LINE else unfinished[: LONGEST_LINE + 1]
        client.sendall(service.answer([line for line in lines if line.strip()]))
    except OSError:
        return False
    return bool(chunk)


@contextmanager
def _listening(path: str) -> Iterator[socket.socket]:
    """Open a socket at `path` for this user only.

    The file of a process that has gone is replaced.
    """
    listener = socket.socket(socket.AF_UNIX)
    try:
        with socket.socket(socket.AF_UNIX) as other, suppress(ConnectionRefusedError, FileNotFoundError):
            other.connect(path)
            raise InputError(f"{path}: another process answers there")
        if Path(path).is_socket():
            Path(path).unlink()
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
    except OSError as error:
        listener.close()
        raise InputError(f"{path}: {error.strerror or error}") from None
    with listener:
        listener.listen()
        try:
            yield listener
        finally:
            Path(path).unlink(missing_ok=True)
