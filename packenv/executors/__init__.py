"""Executors: this process, local processes, Ray, or your own.

`choose.executor` makes one by its name. `pieces.Pieces` gives it work in pieces of seconds.
"""
