"""Imitation: before an agent learns from rewards or whole runs, it learns to take the actions of a policy."""
