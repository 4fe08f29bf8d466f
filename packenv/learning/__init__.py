"""Policies that learn: networks, training, the guard, and saved agents."""
