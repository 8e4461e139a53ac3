"""The notebooks of docs/notebooks run as they are, in a kernel of their own, and are stored without outputs."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("default")  # the kernel's client warns of its own event loop
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_clean(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=500, kernel_name="python3").execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) > 5
    shown = [output for cell in cells for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "error"]
    assert not [output for output in shown if output.get("name") == "stderr"]
    assert any("srcdoc" in output.get("data", {}).get("text/html", "") for output in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run_one_after_another(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the tests' own process: what a kernel adds, the display of each last line, is of the long tier."""
    names: dict[str, object] = {"__name__": path.stem}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, path.name, "exec"), names)  # noqa: S102
    assert capsys.readouterr().err == ""


def test_notebooks_are_stored_without_outputs() -> None:
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            assert not cell.get("outputs"), path.name
            assert cell.get("execution_count") is None, path.name
