"""`packenv score`: grade a policy from a machine."""

from __future__ import annotations

import click

from packenv.extend import InputError, Outputs, options_of, output_options
from packenv_score.options import ScoreOptions


@click.command("score")
@click.argument("candidates", metavar="CANDIDATE…", nargs=-1, required=True, type=click.Path())
@options_of(ScoreOptions)
@output_options("Write scores, faults and hints for the next attempt")
def score_command(candidates: tuple[str, ...], options: ScoreOptions, outputs: Outputs) -> None:
    """Grade a policy that a machine wrote: 0 is the reference, 100 the bound.

    A candidate is a file with `def priority(task, server, cluster) -> float` (the highest starts), a file with a policy's class
    (FILE.py:NAME where there are several), or a policy by name. No policy can beat the bound.

    A file runs in a confined process, and each start is checked. A candidate with a fault scores -100. The exit status is 2 if
    all have a fault.

    \b
    packenv score candidate.py
    packenv score candidate.py --suite mine.json --time 20 --json score.json
    packenv score candidate.py --test
    packenv score candidate.py vqs-bf fifo-ff
    """
    outputs.check()
    from packenv_score.result import Score
    from packenv_score.score import score

    result = score([*candidates] if len(candidates) > 1 else candidates[0], options=options)
    outputs.show(result)
    outputs.write(result)
    scores = [result] if isinstance(result, Score) else [*result]
    for each in scores:
        click.echo(f"packenv: {each.candidate}: {each.pace()}", err=True)
    faults = [f"{each.candidate}: {each.fault}" for each in scores if each.fault is not None]
    if len(faults) == len(scores):
        raise InputError(faults[0] if len(faults) == 1 else "every candidate has a fault (above)")
