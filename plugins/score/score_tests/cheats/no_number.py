"""A priority that is not a number, which compares with nothing."""


def priority(task, server, cluster):
    return (task.size - server.room) * float("nan")
