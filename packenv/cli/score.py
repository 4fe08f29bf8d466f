"""`packenv score`: how good a policy is that a machine wrote, between a reference (0) and the bound that none can beat (100)."""

from __future__ import annotations

import click

from packenv.cli.options.of_fields import options_of
from packenv.cli.outputs import Outputs, output_options
from packenv.errors import InputError
from packenv.options.verbs import ScoreOptions


@click.command("score")
@click.argument("candidate", metavar="CANDIDATE", type=click.Path())
@options_of(ScoreOptions)
@output_options("Write the score, what was wrong, and lines for the next attempt,")
def score_command(candidate: str, options: ScoreOptions, outputs: Outputs) -> None:
    """Score a candidate: a file with `def priority(task, server, cluster) -> float` (the highest starts) or with a policy's class
    (FILE.py:NAME where there are several), or a policy by name.

    0 is the reference, 100 the bound that no policy can beat. A file runs in a process of its own that knows what a scheduler
    sees, and whose every start is checked. The exit status is 2 for a candidate with a fault, whose score is -100.

    \b
    packenv score candidate.py
    packenv score candidate.py --suite mine.json --time 20 --json score.json
    packenv score candidate.py --test
    """
    outputs.check()
    from packenv.score.score import score

    result = score(candidate, options=options)
    outputs.show(result)
    outputs.write(result)
    if result.fault is not None:
        raise InputError(f"{result.candidate}: {result.fault}")
