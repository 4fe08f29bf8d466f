"""Statistics of DAG jobs: links to parents of any number count, and the page has what is measured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.dag_statistics import measured, statistics

PAGE = Path(__file__).parents[2] / "docs/explanation/fitted_workloads.md"


def test_links_to_parents_of_higher_numbers(tmp_path: Path) -> None:
    """Stages 2 and 3, then 1, then 4, counted from the registration. A circle, and a job without names, are left out."""
    rows = {"R1_3_2": 7, "M2": 3, "J4_1": 9, "M3": 4}
    lines = [f"0,a,{name},{end},100,0.3,1" for name, end in rows.items()]
    lines += ["1,b,M1_2,5,100,0.3,1", "1,b,M2_1,5,100,0.3,1", "2,c,task_x,5,100,0.3,1", "3,d,M1_9,5,100,0.3,2"]
    file = tmp_path / "jobs.csv"
    file.write_text("\n".join(lines) + "\n")
    jobs, arrivals, left_out = measured(str(file))
    assert (arrivals.tolist(), left_out) == ([0, 3], 2)
    first, second = jobs
    assert sorted(map(len, first.parents)) == [0, 0, 1, 2]
    assert all(max(waits, default=-1) < n for n, waits in enumerate(first.parents))
    assert sorted(first.seconds) == [2, 3, 3, 4] and second.parents == [[]]  # 9 - 7, 7 - 4; a parent that is not there is none
    found = statistics(jobs)
    assert found["depth (stages of the longest path)"].startswith("2 ")
    assert found["stages without parents, of a job"].startswith("1.5 ")


@pytest.mark.skipif("PACKENV_TRACES" not in os.environ, reason="needs PACKENV_TRACES")
def test_the_page_has_what_is_measured() -> None:
    jobs, _, left_out = measured(f"{os.environ['PACKENV_TRACES']}/dag/alibaba2018_sample_tasks.csv.gz")
    assert sum(len(waits) for job in jobs for waits in job.parents) == 52_829 and (len(jobs), left_out) == (15_478, 1_271)
    page = PAGE.read_text()
    for name, value in statistics(jobs).items():
        assert f"| {name} | {value} |" in page
