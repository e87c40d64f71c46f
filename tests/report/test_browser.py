"""The report in a real browser: it draws everything, asks for nothing, and answers to mouse and keyboard."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from socsim.report.data import ParameterRow
from socsim.report.html import write_report
from socsim.report.panel import PANELS

pytestmark = pytest.mark.browser

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
DRAWN = "document.documentElement.dataset.drawn === 'all'"
ALL_DRAWN = """[...document.querySelectorAll('.socsim-panel')].every((panel) =>
    [...panel.querySelectorAll('.plot')].every((plot) => plot._fullLayout && plot.querySelector('.main-svg')))"""
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def browser(chromium):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, headless=True, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser):
    """Open a file; the test fails at its end if the page complained or asked for anything from elsewhere."""
    complaints, pages = [], []

    def opened(path, width=1280, height=800, **more):
        page = browser.new_page(viewport={"width": width, "height": height}, **more)
        pages.append(page)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: complaints.append(request.url) if is_outside(request.url) else None)
        page.goto(path.as_uri())
        page.wait_for_function(DRAWN, timeout=60_000)
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []


def is_outside(url):
    return not url.startswith(("file:", "data:", "blob:"))


@pytest.fixture(scope="module")
def report(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(small, path)
    return path


@pytest.fixture(scope="module")
def large_report(large, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "large.html"
    write_report(large, path)
    return path


@pytest.fixture(scope="module")
def odd_report(small, make, tmp_path_factory):
    """Users' text that looks like HTML, a device that failed, unknown energy."""
    path = tmp_path_factory.mktemp("report") / "odd.html"
    run = make.synthetic_run("gpu", 4, 2, known=False)
    run = replace(run, name=EVIL, operators=replace(run.operators, operator=(EVIL,) * len(run.operators)))
    names = tuple(EVIL if name == "qkv_proj" else name for name in run.timeline.names)
    run = replace(run, timeline=replace(run.timeline, names=names), kernel_kinds={EVIL: "matmul"})
    rows = (ParameterRow(EVIL, EVIL, EVIL, "read"),)
    failed = make.failed_run("cpu", f"does not fit in DRAM by 3.1 GiB {EVIL}")
    write_report(replace(small, title=EVIL, verdict=EVIL, runs=(run, failed), parameters=rows), path)
    return path


def text_of(page, selector):
    return page.eval_on_selector_all(selector, "elements => elements.map((element) => element.textContent)")


def window_s(page):
    """Length of the window of the timeline, as its words say it."""
    number, unit = text_of(page, "[data-window-text]")[0].split()[:2]
    return float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


@contextmanager
def new_window(page):
    """Wait until what is done inside has moved the window of the timeline."""
    before = text_of(page, "[data-window-text]")[0]
    yield
    page.wait_for_function(f"document.querySelector('[data-window-text]').textContent !== {json.dumps(before)}")


def drag(page, plot, start, end):
    """Drag across a plot, from one share of its width to another."""
    page.evaluate(f"document.getElementById('{plot}').scrollIntoView({{behavior: 'instant', block: 'center'}})")
    box = page.query_selector(f"#{plot} .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + box["width"] * start, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, box["y"] + 40, steps=5)
    page.mouse.up()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_everything_is_drawn_and_nothing_scrolls_sideways(open_page, large_report, width, scheme):
    page = open_page(large_report, width, color_scheme=scheme)
    assert page.evaluate(ALL_DRAWN)
    assert page.evaluate("document.querySelectorAll('.socsim-panel').length") == len(PANELS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == ("rgb(18, 22, 27)" if scheme == "dark" else "rgb(255, 255, 255)")


def test_odd_reports_are_drawn_and_names_stay_text(open_page, odd_report):
    page = open_page(odd_report)
    assert page.evaluate(ALL_DRAWN)
    assert text_of(page, "h1") == [EVIL]
    assert page.evaluate("document.title") == EVIL
    assert EVIL in text_of(page, "#parameters code")
    assert any(EVIL in text for text in text_of(page, "#plot-kinds .yaxislayer-above text"))
    assert "unknown" in " ".join(text_of(page, "#summary td"))


def test_a_failed_device_says_why_where_its_plots_would_be(open_page, odd_report):
    page = open_page(odd_report)
    page.click("#power [data-switch=cpu]")
    page.wait_for_function("document.getElementById('plot-power').textContent.includes('3.1 GiB')")
    assert "3.1 GiB" in " ".join(text_of(page, "#plot-overview"))


def test_the_best_device_is_shown_first_and_the_switch_works_everywhere(open_page, report):
    page = open_page(report)
    pressed = "[data-switch][aria-pressed=true]"
    assert set(text_of(page, pressed)) == {"NPU"}
    assert "NPU kernels" in " ".join(text_of(page, "#plot-zoom .yaxislayer-above text"))
    page.click("#roofline [data-switch=gpu]")
    page.wait_for_function("document.getElementById('plot-zoom').textContent.includes('GPU kernels')")
    assert set(text_of(page, pressed)) == {"GPU"}
    assert page.is_visible("[data-run=gpu]")
    assert not page.is_visible("[data-run=npu]")


def test_the_timeline_goes_from_request_to_kernel(open_page, large_report):
    page = open_page(large_report)
    for window in ("all", "prefill", "step", "layer", "kernel"):
        with new_window(page):
            page.click(f"[data-window={window}]")
        assert page.evaluate("document.getElementById('plot-zoom').data[0].x.length") < 4000
        assert any(text_of(page, "#plot-zoom .bartext")), window
    shown = {text.replace(" ", "_") for text in text_of(page, "#plot-zoom .bartext")}
    assert shown & {"qkv_proj", "gate_up_proj", "down_proj", "input_norm"}
    assert window_s(page) < 1e-3


def test_the_timeline_answers_to_mouse_and_keyboard(open_page, report):
    page = open_page(report)
    before = window_s(page)
    with new_window(page):
        drag(page, "plot-zoom", 0.25, 0.5)
    assert window_s(page) == pytest.approx(before / 4, rel=0.05)
    page.focus("#plot-zoom")
    with new_window(page):
        page.keyboard.press("-")
    assert window_s(page) == pytest.approx(before / 2, rel=0.05)
    with new_window(page):
        page.keyboard.press("ArrowRight")
    assert window_s(page) == pytest.approx(before / 2, rel=0.05)


def test_a_drag_across_the_overview_chooses_the_window(open_page, report):
    page = open_page(report)
    with new_window(page):
        drag(page, "plot-overview", 0.5, 0.75)
    page.wait_for_function("document.getElementById('plot-overview')._fullLayout.xaxis.range[0] === 0")
    whole = page.evaluate("document.getElementById('plot-overview')._fullLayout.xaxis.range")
    assert window_s(page) == pytest.approx((whole[1] - whole[0]) / 4, rel=0.05)


def test_dark_and_light_can_be_switched(open_page, report):
    page = open_page(report, color_scheme="light")
    page.click("[data-theme-toggle]")
    page.wait_for_function("document.getElementById('plot-power')._fullLayout.font.color === '#E6EAEE'")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 27)"
    page.click("[data-theme-toggle]")
    page.wait_for_function("document.getElementById('plot-power')._fullLayout.font.color === '#1B1F24'")


def test_parameters_can_be_searched(open_page, report):
    page = open_page(report)
    page.fill("[data-filter=parameters]", "PARAMETER_17")
    assert (
        page.evaluate("[...document.querySelectorAll('#parameters tbody tr')].filter((row) => !row.hidden).length")
        == 11
    )
    page.select_option("[data-filter-status=parameters]", "fitted")
    assert text_of(page, "[data-filter-count]") == ["3 of 300 shown"]  # 17, 172 and 177


def test_zoom_in_time_is_shared(open_page, report):
    page = open_page(report)
    page.evaluate("Plotly.relayout('plot-power', {'xaxis.range': [0.25, 0.5]})")
    for other in ("bandwidth", "footprint"):
        page.wait_for_function(f"document.getElementById('plot-{other}')._fullLayout.xaxis.range[1] === 0.5")


def test_no_button_sends_the_chart_away(open_page, report):
    page = open_page(report)
    titles = page.eval_on_selector_all(".modebar-btn", "buttons => buttons.map((button) => button.dataset.title)")
    assert titles
    assert not [title for title in titles if "hare" in title or "loud" in title]


def test_every_control_can_be_reached_by_keyboard(open_page, report):
    page = open_page(report)
    reached = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || JSON.stringify({...document.activeElement.dataset})"))
    assert "plot-zoom" in reached
    assert {'{"window":"kernel"}', '{"filter":"parameters"}', '{"switch":"gpu"}'} <= reached


def test_it_prints_on_a4_in_light_colours(open_page, report):
    page = open_page(report, color_scheme="dark")
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.wait_for_timeout(300)
    assert page.evaluate(ALL_DRAWN)
