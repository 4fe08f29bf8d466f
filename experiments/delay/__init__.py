"""Delay scheduling with fixed and dynamic intervals."""
