"""The task that is over soonest first: a rule that asks for what no scheduler knows."""


def priority(task, server, cluster):
    return -task.service
