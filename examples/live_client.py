"""A scheduler in 30 lines: a client of `packenv serve` on a Unix socket. It does not import packenv.

packenv serve bf-js --servers 2 --socket packenv.sock &
python examples/live_client.py packenv.sock
"""

import json
import socket
import sys
from typing import Any


class Client:
    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.answers = self.socket.makefile("rb")

    def ask(self, **message: Any) -> Any:
        """Send a message; returns its answer. Raises ValueError where that is an error."""
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        answer = json.loads(self.answers.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer


if __name__ == "__main__":
    client = Client(sys.argv[1])
    for name, size in (("a", 0.6), ("b", 0.5), ("c", 0.4), ("d", 0.7)):
        client.ask(submit={"task": name, "size": size})
    for start in client.ask(decide={})["starts"]:
        print(start["task"], "starts on server", start["server"])
    client.ask(complete="b")
    print(client.ask(decide={})["starts"])
