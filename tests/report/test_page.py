"""What is in the page, without a browser."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from socsim.report import panels  # noqa: F401  (fills the registry)
from socsim.report.data import Fact, ParameterRow, ReportData
from socsim.report.html import render_page, render_report, write_report
from socsim.report.panel import PANELS, empty_panel

EVIL = "<script>alert(1)</script>"


class Elements(HTMLParser):
    """Start tags, and the text of each script."""

    def __init__(self):
        super().__init__()
        self.tags, self.scripts, self._in_script = [], [], False

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data):
        if self._in_script:
            self.scripts[-1] += data


def elements(page):
    parser = Elements()
    parser.feed(page)
    return parser


@pytest.fixture(scope="module")
def page(small):
    return render_report(small)


def without_plotly(page):
    return re.sub(r'<script type="text/plain".*?</script>', "", page, flags=re.S)


def test_every_panel_is_there_in_order(page):
    found = [attributes["id"] for _, attributes in elements(page).tags if "socsim-panel" in attributes.get("class", "")]
    assert found == list(PANELS.names)
    assert len(found) == 12


def test_every_panel_has_a_place_for_plotly(small):
    for name in PANELS:
        assert PANELS[name](small).plots, name


def test_every_plot_has_its_figures(page, small):
    tags = elements(page).tags
    places = [attributes["data-plot"] for _, attributes in tags if "data-plot" in attributes]
    figures = json.loads(re.search(r'id="socsim-figures">(.*?)</script>', page, re.S).group(1))
    assert sorted(places) == sorted(figures)
    runs = {run.name for run in small.runs}
    for known in figures.values():
        assert set(known["figures"]) in (runs, {""})


def test_nothing_is_loaded_from_elsewhere(page):
    for tag, attributes in elements(page).tags:
        for key in ("src", "href", "data", "action", "srcset"):
            assert not re.match(r"(https?:)?//", attributes.get(key) or ""), (tag, attributes)
    assert not re.search(r"@import|url\(\s*['\"]?http", page)
    assert "default-src 'none'" in page


def test_no_chart_can_be_sent_away(page):
    assert '"sendChartToCloud"' in page  # named among the buttons to remove
    assert "displaylogo: false" in page


def test_plotly_is_inlined_once(page):
    assert page.count('id="plotly-source"') == 1


def test_user_text_stays_text(make, small):
    run = replace(
        small.runs[0],
        name=EVIL,
        operators=replace(small.runs[0].operators, operator=(EVIL,) * len(small.runs[0].operators)),
    )
    evil = ReportData(
        EVIL,
        EVIL,
        (Fact(EVIL, EVIL),),
        (run, make.failed_run("npu", EVIL)),
        (ParameterRow(EVIL, EVIL, EVIL, EVIL, EVIL),),
    )
    page = render_report(evil)
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert sum(tag == "script" for tag, _ in elements(page).tags) == sum(
        tag == "script" for tag, _ in elements(render_report(replace(small, runs=small.runs[:1]))).tags
    )


def test_data_cannot_end_their_script(small):
    page = render_page("t", [empty_panel("a", "A", "none")], data={"x": "</script><!--"})
    assert "</script><!--" not in page
    assert json.loads(re.search(r'id="socsim-page-data">(.*?)</script>', page, re.S).group(1)) == {"x": "</script><!--"}


def test_two_reports_of_the_same_data_are_the_same_bytes(small):
    assert render_report(small) == render_report(small)


def test_unknown_energy_is_said_and_not_zero(make):
    runs = tuple(make.synthetic_run(device, 3, 2, known=False) for device in make.DEVICES)
    page = without_plotly(render_report(ReportData("t", "v", (), runs)))
    assert page.count('class="unknown">unknown<') == 3 * 3  # energy per token, mean and peak power of three devices
    assert "<td>unknown</td>" in page  # energy of an operator
    assert "Energy is unknown" in page


def test_a_device_that_cannot_run_says_why(make, small):
    page = render_report(replace(small, runs=(*small.runs, make.failed_run("pim", "no INT4 path"))))
    assert "no INT4 path" in page


def test_a_result_without_any_run_is_a_page_of_reasons(make):
    nothing = ReportData("t", "cannot run", (), (make.failed_run("npu", "does not fit in DRAM by 3.1 GiB"),))
    page = render_report(nothing)
    assert elements(page).tags.count(("section", {})) == 0
    assert page.count('class="socsim-panel') == len(PANELS)
    assert "does not fit in DRAM by 3.1 GiB" in page


def test_a_request_without_decode(make):
    run = make.synthetic_run("npu", steps=0, layers=2)
    summary = run.summary | {"tpot_s": None, "decode_tokens_per_s": None, "energy_per_output_token_j": None}
    page = render_report(ReportData("t", "v", (), (replace(run, summary=summary),)))
    assert page.count('class="socsim-panel') == len(PANELS)


def test_the_device_table_marks_the_best(small):
    table = PANELS["summary"](small).before
    assert table.count('class="best"') == 4  # TTFT, TPOT, tokens/s, energy per token
    assert "620 ms" in table
    assert "prefill: compute" in table


def test_a_page_of_other_panels(small):
    page = render_page("A study", [PANELS["roofline"](small)], lead="what it shows", facts=[("Points", "500")])
    assert page.count('class="socsim-panel') == 1
    assert "what it shows" in page


def test_a_large_report_is_small(large, tmp_path):
    write_report(large, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 10e6
