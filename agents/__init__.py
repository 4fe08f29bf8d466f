"""Policies that learn. Nothing here yet."""
