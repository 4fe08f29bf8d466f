"""Policies that support nearly all of ρ*, without preemption (PAPERS §6)."""
