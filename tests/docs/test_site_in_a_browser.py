"""The site in a real browser: no complaint, nothing asked of other hosts, nothing that scrolls a phone sideways."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("furo")
pytestmark = pytest.mark.browser
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-d", str(target / "trees"), str(DOCS), str(target / "html")]
    subprocess.run(command, capture_output=True, check=True)
    return target / "html"


@pytest.fixture(scope="module")
def browser(chromium):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, headless=True, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_fits_and_asks_nobody(site, browser, width):
    complaints, wide = [], []
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("request", lambda asked: complaints.append(asked.url) if asked.url.startswith("http") else None)
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri())
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(file.name)
    page.close()
    assert complaints == []
    assert wide == []
