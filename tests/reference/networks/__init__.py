"""Networks of agents in PyTorch, as they are trained."""
