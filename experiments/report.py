"""The page of a plan, as a browser shows it: 20,000 tasks like those of Google's trace of 2011, for 95 % of which a minute's wait
is the limit. Takes Chromium or Chrome, and `pip install playwright`.
"""

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

import packenv
from experiments.script_options import options_of
from packenv.cli.main import main as command_line
from packenv.workloads.traces import write_jobs

WIDTH, HEIGHT = 1040, 1180  # pixels


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    picture = options.folder.absolute() / "report.png"
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        jobs = packenv.workload("google2011-like").jobs_table(0, 2_000 if options.quick else 20_000)
        write_jobs(jobs, "tasks.csv", None)
        goal = ("--goal", "p95 wait <= 60s", "-p", "bf-js", "-p", "fifo-ff")
        where = () if options.processes is None else ("--processes", str(options.processes))
        command_line(["plan", "tasks.csv", "--slot-seconds", "0.1", *goal, *where, "--report", "plan.html"])
        photograph(Path("plan.html").absolute(), picture)
    print(picture)


def photograph(page: Path, picture: Path) -> None:
    """The upper part of the page."""
    from playwright.sync_api import sync_playwright

    browsers = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=next(filter(None, browsers)), args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        shown.goto(page.as_uri())
        shown.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
