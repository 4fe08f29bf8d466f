"""Limits of all policies (capacity, makespan), and a policy's stability."""
