"""Options of packenv's functions, one dataclass each.

The library and the command line read the same fields. Only dataclasses are imported here, so that help and errors appear
before anything heavy is loaded.
"""
