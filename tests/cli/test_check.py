"""Wrong input of every kind: exit 2, file and line, what was expected, all problems at once, no traceback."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLATFORM = """\
socsim: platform/v1
name: Test
memory:
  dram: {type: LPDDR5X-8533, capacity: 32 GiB, peak_bandwidth: 136.5 GB/s}
devices:
  npu:
    type: npu
    clock: 1.8 GHz
    tiles: 6
    macs_per_cycle: {int8: 2048}
    scratchpad: 1.5 MiB
"""
WORKLOAD = """\
socsim: workload/v1
model: llama-3.1-8b
request:
  prompt_tokens: 128
  output_tokens: 16
"""
ANCHORS = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12))


def changed(text, old, new):
    assert old in text
    return text.replace(old, new)


# name: (file name, its text, line of the problem (None: of no line), what the message holds)
WRONG = {
    "typo in a key": ("p.yaml", changed(PLATFORM, "tiles: 6", "tile: 6"), 9, ["unknown key", "did you mean tiles?"]),
    "unknown choice": ("p.yaml", changed(PLATFORM, "type: npu", "type: nqu"), 7, ["nqu", "did you mean npu?", "gpu"]),
    "duplicate key": ("p.yaml", PLATFORM + "name: Again\n", 12, ["given twice", "line 2"]),
    "wrong unit": ("p.yaml", changed(PLATFORM, "1.8 GHz", "1.8 GB"), 8, ["'GB' is the unit of a size", "1.95 GHz"]),
    "unknown unit": ("p.yaml", changed(PLATFORM, "1.8 GHz", "1.8 Ghz"), 8, ["unknown unit", "did you mean GHz?"]),
    "bare number": ("p.yaml", changed(PLATFORM, "1.8 GHz", "1.8e9"), 8, ["a frequency needs a unit"]),
    "negative": ("p.yaml", changed(PLATFORM, "1.8 GHz", "-1.8 GHz"), 8, ["negative"]),
    "zero": ("p.yaml", changed(PLATFORM, "1.8 GHz", "0 Hz"), 8, ["more than zero"]),
    "negative count": ("p.yaml", changed(PLATFORM, "tiles: 6", "tiles: -6"), 9, ["-6", "greater than or equal to 1"]),
    "fraction of a tile": ("p.yaml", changed(PLATFORM, "tiles: 6", "tiles: 6.5"), 9, ["6.5", "whole number"]),
    "not a number": ("p.yaml", changed(PLATFORM, "1.8 GHz", ".nan GHz"), 8, ["finite"]),
    "NaN": ("p.yaml", changed(PLATFORM, "tiles: 6", "tiles: .nan"), 9, ["whole number"]),
    "infinity": ("p.yaml", changed(PLATFORM, "136.5 GB/s", "inf GB/s"), 4, ["finite"]),
    "missing key": ("p.yaml", changed(PLATFORM, "    clock: 1.8 GHz\n", ""), 6, ["devices.npu.clock", "missing"]),
    "alias bomb": ("p.yaml", f"a0: &a0 x\n{ANCHORS}\n", None, ["values; aliases are expanded"]),
    "python tag": ("p.yaml", "socsim: !!python/object/apply:os.system [ls]\n", 1, ["tag", "not allowed"]),
    "not closed": ("p.yaml", "socsim: platform/v1\nname: [a, b\n", 2, ["not valid YAML"]),
    "tabs": ("p.yaml", "socsim: platform/v1\nmemory:\n\tdram: x\n", 3, ["not valid YAML"]),
    "list on top": ("p.yaml", "- socsim\n", 1, ["a list"]),
    "empty": ("p.yaml", "", None, ["the file is empty"]),
    "comments only": ("p.yaml", "# nothing\n", None, ["the file is empty"]),
    "no header": ("p.yaml", "name: Test\n", 1, ["socsim", "platform/v1, workload/v1"]),
    "unknown header": ("p.yaml", "socsim: platfrom/v1\n", 1, ["did you mean platform/v1?"]),
    "later version": ("p.yaml", "socsim: platform/v9\n", 1, ["platform/v1"]),
    "two rates": ("p.yaml", PLATFORM + "    peak: 48 TOPS\n", 12, ["macs_per_cycle"]),
    "unknown parent": ("p.yaml", "socsim: platform/v1\nextends: lunar-lak\n", 2, ["unknown parent", "lunar-lake"]),
    "unknown default workload": ("p.yaml", PLATFORM + "default_workload: chat1k\n", 12, ["did you mean chat-1k?"]),
    "unknown model": ("w.yaml", changed(WORKLOAD, "llama-3.1-8b", "llama-3.1-8"), 2, ["did you mean llama-3.1-8b?"]),
    "unknown format": (
        "w.yaml", WORKLOAD + "deployment: {weights: {format: int5}}\n", 6, ["int5", "unknown number format", "int4"],
    ),
    "unknown runtime": ("w.yaml", WORKLOAD + "runtime: openvin\n", 6, ["did you mean openvino?"]),
    "unknown governor": ("w.yaml", WORKLOAD + "policies: {governors: {npu: fast}}\n", 6, ["governor", "schedutil"]),
    "beyond the context": ("w.yaml", changed(WORKLOAD, "128", "200000"), 4, ["context", "131072"]),
    "no tokens": ("w.yaml", changed(changed(WORKLOAD, "128", "0"), "16", "0"), 5, ["nothing to do"]),
    "negative tokens": ("w.yaml", changed(WORKLOAD, "128", "-128"), 4, ["-128"]),
    "bare sparsity": ("w.yaml", WORKLOAD + "deployment: {sparsity: 2:4}\n", 6, ["2:4", "quote"]),
    "truncated config": ("c.json", '{"architectures": ["LlamaForCausalLM"], "hidden_si', 1, ["not valid JSON"]),
    "empty config": ("c.json", "", None, ["JSON"]),
    "unknown family": ("c.json", '{"architectures": ["LlamaForCausalML"]}', 1, ["did you mean LlamaForCausalLM?"]),
    "missing in config": ("c.json", '{"architectures": ["LlamaForCausalLM"]}', None, ["hidden_size", "missing"]),
    "empty table": ("t.csv", "", None, ["step"]),
    "no GGUF": ("m.gguf", "GGUX", None, ["m.gguf"]),
    "unknown suffix": ("x.txt", "hello\n", 1, ["a single value"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_named_with_its_place(cli, tmp_path, name):
    file, text, line, words = WRONG[name]
    (tmp_path / file).write_text(text)
    done = cli("check", file)
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err
    place = rf"(^|/){re.escape(file)}:{line}(:\d+)?: " if line is not None else re.escape(file)
    assert re.search(place, done.err, re.M), done.err
    for word in words:
        assert word in done.err


# only `check` looks at these, or only a run, which has a platform at hand
CHECK_ONLY = ("no header", "unknown default workload", "unknown runtime", "unknown governor")
SHOWN = [name for name in WRONG if WRONG[name][0] in ("p.yaml", "w.yaml", "c.json") and name not in CHECK_ONLY]


@pytest.mark.parametrize("name", SHOWN)
def test_run_and_show_refuse_it_too(cli, tmp_path, name):
    file, text, _, words = WRONG[name]
    (tmp_path / file).write_text(text)
    kind = {"p": "platform", "w": "workload", "c": "model"}[file[0]]
    done = cli("show", kind, f"./{file}")
    assert done.code == 2
    assert done.out == ""
    assert words[-1] in done.err or "unknown value" in done.err or "wrong value" in done.err


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, ["no such file"]),
        (lambda path: path.mkdir(), ["folder"]),
        (lambda path: path.write_bytes(b"name: \xff\xfe\n"), ["UTF-8", "p.yaml:1:"]),
        (lambda path: path.write_bytes(b"\x00\x01\x02"), ["p.yaml"]),
        (lambda path: path.symlink_to(path), ["p.yaml"]),
        (lambda path: path.write_text("a: " * 5000), ["p.yaml"]),
        (lambda path: path.write_text("[" * 20_000), ["p.yaml"]),
        (lambda path: path.write_text("{" * 20_000), ["p.yaml"]),
    ],
    ids=["missing", "folder", "not text", "binary", "link to itself", "one long line", "deep list", "deep mapping"],
)
def test_files_that_are_none(cli, tmp_path, make, words):
    make(tmp_path / "p.yaml")
    done = cli("check", "p.yaml")
    assert done.code == 2
    for word in words:
        assert word in done.err


def test_all_problems_of_all_files_come_at_once(cli, tmp_path):
    text = changed(changed(PLATFORM, "tiles: 6", "tile: 6"), "1.8 GHz", "1.8")
    (tmp_path / "p.yaml").write_text(text)
    (tmp_path / "w.yaml").write_text(changed(WORKLOAD, "128", "-128"))
    (tmp_path / "good.yaml").write_text(WORKLOAD)
    done = cli("check", "p.yaml", "w.yaml", "good.yaml")
    assert done.code == 2
    assert done.out == "good.yaml: ok (workload)\n"
    places = re.findall(r"^(\S+\.yaml:\d+):", done.err, re.M)
    assert places == ["p.yaml:8", "p.yaml:9", "w.yaml:4"]


def test_check_as_json(cli, tmp_path):
    (tmp_path / "p.yaml").write_text(changed(PLATFORM, "1.8 GHz", "1.8"))
    done = cli("check", "p.yaml", str(ROOT / "models/phi-2.json"), "--json")
    assert done.code == 2
    bad, good = json.loads(done.out)["files"]
    assert (bad["file"], bad["kind"], bad["ok"]) == ("p.yaml", "platform", False)
    assert (bad["problems"][0]["line"], bad["problems"][0]["path"]) == (8, "devices.npu.clock")
    assert (good["kind"], good["ok"], good["problems"]) == ("model", True, [])


def test_quiet_says_nothing_of_what_is_right(cli):
    assert cli("check", "-q", ROOT / "workloads/chat-1k.yaml") == (0, "", "")


def shipped():
    folders = ("platforms", "platforms/runtimes", "workloads", "studies")
    return [path for folder in folders for path in sorted((ROOT / folder).glob("*.yaml"))]


def test_everything_that_ships_is_right(cli):
    done = cli("check", *shipped(), *sorted((ROOT / "models").glob("*.json")))
    assert done.err == ""
    assert done.code == 0


def test_a_users_text_cannot_play_with_the_terminal(cli, tmp_path):
    (tmp_path / "p.yaml").write_text(changed(PLATFORM, "tiles: 6", '"ti\\e[31mles": 6'))
    err = cli("check", "p.yaml").err
    assert "\x1b" not in err
    assert "ti\\x1b[31mles" in err
    (tmp_path / "q.yaml").write_text(changed(PLATFORM, "name: Test", 'name: "[red]x[/red] \\e[31m <script>"'))
    out = cli("show", "platform", "q.yaml").out
    assert "[red]x[/red] \\x1b[31m <script>" in out
    assert "\x1b" not in out
