"""Is the right model found, by name from anywhere and by path?"""

import json
from pathlib import Path

import pytest

from socsim.errors import InputError
from socsim.workload.model_library import find_model, model_names


def test_shipped_names_work_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert find_model("llama-3.1-8b").layers == 32
    assert find_model("models/llama-3.1-8b.json").layers == 32


@pytest.mark.parametrize("name", ["llama3.1-8b", "models/llama-3.1-8.json", "", "x" * 5000, "../secret", "a\0b"])
def test_an_unknown_name_is_an_input_error_with_the_shipped_ones(name: str):
    with pytest.raises(InputError) as caught:
        find_model(name)
    assert caught.value.problems[0].choices == model_names()


def test_a_misspelt_name_has_a_suggestion():
    with pytest.raises(InputError) as caught:
        find_model("lama-3.1-8b")
    assert caught.value.problems[0].suggestion == "llama-3.1-8b"


@pytest.mark.parametrize("name", model_names())
def test_shipped_files_say_where_they_come_from(name: str):
    file = Path(__file__).resolve().parents[3] / "models" / f"{name}.json"
    assert "config.json" in json.loads(file.read_text(encoding="utf-8"))["_source"]
