"""Adapters for program-search frameworks: optional imports, one file each."""
