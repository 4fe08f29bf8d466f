"""Rules of one function, `priority(task, server, cluster)`."""
