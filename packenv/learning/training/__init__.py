"""A training run: learning, logs, evaluations, checkpoints, and the agent."""
