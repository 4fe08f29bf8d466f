"""Rules that are one function, `priority(task, server, cluster)`: what it may say, and the policy that follows it."""
