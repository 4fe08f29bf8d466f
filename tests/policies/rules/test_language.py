"""What a rule may say, and the line that each other text is refused with."""

from __future__ import annotations

import pytest

from packenv.errors import InputError
from packenv.policies.rules.language import checked

HEAD = "def priority(task, server, cluster):\n    "

MISSING = "there is no function priority(task, server, cluster) in it"
REFUSED = {
    "import os\n" + HEAD + "return 1": "mine.py:1: a rule imports nothing but math and numpy, not os",
    "from os import system\n" + HEAD + "return 1": "mine.py:1: a rule imports nothing but",
    "from numpy import load\n" + HEAD + "return 1": "mine.py:1: a rule imports nothing but",
    HEAD + "import os\n    return 1": "mine.py:2: a rule cannot use import inside a function",
    HEAD + "return task.service": "mine.py:2: task has no service",
    HEAD + "return task.size.__class__": "mine.py:2: a rule can use .__class__",
    HEAD + "return (1).real": "mine.py:2: a rule can use .real",
    HEAD + "return cluster.task[0]": "mine.py:2: square brackets go with",
    HEAD + "return task.demand": "mine.py:2: task.demand is of one resource: task.demand[0]",
    HEAD + "return server.free[0:1]": "mine.py:2: a rule cannot use Slice",
    HEAD + "return task": "mine.py:2: use one of the numbers of task: size, age",
    HEAD + "return open('x')": "mine.py:2: a rule cannot call open",
    HEAD + "return __import__('os')": "mine.py:2: a rule cannot call __import__",
    HEAD + "return np.load(1)": "mine.py:2: a rule cannot call np.load",
    HEAD + "return math.inf": "mine.py:2: a rule can use .inf",
    HEAD + "return 'text'": "mine.py:2: 'text' is not a number",
    HEAD + "return 1j": "mine.py:2: 1j is not a number",
    HEAD + "return 10**400 + 1e999": "mine.py:2: 1e309 is not a number",
    HEAD + "return [task.size]": "mine.py:2: a rule cannot use lists",
    HEAD + "return max(x for x in (1, 2))": "mine.py:2: max takes two numbers",
    HEAD + "return (lambda: 1)()": "mine.py:2: a rule cannot call",
    HEAD + "return f'{task.size}'": "mine.py:2: a rule cannot use texts",
    HEAD + "return abs(x=1)": "mine.py:2: arguments are given by their places",
    HEAD + "return abs(*(1,))": "mine.py:2: arguments are given by their places",
    HEAD + "return unknown": "mine.py:2: no number is called unknown",
    HEAD + "return priority(task, server, cluster)": "mine.py:2: a rule cannot call priority",
    HEAD + "return cluster.room_after(1)": "mine.py:2: cluster.room_after takes 2 numbers, not 1",
    HEAD + "return cluster.waiting_between": "mine.py:2: cluster.waiting_between is a function",
    HEAD + "return 1 if task in (1,) else 2": "mine.py:2: a rule cannot use in",
    HEAD + "return 3 << 2": "mine.py:2: a rule cannot use LShift",
    HEAD + "while True:\n        pass\n    return 1": "mine.py:2: a rule cannot use while",
    HEAD + "for k in (1, 2):\n        pass\n    return 1": "mine.py:2: loops are of the form",
    HEAD + "for k in range(1, 9, 2):\n        pass\n    return 1": "mine.py:2: range takes one or two numbers",
    HEAD + "task.size = 1\n    return 1": "mine.py:2: a rule assigns to names alone",
    HEAD + "cluster = 1\n    return 1": "mine.py:2: cluster is the name of something else",
    HEAD + "abs = 1\n    return 1": "mine.py:2: abs is the name of something else",
    HEAD + "__x = 1\n    return 1": "mine.py:2: __x is the name of something else",
    HEAD + "if task.size > 1:\n        return 1": "mine.py:1: priority does not return a number on every way",
    HEAD + "if task.size > 1:\n        x = 1\n    return x": "mine.py:4: x has no value on some way to this line",
    HEAD + "for k in range(3):\n        x = k\n    return x": "mine.py:4: x has no value on some way to this line",
    HEAD + "x += 1\n    return x": "mine.py:2: x has no value on some way to this line",
    HEAD + "return": "mine.py:2: priority must return a number",
    HEAD + "global x\n    return 1": "mine.py:2: a rule cannot use global",
    HEAD + "print(1)\n    return 1": "mine.py:2: a rule cannot use calls alone",
    "x = open('f')\n" + HEAD + "return 1": "mine.py:1: a constant must be a number",
    "print(1)\n" + HEAD + "return 1": "mine.py:1: a rule's file has functions, constants",
    "@cache\n" + HEAD + "return 1": "mine.py:2: functions have plain arguments alone, and no decorators",
    "def priority(task, server, cluster, w=1):\n    return w\n\n\ndef best(x, y=2):\n    return x": (
        "mine.py:5: only priority may have arguments with default values"
    ),
    "def priority(task, server, cluster, x=open('f')):\n    return 1": "mine.py:1: a constant must be a number",
    "def priority(task, server, cluster, x):\n    return 1": "mine.py:1: the arguments of priority behind cluster must have",
    "def priority(task, cluster):\n    return 1": "mine.py:1: the arguments of priority must be task, server, cluster",
    "def other(task):\n    return 1": f"mine.py: {MISSING}",
    "class priority:\n    pass": "mine.py:1: priority is a class, not a function that is only read: name it mine:priority",
    "class A:\n    def schedule(self, cluster, state): pass": f"mine.py: {MISSING}; a policy's class is named mine:A",
    "def f(task):\n    return task.size\n" + HEAD + "return f(server)": "mine.py:4: f must be given its task as task",
    "def f(x):\n    return task.size\n" + HEAD + "return f(1)": "mine.py:2: f has no argument task",
    "def f(x):\n    return f(x)\n" + HEAD + "return f(1)": "mine.py:2: a rule cannot call f",
    "def priority(": "mine.py:1: '(' was never closed",
    HEAD + "return " + "-" * 3000 + "1": "mine.py: ",
    HEAD + "x = 1\n    " * 2000 + "return x": "mine.py: the rule is too long",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[-40:])
def test_all_else_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        checked(text, "mine.py")
    assert str(refusal.value).startswith(REFUSED[text]) and "\n" not in str(refusal.value)


ALLOWED = (
    HEAD + "x = 1\n    if task.size > 1:\n        x = 2\n    return x",
    HEAD + "if task.size > 1:\n        return 1\n    else:\n        x = 2\n    return x",
    HEAD + "if task.size > 1:\n        x = 1\n    elif task.size > 2:\n        x = 3\n    else:\n        x = 2\n    return x",
    HEAD
    + "x, y = task.size, 1\n    for k in range(3):\n        if k > 1:\n            continue\n        x += k * y\n    return x",
    "from typing import Any\nimport numpy as np\n" + HEAD + "return np.maximum(task.size, np.sqrt(server.room))",
)


@pytest.mark.parametrize("text", ALLOWED, ids=lambda text: text[-30:])
def test_what_is_allowed(text: str) -> None:
    assert "task.size" in checked(text, "mine.py").reads


def test_what_is_read_is_known() -> None:
    rule = checked(HEAD + "return task.age + server.free[0] - cluster.room_after(server.room, 1)", "mine.py")
    assert rule.reads == {"task.age", "server.free", "cluster.room_after", "server.room"}
