"""The site builds without a warning, asks nothing of other hosts, and its references leave nothing out."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import socsim
from socsim.commands import available
from socsim.commands.schema import SPECS, kinds
from socsim.metrics.operators import OPERATOR_COLUMNS
from socsim.timeline.columns import COUNTER_COLUMNS, SPAN_COLUMNS, STATE_COLUMNS
from socsim.workload.trace_table import COLUMNS as TRACE_COLUMNS

pytest.importorskip("furo")
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
LOADED = re.compile(
    r"""<(?:script|img|iframe)[^>]+src=["'](?P<source>[^"']+)"""
    r"""|<link[^>]+rel=["'](?:stylesheet|preload|preconnect|icon)["'][^>]+href=["'](?P<style>[^"']+)"""
)
FETCHED = re.compile(r"""url\(["']?(https?:)?//|@import""")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(target / "trees")]
    built = subprocess.run([*command, str(DOCS), str(target / "html")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return target / "html"


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("socsim_reference", DOCS / "_ext" / "socsim_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(path):
    return re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8"))


def test_pages_load_nothing_from_elsewhere(site):
    loaded = {
        "".join(found)
        for page in site.rglob("*.html")
        for found in LOADED.findall(page.read_text(encoding="utf-8"))
    }  # fmt: skip
    assert loaded
    assert not [address for address in loaded if re.match(r"(https?:)?//", address)]
    styles = [sheet for sheet in site.rglob("*.css") if FETCHED.search(sheet.read_text(encoding="utf-8"))]
    assert styles == []


@pytest.mark.parametrize("kind", kinds())
def test_the_reference_of_a_file_has_every_key(site, kind):
    module, name = SPECS[kind]
    schema = getattr(importlib.import_module(module), name).model_json_schema()
    parts = [schema, *schema.get("$defs", {}).values()]
    keys = {key for part in parts for key in part.get("properties", {})}
    page = (site / "reference" / f"{kind}.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'<td><p><code[^>]*><span class="pre">([\w]+)</span>', page))
    assert len(keys) > 5
    assert keys <= shown


def test_every_command_is_in_the_reference(site):
    page = text_of(site / "reference" / "cli.html")
    for command in available():
        assert f"socsim {command.name}" in page
    assert "--set PATH=VALUE" in page


def test_the_results_page_names_every_key_and_column():
    page = (DOCS / "reference" / "results.md").read_text(encoding="utf-8")
    (run,) = socsim.run("ideal-48tops", "w8a8-1k", options=socsim.RunOptions(decode="sampled")).summary["runs"]
    columns = {*OPERATOR_COLUMNS, *SPAN_COLUMNS, *STATE_COLUMNS, *COUNTER_COLUMNS, *TRACE_COLUMNS}
    assert [name for name in sorted({*run, *columns}) if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1}, "a whole number, from 1"),
        ({"type": "string", "examples": ["136.5 GB/s"]}, "a bandwidth, `136.5 GB/s`"),
        ({"enum": ["grid", "random"]}, "`grid`, `random`"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "a whole number"),
        ({"anyOf": [{"$ref": "#/$defs/A"}, {"const": "none"}]}, "a mapping or `none`"),
        ({"type": "array", "items": {"type": "string"}}, "a list of: text"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "a number, above 0, up to 1"),
    ],
)
def test_schemas_become_words(reference, schema, words):
    assert reference.takes(schema) == words


def test_a_part_at_two_places_is_described_once(reference):
    inner = {"title": "Inner", "properties": {"x": {"type": "integer"}}}
    root = {"title": "Root", "properties": {"a": {"$ref": "#/$defs/Inner"}, "b": {"items": {"$ref": "#/$defs/Inner"}}}}
    assert list(reference.places_of(root, {"Root": root, "Inner": inner})) == [("Root", [""]), ("Inner", ["a", "b[]"])]
