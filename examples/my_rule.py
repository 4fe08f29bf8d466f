# my_rule.py: a policy in one function
def priority(task, server, cluster, waste=2.0):
    """Favour frequent sizes that leave little room."""
    alike = cluster.waiting_between(task.size - 0.02, task.size + 0.02)
    return alike / cluster.waiting - waste * (server.room - task.size)
