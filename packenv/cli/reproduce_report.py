"""The page of `packenv reproduce`: each figure, its claims and its tables."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from packenv.cli.report.page import Picture, Report, Rows, Section
from packenv.cli.report.tables import rows_from
from packenv.runs.text import counted
from packenv.studies.finding import Claim, Finding

LIMIT = 400
"""Rows of a table above which the page leaves it to the CSV file."""


def reproduce_report(found: Mapping[str, Finding], remark: str) -> Report:
    """`remark`: what is said of shortened runs."""
    claims = [claim for finding in found.values() for claim in finding.claims]
    sections = [Section("The claims", tables=[claims_table("All claims of the papers", claims)])] if len(found) > 1 else []
    sections += [_section(finding) for finding in found.values()]
    asked = [("Figures", ", ".join(found)), ("Claims", counted(len(claims), "claim"))]
    missed = [claim for claim in claims if not claim.shown]
    rest = f"; not shown: {'; '.join(f'{claim.figure}, {claim.claim}' for claim in missed)}" if 0 < len(missed) < 4 else ""
    answer = f"{sum(claim.shown for claim in claims)} of {counted(len(claims), 'claim')} shown{remark}{rest}."
    title = next(iter(found.values())).title if len(found) == 1 else f"{len(found)} figures, run again"
    return Report(title, answer, asked, sections)


def claims_table(caption: str, claims: Sequence[Claim]) -> Rows:
    records = [claim.record() for claim in claims]
    figures = {claim.figure for claim in claims}
    if len(figures) == 1:
        records = [{key: value for key, value in record.items() if key != "figure"} for record in records]
    return rows_from(caption, records, folded=False)


def _section(finding: Finding) -> Section:
    shown = sum(claim.shown for claim in finding.claims)
    said = f"{finding.title}. {shown} of {counted(len(finding.claims), 'claim')} shown"
    tables = [claims_table("Claims", finding.claims)]
    left_out = []
    for part, rows in finding.tables.items():
        name = f"{finding.figure}{part}.csv"
        if len(rows) > LIMIT:
            left_out.append(f"{name} has {len(rows):,} rows, which are not here.")
        else:
            tables.append(rows_from(f"{name}, {counted(len(rows), 'row')}", rows))
    return Section(finding.title, [Picture(finding.figure, f"{said}.", _picture(finding))], [*finding.notes, *left_out], tables)


def _picture(finding: Finding) -> bytes:
    """The PNG file of the figure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        finding.draw(path)
        return path.read_bytes()
