"""What the verbs of packenv can be told, one dataclass a verb: the library's functions and the command line read the same fields.

Nothing here imports more than dataclasses: words are read, and help is shown, before anything heavy is loaded.
"""
