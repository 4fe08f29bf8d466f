"""A rule that reads the simulator's modules before it is asked for anything."""

from packenv.workloads.source import Source


def priority(task, server, cluster):
    return task.size - server.room + 0 * len(Source.__doc__)
