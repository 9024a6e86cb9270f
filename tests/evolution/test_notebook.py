"""The notebook on neuroevolution runs from top to bottom and shows what it says."""

import json
from pathlib import Path

import pytest

import kinfolk as kf

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "notebooks" / "neuroevolution.ipynb"


def code_cells():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def count_lines(cell):
    return sum(1 for line in cell.splitlines() if line.strip())


def test_its_loops_are_short():
    adversarial, _, inheritance, own = code_cells()
    assert count_lines(adversarial) <= 30
    assert count_lines(inheritance) <= 20
    assert count_lines(own) <= 15


@pytest.mark.more
@pytest.mark.train
def test_it_runs_and_everybody_gets_better(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    variables = {"__name__": "__main__"}
    for cell in code_cells():
        exec(compile(cell, NOTEBOOK.name, "exec"), variables)
    assert variables["agreement"] > 0.8
    # Inheritance needs ga; the default algorithm of Gymnasium tasks would compare it with another.
    searches = [kf.load_run(name).settings["algorithm"] for name in ("alone", "heirs")]
    assert searches == ["ga", "ga"]
    assert variables["heirs"].goal_reached
    assert variables["heirs"].steps < variables["alone"].steps
    assert variables["errors"][-1] < 0.1 * variables["errors"][0]
