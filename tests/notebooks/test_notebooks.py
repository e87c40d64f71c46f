"""The example notebooks run from top to bottom, and are kept without what they put out."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CELL_TIMEOUT_S = 120

# Of the machinery that runs notebooks
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::RuntimeWarning", "ignore::ResourceWarning"
)


def read(path):
    return nbformat.read(path, as_version=4)


def shown(notebook):
    """The kinds of data that the cells put out."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [set(output["data"]) for output in outputs if "data" in output]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = read(path)
    runner = nbclient.NotebookClient(
        notebook, timeout=CELL_TIMEOUT_S, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    runner.execute()
    assert any("text/html" in kinds for kinds in shown(notebook))
    complaints = [
        output for cell in notebook.cells for output in cell.get("outputs", ()) if output.get("name") == "stderr"
    ]
    assert complaints == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_output(path):
    code = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert [cell for cell in code if cell.outputs or cell.execution_count] == []


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["first-run", "new-soc", "what-if"]
