"""The training scripts of the shipped agents, and the random workloads that two of them learn on. None of it is installed."""
