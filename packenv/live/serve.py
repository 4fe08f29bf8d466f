"""`packenv serve`: a Scheduler for lines of JSON, with a log.

After a restart it continues from the log.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from packenv.errors import InputError, nearest
from packenv.inputs.numbers import excerpt
from packenv.live.scheduler import Scheduler

PROTOCOL = 1
LONGEST_LINE = 2**20
CHUNK = 2**16
EVENTS = "events"
"""Kind of file, in the first line of a log."""

SILENT = 10  # seconds until a client that reads no answers is disconnected
MALFORMED = (TypeError, ValueError, OverflowError, RecursionError, KeyError, AttributeError)
DONE = '{"ok": true}'


class Service:
    """Answers messages. `log`: path of the file that stores them.

    seconds  length of a slot by this machine's clock, for decisions without `now`. None: each is in the next slot
    """

    def __init__(self, scheduler: Scheduler, log: str | None = None, seconds: float | None = None) -> None:
        self.scheduler, self.seconds, self.lock = scheduler, seconds, threading.Lock()
        self.actions: dict[str, Callable[[Any], Any]] = {
            "hello": self._hello,
            "submit": self._submit,
            "complete": scheduler.complete,
            "fail": scheduler.fail,
            "withdraw": scheduler.withdraw,
            "drain": scheduler.drain,
            "resume": scheduler.resume,
            "remove": lambda name: {"ok": True, "waiting": scheduler.remove_server(name)},
            "add": self._add,
            "decide": self._decide,
            "state": lambda _: {"slot": scheduler.slot, "running": scheduler.running, "waiting": scheduler.waiting},
        }
        self.file: Any = None if log is None else self._open(Path(log))
        self.began = time.monotonic() - (scheduler.slot + 1) * (seconds or 0)

    def answer(self, lines: list[bytes]) -> bytes:
        """Return an answer for each line. Changes are logged before answers."""
        with self.lock:
            answers, records = zip(*map(self._answer, lines), strict=True) if lines else ((), ())
            if self.file is not None and any(records):
                self.file.write("".join(f"{record}\n" for record in records if record).encode())
                self.file.flush()
        return "".join(f"{answer}\n" for answer in answers).encode()

    def _answer(self, line: bytes) -> tuple[str, str]:
        """Return the answer to a line, and its record in the log, "" if nothing changes."""
        try:
            if len(line) > LONGEST_LINE:
                raise InputError(f"a line of {len(line):,} bytes is too long: at most {LONGEST_LINE:,}")
            text = line.decode()
            message = json.loads(text)
            if not isinstance(message, dict) or len(message) != 1:
                raise InputError('a message is an object with one key, such as {"submit": {"task": "a", "size": 0.4}}')
            [(action, argument)] = message.items()
            if action not in self.actions:
                raise InputError(f"unknown message {excerpt(action)}{nearest(action, [*self.actions])}")
            reply = self.actions[action](argument)
        except InputError as problem:
            return json.dumps({"error": " ".join(str(problem).split())}), ""
        except MALFORMED as problem:
            return json.dumps({"error": f"malformed message: {' '.join(str(problem).split())[:200]}"}), ""
        answer = DONE if reply is None else json.dumps(reply)
        if action in ("hello", "state"):
            return answer, ""
        if action == "decide":
            return answer, json.dumps({"decide": {"now": reply["slot"]}, "starts": reply["starts"]})
        if action == "remove":
            return answer, json.dumps(message | {"waiting": reply["waiting"]})
        return answer, " ".join(text.split("\r")).strip()

    def _hello(self, _: Any) -> dict[str, Any]:
        scheduler, names = self.scheduler, [*self.scheduler.server_names]
        return {"protocol": PROTOCOL, "policy": scheduler.policy_text, "servers": names, "resources": scheduler.setting.resources}

    def _submit(self, task: Any) -> None:
        if not isinstance(task, dict) or "task" not in task or "self" in task:
            raise InputError('a task is {"submit": {"task": "a", "size": 0.4}}, with the arguments of Scheduler.submit')
        self.scheduler.submit(**task)

    def _add(self, server: Any) -> None:
        if not isinstance(server, dict) or {*server} != {"server", "capacity"}:
            raise InputError('a new server is {"add": {"server": "n4", "capacity": "64:256"}}')
        self.scheduler.add_server(server["server"], server["capacity"])

    def _decide(self, argument: Any) -> dict[str, Any]:
        if not isinstance(argument, dict) or {*argument} - {"now"}:
            raise InputError('a decision is {"decide": {}} or {"decide": {"now": 17}}')
        now, scheduler = argument.get("now"), self.scheduler
        if now is None and self.seconds is not None:
            now = max(int((time.monotonic() - self.began) / self.seconds), scheduler.slot)
        starts: list[dict[str, Any]] = []
        for task, server, devices, slot, source in scheduler.decide(now):
            starts.append({"task": task, "server": server, "slot": slot})
            if devices:
                starts[-1]["devices"] = devices
            if source is not None:
                starts[-1]["source"] = source
        return {"starts": starts, "slot": scheduler.slot, "wake": scheduler.wake}

    # The log

    def _open(self, path: Path) -> Any:
        """Replay an existing log, and return the file to continue it.

        A last line that was not written whole is removed.
        """
        scheduler, setting = self.scheduler, self.scheduler.setting
        header = {
            "packenv": EVENTS,
            "version": PROTOCOL,
            "policy": scheduler.policy_text,
            "servers": str(setting.servers),
            "names": list(setting.servers.names),
            "resources": setting.resources and list(setting.resources),
            "slot_seconds": self.seconds,
        }
        try:
            file = path.open("ab+")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        file.seek(0)
        whole = 0
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            self._replay(f"{path}: line {number}", line, header if number == 1 else None)
        file.truncate(whole)
        if whole == 0:
            file.write((json.dumps(header) + "\n").encode())
            file.flush()
        return file

    def _replay(self, where: str, line: bytes, header: dict[str, Any] | None) -> None:
        """Repeat a line of the log, or compare its first line with `header`."""
        try:
            message = json.loads(line)
        except ValueError:
            raise InputError(f"{where} is not JSON: give another file to --log") from None
        if header is not None:
            if message != header:
                raise InputError(f"{where}: the log of another policy or other servers: give another file to --log")
            return
        starts = message.pop("starts", None) if isinstance(message, dict) else None
        message.pop("waiting", None)
        reply = json.loads(self._answer(json.dumps(message).encode())[0])
        if "error" in reply:
            raise InputError(f"{where}: {reply['error']}")
        if reply.get("starts") != starts:
            raise InputError(f"{where}: the policy starts other tasks now than when the log was written")


def serve_standard(service: Service) -> None:
    """Answer standard input on standard output, until it ends."""
    _converse(service, lambda: os.read(0, CHUNK), sys.stdout.buffer)


def serve_socket(service: Service, path: str) -> None:
    """Answer all clients of a Unix socket, until a signal ends the process."""
    with _listening(path) as listener:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_serve_client, args=(service, client), daemon=True).start()


def _serve_client(service: Service, client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SILENT, 0))
    with client, suppress(OSError), client.makefile("wb") as answers:
        _converse(service, lambda: client.recv(CHUNK), answers)


def _converse(service: Service, read: Callable[[], bytes], answers: Any) -> None:
    """Answer the complete lines of each chunk, together."""
    rest = b""
    while chunk := read():
        *lines, rest = (rest + chunk).split(b"\n")
        rest = rest[: LONGEST_LINE + 1]  # enough to be refused
        answers.write(service.answer([line for line in lines if line.strip()]))
        answers.flush()


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
