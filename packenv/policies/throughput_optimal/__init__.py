"""Policies that support all of ρ* in the limit of fine types, without preemption (PAPERS §6)."""
