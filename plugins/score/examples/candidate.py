# candidate.py: best fit, but what waits long comes first, the longer the more
def priority(task, server, cluster):
    left = server.room - task.size
    return 0.3 * task.age / (task.age + 1000) - left
