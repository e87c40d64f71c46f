"""`show` and `list`: figures that others published, every value with its origin, nothing cut off at 80 columns."""

import json

import pytest

from socsim.commands.doctor import PURPOSES
from socsim.commands.list import KINDS

# Published: Llama 3.1 8B has 8,030,261,248 parameters; 32 layers x 8 KV heads x 128 x (K and V) x 2 bytes = 131,072
LLAMA = {
    "name": "llama-3.1-8b",
    "architecture": "LlamaForCausalLM",
    "layers": 32,
    "parameters": 8_030_261_248,
    "active_parameters": 8_030_261_248,
    "kv_bytes_per_token_fp16": 131_072,
    "vocabulary": 128_256,
    "max_context": 131_072,
}


def as_json(done):
    assert done.code == 0
    assert done.err == ""
    return json.loads(done.out)


def values(done):
    return {value["path"]: value for value in as_json(done)["values"]}


def test_show_model_has_the_published_figures(cli):
    assert as_json(cli("show", "model", "llama-3.1-8b", "--json")).items() >= LLAMA.items()


def test_a_tied_head_counts_once(cli):
    shown = as_json(cli("show", "model", "llama-3.2-1b", "--json"))
    assert shown["parameters"] == 1_235_814_400
    assert shown["tied_embeddings"] is True


def test_show_model_in_words(cli):
    done = cli("show", "model", "mixtral-8x7b")
    assert "46.7 B" in done.out  # published
    assert "2 of 8 experts" in done.out
    assert "32 query and 8 KV heads of 128" in done.out


def test_show_platform_tells_value_unit_source_and_status(cli, tmp_path):
    (tmp_path / "mine.yaml").write_text("""\
socsim: platform/v1
name: Mine [red]!
extends: lunar-lake-268v
memory:
  dram:
    peak_bandwidth: {value: 100 GB/s, source: "my bench, https://example.org", status: fitted, note: "at 20 degC"}
    capacity: 16 GiB
""")
    found = values(cli("show", "platform", "mine.yaml", "--set", "platform.devices.npu.tiles=3", "--json"))
    assert found["memory.dram.peak_bandwidth"] == {
        "path": "memory.dram.peak_bandwidth", "value": "100 GB/s", "status": "fitted",
        "source": "my bench, https://example.org", "note": "at 20 degC",
    }  # fmt: skip
    assert found["memory.dram.capacity"]["status"] == "stated"
    assert found["devices.npu.tiles"]["value"] == "3"
    assert found["devices.npu.tiles"]["status"] == "set"
    assert found["memory.dram.latency"]["status"] == "defaulted"
    assert found["memory.dram.latency"]["source"]
    words = cli("show", "platform", "mine.yaml").out
    assert "Mine [red]!" in words
    assert "my bench, https://example.org" in words
    assert "values are class defaults" in words


def test_every_defaulted_value_is_listed(cli):
    shown = as_json(cli("show", "platform", "lunar-lake-268v", "--json"))
    marked = {value["path"] for value in shown["values"] if value["status"] == "defaulted"}
    for path in shown["defaulted"]:
        assert any(one == path or one.startswith(f"{path}.") for one in marked), path


def test_unknown_energies_are_unknown_not_zero(cli):
    found = values(cli("show", "platform", "ideal-48tops", "--json"))
    assert found["memory.dram.energy.read"]["value"] == "unknown"
    assert found["power.domains.npu.leakage"]["value"] == "unknown"


def test_peaks_are_two_operations_per_mac(cli):
    shown = as_json(cli("show", "platform", "ideal-48tops", "--json"))
    assert shown["devices"]["npu"]["peak_ops_per_s"] == {"int8": 48e12, "fp16": 24e12}
    assert "48 TOPS INT8" in cli("show", "platform", "ideal-48tops").out


def test_show_workload_marks_defaults(cli):
    found = values(cli("show", "workload", "chat-1k", "--set", "workload.request.batch=4", "--json"))
    assert found["request.batch"]["status"] == "set"
    assert found["deployment.weights.format"]["status"] == "stated"
    assert (found["deployment.kv_cache.update"]["value"], found["deployment.kv_cache.update"]["status"]) == (
        "zero_copy", "default",
    )  # fmt: skip


def test_show_workload_in_words(cli):
    done = cli("show", "workload", "chat-1k")
    assert "prompt of 1024 tokens, 128 tokens of output" in done.out
    # 1152 positions x 131,072 bytes = 144 MiB
    assert "KV cache up to 144 MiB" in done.out


def test_a_table_of_operators_is_a_workload_too(cli):
    assert cli("trace", "w8a8-1k", "-o", "trace.csv").code == 0
    assert "trace" in cli("show", "workload", "trace.csv").out


@pytest.mark.parametrize(
    "arguments",
    [("platform", "lunar-lake-268v"), ("workload", "chat-1k"), ("model", "deepseek-v3"), ("runtime", "openvino")],
)
def test_show_fits_80_columns_but_for_addresses(cli, arguments):
    done = cli("show", *arguments)
    assert done.code == 0
    lines = done.out.splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert [line for line in lines if len(line) > 80 and not line.startswith("[")] == []


def test_show_runtime(cli):
    found = values(cli("show", "runtime", "ideal", "--json"))
    assert found["devices.npu.efficiency.matmul"]["value"] == "1"
    assert found["devices.cpu.launch_overhead"] == {
        "path": "devices.cpu.launch_overhead", "value": "0 s", "status": "inferred", "source": "by definition",
        "note": None,
    }  # fmt: skip
    assert "did you mean openvino?" in cli("show", "runtime", "openvin").err
    assert cli("show", "runtime", "ideal", "--set", "runtime.devices.npu.launch_overhead=1 us").code == 2


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("platform", "lunar-lake-268"), "did you mean lunar-lake-268v?"),
        (("model", "llama-3.1-8"), "did you mean llama-3.1-8b?"),
        (("workload", "chat1k"), "did you mean chat-1k?"),
        (("platform", "no/such/file.yaml"), "there is no such file"),
        (("platform", "defaults"), "not a platform"),
        (("platform", "lunar-lake-268v", "--set", "platform.devices.npu.tile=3"), "did you mean tiles?"),
        (("platform", "lunar-lake-268v", "--set", "workload.request.batch=3"), "unknown start of a path"),
        (("workload", "chat-1k", "--set", "workload.request.batch=0"), "workload.request.batch=0"),
        (("workload", "chat-1k", "--set", "workload.request.prompt_tokens=200000"), "at most 131072 tokens"),
    ],
)
def test_what_cannot_be_shown(cli, arguments, meant):
    done = cli("show", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert meant in done.err


@pytest.mark.parametrize("kind", KINDS)
def test_lists_have_names_in_every_form(cli, kind):
    items = as_json(cli("list", kind, "--json"))[kind]
    names = [item["name"] for item in items]
    assert cli("list", kind, "--quiet").out.split() == names
    shown = cli("list", kind).out
    assert all(name in shown for name in names)
    assert max(map(len, shown.splitlines()), default=0) <= 80


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("platforms", "ideal-48tops"), ("models", "bitnet-2b"), ("workloads", "chat-1k"), ("runtimes", "openvino"),
        ("formats", "q4_k"), ("governors", "schedutil"),
    ],
)  # fmt: skip
def test_lists_hold_what_ships(cli, kind, name):
    assert name in cli("list", kind, "--quiet").out.split()


def test_defaults_are_no_platform(cli):
    assert "defaults" not in cli("list", "platforms", "--quiet").out.split()


def test_doctor_finds_what_runs_need(cli):
    found = {finding["what"]: finding for finding in as_json(cli("doctor", "--json"))["findings"]}
    for name in ("numpy", "simpy", "pydantic", "rich"):
        assert found[name]["needed"]
        assert found[name]["found"]
    assert "socsim[study]" in found["scipy"]["how"]
    assert set(PURPOSES) == {"study", "onnx", "image"}
    assert "numpy" in cli("doctor").out


def test_doctor_says_how_to_get_what_is_missing(cli, monkeypatch):
    monkeypatch.setattr("socsim.commands.doctor.installed", lambda name: None if name == "optuna" else "1")
    done = cli("doctor")
    assert done.code == 0
    assert "socsim[study]" in done.out
    monkeypatch.setattr("socsim.commands.doctor.installed", lambda name: None)
    assert cli("doctor").code == 1
