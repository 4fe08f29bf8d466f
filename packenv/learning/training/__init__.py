"""A training run: it drives a learner, logs, evaluates, writes checkpoints, and saves the agent."""
