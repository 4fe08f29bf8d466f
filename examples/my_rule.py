# my_rule.py: what starts first, in one function
def priority(task, server, cluster, waste=2.0):
    """A size of which many wait, that leaves little room."""
    alike = cluster.waiting_between(task.size - 0.02, task.size + 0.02)
    return alike / cluster.waiting - waste * (server.room - task.size)
