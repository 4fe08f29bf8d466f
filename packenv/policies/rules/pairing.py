"""`pairing`: start the tasks that make the most pairs.

The policy reads this file, and calls nothing in it. Best fit takes the largest task that fits. Where two or three tasks fill a
server, this is wasteful twice. The rest may be too little for any waiting task. And the sizes that it skips, because they go
badly with others, are all that waits in the end. While enough tasks wait to choose from, this rule weighs three things:

- `left`, the room that stays free and is probably lost. Its root makes 0.01 of a server count a third of 0.09.
- `filled`, the room that stays free after up to three more tasks, each the largest that fits. A smaller task next to which others
  fit can be the better one.
- `alike` times `partners`, the pairs that would fill a server: tasks of about this size, times tasks that would leave at most a
  32nd of an empty server next to it. Taking from the most frequent sizes keeps the queue mixed, as MaxWeight does, and keeps
  partners for all.

While less waits than would fill all servers twice, it is best fit. There is little to choose from then, and best fit is hard to
beat where many small tasks share a server.

The thirty weights of agent:fig4b express mostly these quantities. Evolution on `paper/fig4b` and on random workloads found their
numbers (experiments/rule_search.py). They were reduced and rounded while that cost nothing.
"""

import math
from typing import Any


def priority(task: Any, server: Any, cluster: Any) -> float:
    if cluster.waiting_size < 2 * cluster.servers:
        return task.size - server.room
    left = server.room - task.size
    filled = cluster.room_after(left, 3)
    rest = server.capacity - task.size
    alike = cluster.waiting_between(task.size - 1 / 64, task.size + 1 / 64)
    partners = cluster.waiting_between(rest - 1 / 32, rest)
    return math.log((1 + alike) * (1 + partners)) - 20 * math.sqrt(left) - 3 * math.sqrt(filled)
