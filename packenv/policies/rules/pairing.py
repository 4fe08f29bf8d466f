"""`pairing`: of many waiting tasks, take those that make most pairs. The policy reads this file, and calls nothing in it.

Best fit takes the largest task that fits. Where two or three tasks fill a server that is wasteful twice: what it leaves over may
be too little for anything that waits, and the sizes that it passes over, which go badly with others, are in the end all that
waits, so that servers are filled worse and worse. While enough tasks wait to choose from, this rule weighs three things:

- `left`, the room that stays free, which is as good as lost: by its root, so that 0.01 of a server counts a third of 0.09.
- `filled`, what stays free once up to three more tasks have followed, each the largest that fits: what matters is how full the
  server is in the end, and a smaller task beside which others fit can be the better one.
- `alike` times `partners`, the pairs that would fill a server: tasks of about this size, times tasks that would leave at most a
  32nd of an empty server beside it. To take from what there is most of keeps the mixture of the queue even, as MaxWeight does,
  and keeps partners for all.

While less waits than would fill all servers twice it is best fit: then there is little to choose from, and where many small
tasks share a server best fit is hard to beat.

These quantities are what the thirty weights of agent:fig4b say most of. Their numbers were found by evolution on `paper/fig4b`
and on random workloads (experiments/rule_search.py), made fewer and rounded while that cost nothing.
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
