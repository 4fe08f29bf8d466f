"""Where work takes place: in this process, in processes of this machine, on a Ray cluster, or on the caller's own executor.

`choose.executor` makes one by its name; `pieces.Pieces` gives it work in pieces of seconds.
"""
