"""What `import socsim` offers: every name is documented, results show themselves, calls do what commands do."""

from pathlib import Path

import pandas as pd
import pytest

import socsim

API_PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "api.md"
COLUMNS = ("id,kind,platform,device,runtime,model,weights,activations,kv,prompt_tokens,output_tokens,context_tokens,"
           "phase,scope,metric,value,tier,source,url,note")  # fmt: skip
STUDY = """\
socsim: study/v1
platform: ideal-48tops
workload: w8a8-1k
decode: sampled
vary: {platform.devices.npu.clock: [1 GHz, 2 GHz]}
objectives: {ttft_s: min}
"""


@pytest.fixture(scope="module")
def result():
    options = socsim.RunOptions(decode="sampled", record="layer")
    return socsim.run("lunar-lake-268v", "chat-1k", devices=["npu", "gpu"], options=options)


@pytest.mark.parametrize("name", sorted(set(socsim.__all__) - {"__version__"}))
def test_every_name_is_in_the_reference(name):
    assert f":: socsim.{name}\n" in API_PAGE.read_text(encoding="utf-8")


def test_a_result_prints_as_a_table_and_a_sentence(result):
    lines = str(result).splitlines()
    assert lines[0] == "llama-3.1-8b, chat-1k on Intel Core Ultra 7 268V (Lunar Lake)"
    assert [line.split()[0] for line in lines[1:4]] == ["device", "npu", "gpu"]
    assert lines[-1].startswith("On lunar-lake-268v")
    assert len(str(result)) < 1000


def test_a_notebook_shows_the_same(result):
    html = result._repr_html_()
    assert html.count("<tr>") == 3
    assert str(result).splitlines()[-1] in html


def test_loaded_files_print_short():
    assert len(repr(socsim.load_platform("lunar-lake-268v"))) < 200
    assert len(repr(socsim.load_workload("chat-1k"))) < 2000


def test_a_kept_result_is_loaded_again(result, tmp_path):
    result.save(tmp_path / "kept")
    again = socsim.load(tmp_path / "kept")
    assert again.summary["runs"] == result.summary["runs"]
    assert str(again) == str(result)
    pd.testing.assert_frame_equal(again.operators, result.operators)


def test_a_sweep_is_one_call(tmp_path):
    (tmp_path / "clock.yaml").write_text(STUDY, encoding="utf-8")
    sweep = socsim.sweep(tmp_path / "clock.yaml", tmp_path / "out", workers=1)
    points = pd.read_parquet(sweep.folder / "points.parquet")
    slow, fast = points.sort_values("ttft_s", ascending=False)["platform.devices.npu.clock"]
    assert (slow, fast) == ("1 GHz", "2 GHz")


def test_measured_rows_are_simulated_by_one_call(tmp_path):
    who = "1,system,lunar-lake-268v,gpu,openvino,llama-3.1-8b"
    row = f"{who},int4 sym gs128,fp16,fp16,1024,128,,decode,,decode_tok_s,20,A,s,,"
    (tmp_path / "rows.csv").write_text(f"{COLUMNS}\n{row}\n", encoding="utf-8")
    validation = socsim.validate(tmp_path / "rows.csv")
    assert (validation.rows, len(validation.compared)) == (1, 1)


def test_everything_wrong_comes_at_once():
    with pytest.raises(socsim.InputError) as caught:
        socsim.load_platform("lunar-lake-268v", ["platform.devices.npu.tile=12", "platform.memory.dram.peak=1 GB/s"])
    assert len(caught.value.problems) == 2
    assert issubclass(socsim.InputError, socsim.SocsimError)
