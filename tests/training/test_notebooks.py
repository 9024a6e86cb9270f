"""The notebooks and the code of the page run from top to bottom and show what they say."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.training.losses import LOSSES

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(autouse=True)
def registered_losses():
    before = dict(LOSSES)
    yield
    LOSSES.clear()
    LOSSES.update(before)


def run_notebook(name, tmp_path, monkeypatch):
    """Execute the code cells of a notebook in order, and return their variables."""
    monkeypatch.chdir(tmp_path)
    cells = json.loads((EXAMPLES / name).read_text())["cells"]
    variables = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), name, "exec"), variables)
    return variables


@pytest.mark.more
def test_a_ppo_loss_of_15_lines_learns_cartpole(tmp_path, monkeypatch):
    scores = run_notebook("own_ppo_loss.ipynb", tmp_path, monkeypatch)["scores"]
    assert scores[-1] > 2 * scores[0]


@pytest.mark.more
def test_a_student_comes_to_agree_with_its_teacher(tmp_path, monkeypatch):
    variables = run_notebook("student_and_teacher.ipynb", tmp_path, monkeypatch)
    agreement, rows = variables["agreement"], variables["rows"]
    assert agreement[-1] > agreement[0] + 0.1
    assert set(rows["slot_id"].tolist()) == {1}
    assert not rows["is_trainable_agent"].any()


def test_the_python_code_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (EXAMPLES.parent / "docs" / "training.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 1
    variables = {}
    exec(compile(blocks[0], "training.md", "exec"), variables)
    assert variables["event"].kind == "training_done"
    assert variables["trainer"].state.steps >= 500


def mean_number(pull):
    """Return the mean size of the net's torques after a short training on Pendulum."""
    profile = ["ppo_actor", "ppo_critic", *(["pull_to_zero"] if pull else [])]
    trainer = kf.Trainer(
        "gym:Pendulum-v1", steps=4096, loss_profiles={"mine": profile},
        losses={"pull_to_zero": {"weight": 10.0}} if pull else {}, ppo={"learning_rate": 2e-3},
    )  # fmt: skip
    for event in trainer:
        assert event.kind != "episodes_restarted"
    rows = trainer.collect().slots["main"]
    return float(np.abs(rows["action"].view(np.float64)).mean())


def test_a_loss_of_your_own_pulls_actions_to_zero():
    @kf.register_loss("pull_to_zero")
    def pull_to_zero(batch, output, settings):
        std = output.log_probs[0][:, 1].exp()
        size = (output.mean_action().square().sum(dim=1) + std.square()).mean()
        return size, {"size": size.detach()}

    assert mean_number(pull=True) < 0.7 * mean_number(pull=False)
