"""The page of a sweep in a real browser: linked views, a filter, details on a click, nothing from elsewhere."""

import pytest

from socsim.study.points import Place, Point
from socsim.study.study_report import study_page
from socsim.study.table import swept

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=alert(1)>"
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")


def table(devices=("npu", "gpu"), failing=True):
    """12 points of a made-up trade-off, one device that fails once."""
    entries = []
    for index, (tiles, format_) in enumerate((t, f) for t in (2, 4, 8, 16) for f in ("int8", "int4", EVIL)):
        point = Point(Place("p", "w"), (("platform.devices.npu.tiles", tiles), ("workload.format", format_)))
        rows = [
            {"device": device, "ok": True, "reason": None, "ttft_s": 1 / tiles + 0.1 * d,
             "energy_per_output_token_j": 0.01 * tiles + 0.1 * d, "bound_by.decode": "memory"}
            for d, device in enumerate(devices)
        ]  # fmt: skip
        if failing and index == 0:
            rows[-1] = {"device": devices[-1], "ok": False, "reason": f"does not fit {EVIL}"}
        entries.append((point, f"hash{index}", rows))
    return swept(entries, {"ttft_s": "min", "energy_per_output_token_j": "min"}, ())


@pytest.fixture(scope="module")
def browser(chromium):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, headless=True, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture
def page(browser, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(study_page("study", EVIL, table(), ("platform.still",)), encoding="utf-8")
    complaints = []
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", lambda dialog: complaints.append(dialog.message))
    opened.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else complaints.append(r.url))
    opened.goto(file.as_uri())
    opened.wait_for_function("document.documentElement.dataset.drawn === 'all'", timeout=60_000)
    yield opened
    opened.close()
    assert complaints == []


def test_every_view_is_drawn(page):
    for view in ("pareto", "parallel", "response", "heat"):
        assert page.locator(f"#plot-study-{view} .main-svg").count() > 0
        assert page.evaluate(f"document.getElementById('plot-study-{view}').data.length") > 0
    assert page.locator("#study-count").text_content() == "23 of 23 rows shown"
    assert page.locator("#study-failed td").nth(1).text_content() == f"does not fit {EVIL}"


def test_the_filter_holds_for_every_view(page):
    slider = page.locator('[data-knob="platform.devices.npu.tiles"][data-end="1"]')
    slider.fill("1")  # 2 and 4 tiles
    assert page.locator("#study-count").text_content() == "11 of 23 rows shown"
    page.wait_for_timeout(200)
    xs = page.evaluate("document.getElementById('plot-study-response').data.flatMap((trace) => trace.x)")
    assert set(xs) <= {2, 4}


def test_axes_are_chosen_and_a_click_shows_the_row(page):
    page.select_option('select[data-view="pareto"][data-axis="x"]', "energy_per_output_token_j")
    page.wait_for_timeout(200)
    assert "energy" in page.evaluate("document.getElementById('plot-study-pareto').layout.xaxis.title.text")
    point = page.locator("#plot-study-pareto .scatterlayer .point").first
    point.hover(force=True)
    box = point.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#study-details table")
    assert "platform.devices.npu.tiles" in page.locator("#study-details").text_content()
    assert "memory" in page.locator("#study-details").text_content()


def test_nothing_scrolls_sideways_on_a_phone(page):
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
