"""Makes docs/images/report.png anew: the first screen of the report of a real run, as Chromium shows it.

.venv/bin/python docs/_ext/report_picture.py
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

import socsim

PICTURE = Path(__file__).resolve().parent.parent / "images" / "report.png"
SCREEN = {"width": 1280, "height": 592}
DRAWN = "document.documentElement.dataset.drawn === 'all'"


def main() -> None:
    """Run, save, open, and take the picture."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        result = Path(folder) / "result"
        socsim.run("lunar-lake-268v", "chat-1k", output=result)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SCREEN, color_scheme="light")
        page.goto((result / "report.html").as_uri())
        page.wait_for_function(DRAWN, timeout=60_000)
        page.screenshot(path=PICTURE)
        browser.close()
    print(PICTURE, PICTURE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
