"""Host time of what a user looks at: a report's page and trace, and the live page after a knob is turned.

    python benchmarks/pages.py            # a table
    python benchmarks/pages.py --json     # one JSON object

The report is that of a long request on every device. Times in a browser are left out where there is no Chromium. As in
speed.py, every figure stands beside the time of a million bare SimPy timeouts in the same process.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from speed import beside_simpy, show

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from socsim.explore.session import Session
    from socsim.report.data import ReportData

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
DRAWN = "document.documentElement.dataset.drawn === 'all'"
SETTLED = "html[data-settled=yes]"


def large_report(platform: str) -> ReportData:
    """A request of 1024 + 1024 tokens on every device, each kernel recorded."""
    from socsim import run
    from socsim.report.from_result import report_data

    overrides = ["workload.request.prompt_tokens=1024", "workload.request.output_tokens=1024"]
    return report_data(run(platform, "chat-1k", overrides=overrides))


def writing(data: ReportData, folder: Path) -> dict[str, Callable[[], object]]:
    """Page and trace of a report."""
    from socsim.report.export import write_trace
    from socsim.report.html import write_report

    return {
        "report_page": lambda: write_report(data, folder / "report.html"),
        "trace_export": lambda: write_trace(data, folder / "trace.json.gz"),
    }


def knob_turns(session: Session) -> Callable[[], object]:
    """Every device simulated anew, at a setting that no round has asked for before."""
    knobs = {knob.name: len(knob.settings) for knob in session.knobs}
    fresh = ({"prompt_tokens": a, "batch": b} for b in range(knobs["batch"]) for a in range(knobs["prompt_tokens"]))

    def once() -> None:
        positions = next(fresh)
        for device in session.devices:
            session.answer(device, positions)

    return once


@contextmanager
def chromium() -> Iterator[Browser | None]:
    """A browser, or None where there is none."""
    found = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if found is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, headless=True, args=list(ARGUMENTS))
        yield browser
        browser.close()


def drawing(browser: Browser, page_file: Path) -> Callable[[], object]:
    """From opening the report until everything in it is drawn."""

    def once() -> None:
        page = browser.new_page()
        page.goto(page_file.as_uri())
        page.wait_for_function(DRAWN, timeout=60_000)
        page.close()

    return once


def redrawing(page: Any) -> Callable[[], object]:
    """From the turn of a knob to the live page with new figures, at settings that are new."""
    knob = page.locator("#knob-prompt_tokens")
    last, batch = int(knob.get_attribute("max")), page.locator("#knob-batch")
    fresh = ((tokens, many) for many in range(1, int(batch.get_attribute("max"))) for tokens in range(last))

    def once() -> None:
        tokens, many = next(fresh)
        page.evaluate("document.documentElement.dataset.settled = 'no'")
        batch.fill(str(many))
        knob.fill(str(tokens))
        page.wait_for_selector(SETTLED)

    return once


@contextmanager
def live_page(browser: Browser, session: Session) -> Iterator[Any]:
    """The live page, opened and settled."""
    from socsim.explore.server import ExploreServer

    server = ExploreServer(session)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    page = browser.new_page()
    page.goto(server.url)
    page.wait_for_selector(SETTLED)
    yield page
    page.close()
    server.shutdown()
    thread.join()
    server.server_close()


def measure(platform: str, folder: Path) -> dict[str, float]:
    """All figures."""
    from socsim.explore.session import Session, Subject

    def session() -> Session:
        return Session(Subject(platform, "chat-1k"))

    figures = beside_simpy(writing(large_report(platform), folder) | {"explore_answer": knob_turns(session())})
    figures["report_page_mb"] = (folder / "report.html").stat().st_size / 1e6
    figures["trace_mb"] = (folder / "trace.json.gz").stat().st_size / 1e6
    with chromium() as browser:
        if browser is None:
            return figures
        with live_page(browser, session()) as page:
            jobs = {"report_drawn": drawing(browser, folder / "report.html"), "explore_redraw": redrawing(page)}
            return figures | beside_simpy(jobs)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", default="lunar-lake-268v")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show(measure(options.platform, Path(folder)), options.json)


if __name__ == "__main__":
    main()
