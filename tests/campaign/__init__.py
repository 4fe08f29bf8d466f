"""A campaign against packenv: damaged files, random command lines, kills, full disks, two processes at once.

`make campaign TIME=600` runs it; `python -m tests.campaign --help` says which parts there are. Every check is one of these:
no traceback, nothing executed, an exit status that goes with what was said, no file lost or half-written, no process left,
no silence above ten seconds, no more than 2 GB. A failure is written as a small file and a command that shows it again.
"""
