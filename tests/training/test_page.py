"""The code of the page runs, and losses of your own change what is learnt."""

import re
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.training.losses import LOSSES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def registered_losses():
    before = dict(LOSSES)
    yield
    LOSSES.clear()
    LOSSES.update(before)


def test_the_python_code_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "training.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2, "a trainer and a league"
    variables = [{}, {}]
    for block, names in zip(blocks, variables, strict=True):
        exec(compile(block, "training.md", "exec"), names)
    assert variables[0]["event"].kind == "training_done"
    assert variables[0]["trainer"].state.steps >= 500


@pytest.mark.more
def test_the_page_from_scratch_to_trained_runs_from_top_to_bottom_and_learns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "first_training.md").read_text()
    variables = {"__name__": "__main__"}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "first_training.md", "exec"), variables)
    trained, random = (variables["results"][name].returns["all"] for name in ("trained", "random"))
    assert trained.low > random.high + 3.0
    assert variables["total"] > random.mean + 3.0, "the exported policy plays as well"
    assert variables["wide"].step >= 4_000
    assert variables["stats"]["explained_variance"] <= 1.0


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
