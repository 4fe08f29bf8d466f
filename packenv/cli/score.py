"""`packenv score`: how good a policy is that a machine wrote, between a reference (0) and the bound that none can beat (100)."""

from __future__ import annotations

import click

from packenv.cli.options.of_fields import options_of
from packenv.cli.outputs import Outputs, output_options
from packenv.errors import InputError
from packenv.options.verbs import ScoreOptions


@click.command("score")
@click.argument("candidates", metavar="CANDIDATE…", nargs=-1, required=True, type=click.Path())
@options_of(ScoreOptions)
@output_options("Write the score, what was wrong, and lines for the next attempt,")
def score_command(candidates: tuple[str, ...], options: ScoreOptions, outputs: Outputs) -> None:
    """Score candidates: files with `def priority(task, server, cluster) -> float` (the highest starts) or with a policy's class
    (FILE.py:NAME where there are several), or policies by name.

    0 is the reference, 100 the bound that no policy can beat. A file runs in a process of its own that knows what a scheduler
    sees, and whose every start is checked. The exit status is 2 if each has a fault: its score is then -100.

    \b
    packenv score candidate.py
    packenv score candidate.py --suite mine.json --time 20 --json score.json
    packenv score candidate.py --test
    packenv score candidate.py vqs-bf fifo-ff
    """
    outputs.check()
    from packenv.grading.result import Score
    from packenv.grading.score import score

    result = score([*candidates] if len(candidates) > 1 else candidates[0], options=options)
    outputs.show(result)
    outputs.write(result)
    scores = [result] if isinstance(result, Score) else [*result]
    for each in scores:
        click.echo(f"packenv: {each.candidate}: {each.pace()}", err=True)
    faults = [f"{each.candidate}: {each.fault}" for each in scores if each.fault is not None]
    if len(faults) == len(scores):
        raise InputError(faults[0] if len(faults) == 1 else "every candidate has a fault (above)")
