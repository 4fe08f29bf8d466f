"""Readers for outside data: numbers, text files, JSON, memory limits.

Each kind of input has one reader with limits, so that no other code repeats the checks.
"""
