"""The live page in a real browser: a turned knob redraws, no complaint, nothing asked of others."""

from threading import Thread

import pytest

from socsim.explore.server import ExploreServer
from socsim.explore.session import Session, Subject

pytestmark = pytest.mark.browser

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SETTLED = "html[data-settled=yes]"


@pytest.fixture(scope="module")
def browser(chromium):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, headless=True, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def url():
    server = ExploreServer(Session(Subject("lunar-lake-268v", "chat-1k")))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.url
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(browser, url, request):
    complaints = []
    width = getattr(request, "param", 1280)
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("request", lambda asked: complaints.append(asked.url) if not asked.url.startswith((url, "data:")) else None)
    page.goto(url)
    page.wait_for_selector(SETTLED)
    yield page
    page.close()
    assert complaints == []


def figure(page, device, key):
    return page.inner_text(f"tr:has(th:text-is('{device}')) td[data-figure={key}] b")


def settle(page, turn):
    """Turn, and wait until every device has been simulated anew."""
    page.evaluate("document.documentElement.dataset.settled = 'no'")
    turn()
    page.wait_for_selector(SETTLED)


@pytest.mark.parametrize("page", [1280, 390], indirect=True)
def test_it_shows_every_device_and_never_scrolls_sideways(page):
    assert page.locator("#devices tbody tr").count() == 3
    for plot in ("prefill", "decode", "energy"):
        assert page.locator(f"#{plot} .track").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_a_turned_knob_simulates_and_redraws(page):
    before = figure(page, "NPU", "tpot_s")
    settle(page, lambda: page.select_option("#knob-weights", label="FP16"))
    assert figure(page, "NPU", "tpot_s") != before
    assert "workload.deployment.weights={format: fp16}" in page.inner_text("#command")
    settle(page, lambda: page.click("#reset"))
    assert figure(page, "NPU", "tpot_s") == before
    assert "--set" not in page.inner_text("#command")


def test_sliders_work_from_the_keyboard_and_say_their_value(page):
    page.focus("#knob-batch")
    settle(page, lambda: page.keyboard.press("ArrowRight"))
    assert page.inner_text("output[for=knob-batch]") == "2"
    assert page.get_attribute("#knob-batch", "aria-valuetext") == "2"
    assert page.locator(".knob.turned").count() == 1


def test_what_does_not_fit_says_so_in_its_row(page):
    page.select_option("#knob-weights", label="FP16")
    page.locator("#knob-prompt_tokens").fill("9")
    settle(page, lambda: page.locator("#knob-batch").fill("5"))
    assert "does not fit in DRAM" in page.inner_text("#devices")
