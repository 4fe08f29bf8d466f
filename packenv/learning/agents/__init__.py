"""Saved agents in the compiled loop, with or without guard."""
