"""A priority that is no number, which compares with nothing."""


def priority(task, server, cluster):
    return (task.size - server.room) * float("nan")
