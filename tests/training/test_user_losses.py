"""Losses of a user's own: registered once, listed, applied; and CONTRIBUTING as it is written."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from small_trainings import TINY, collected, copied, same, settings_of

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.events import Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.train.job import train
from kinfolk.training.learner import LossWeights
from kinfolk.training.losses import LOSSES, register_loss
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.settings import PPOSettings

ROOT = Path(__file__).resolve().parents[2]
PPO = ["ppo_actor", "ppo_critic"]
WITH_TEACHER = {
    **TINY,
    "slots": {
        "teacher": {"policy_uri": "kin://probe-python", "trainable": False},
        "student": "kin://mlp?hidden=[16]",
    },
    "agent_slot_map": {"grazer": "teacher", "hunter": "student"},
    "teachers": {"student": {"teacher": "teacher"}},
}


@pytest.fixture
def page(tmp_path, monkeypatch, registered_losses):
    """The files that CONTRIBUTING tells one to write, in the folder one works in."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition("## Add a loss")[2].partition("\n## ")[0]
    blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.S)
    assert [kind for kind, _ in blocks] == ["python", "toml", "python"]
    (tmp_path / "mylosses.py").write_text(blocks[0][1])
    (tmp_path / "mine.toml").write_text(blocks[1][1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield blocks[2][1]
    sys.modules.pop("mylosses", None)


def test_a_loss_is_added_as_contributing_says(page, capsys):
    with pytest.raises(SystemExit) as left:
        main(["train", "mine.toml", "--out", "run", "--json"])
    out, err = capsys.readouterr()
    assert left.value.code == 0, err
    document = json.loads(out)
    assert document["settings"]["losses"] == {"entropy_floor": {"weight": 0.1, "floor": 5.0}}
    slot = document["last_update"]["slots"]["main"]
    assert slot["entropy_lack"] == pytest.approx(5.0 - slot["entropy"], abs=1e-4)
    exec(compile(page, "CONTRIBUTING.md", "exec"), {"__name__": "example"})


def test_a_loss_of_ones_own_changes_what_is_learnt_and_its_weight_falls(page):
    profiles = {"all": [*PPO, "mylosses.entropy_floor"]}

    def weights(**settings):
        with_loss = settings_of(TINY, steps=600, loss_profiles=profiles,
                            losses={"entropy_floor": settings})  # fmt: skip
        return list(train(with_loss, LocalEngine()))[-1].weights

    without = list(train(settings_of(TINY, steps=600), LocalEngine()))[-1].weights
    assert weights(weight=0.0, floor=5.0) == without
    assert weights(weight=1.0, floor=5.0) != without
    assert weights(weight=1.0, floor=5.0, decay_steps=1) != weights(weight=1.0, floor=5.0)


def test_from_python_it_is_listed_by_its_name_and_may_read_a_table_of_the_training(
    registered_losses,
):
    seen = []

    @register_loss("small_values", settings=PPOSettings)
    def small_values(batch, output, settings):
        seen.append(settings)
        return output.value.square().mean(), {"value_size": output.value.detach().abs().mean()}

    settings = settings_of(TINY, steps=1, loss_profiles={"all": [*PPO, "small_values"]})
    stats = next(
        e for e in train(settings, LocalEngine()) if getattr(e, "kind", "") == "update_done"
    )
    assert stats.slots["main"]["value_size"] > 0.0
    assert set(map(id, seen)) == {id(settings.ppo)}
    assert "small_values" not in LossProfiles({}).losses, "it is listed, or it is not applied"


def test_a_loss_without_stats_is_applied(registered_losses):
    @register_loss("quiet")
    def quiet(batch, output, settings):
        return output.entropy().mean(), {}

    settings = settings_of(TINY, steps=1, loss_profiles={"all": ["quiet"]})
    state, _ = collected(settings)
    before = state.learners["main"].policy.arrays()
    last = [item for item in train(settings, LocalEngine()) if isinstance(item, Snapshot)][-1]
    name = "heads.actor.weight"
    assert not np.array_equal(last.arrays[f"slot/main/weights/{name}"], before[name])


def test_a_name_belongs_to_one_function(registered_losses):
    def other(batch, output, settings):
        return output.value.mean(), {}

    with pytest.raises(SettingsError) as error:
        register_loss("cloner")(other)
    assert str(error.value) == (
        "The loss 'cloner' is already registered by kinfolk.training.losses.cloner. Give "
        f"{other.__module__}.{other.__qualname__} another name."
    )
    with pytest.raises(SettingsError) as error:
        register_loss("my loss")
    assert str(error.value) == (
        "The name of a loss must be an identifier such as entropy_floor, not 'my loss'."
    )
    with pytest.raises(SettingsError, match=r"such as entropy_floor, not <function test_a_name_"):
        register_loss(other)
    assert register_loss("mine")(other) is register_loss("mine")(other), "reloading is no conflict"


def test_settings_of_a_loss_are_checked_before_anything_is_trained(page):
    with pytest.raises(SettingsError) as error:
        settings_of(TINY, loss_profiles={"all": [*PPO, "mylosses.entropy_floor"]},
                    losses={"entropy_floor": {"flor": 1.0}})  # fmt: skip
    assert str(error.value) == (
        "EntropyFloor has no setting 'flor'. Did you mean 'floor'? Known: weight, decay_steps, floor."
    )


def test_a_function_is_registered_in_one_call_and_may_be_listed_itself(registered_losses):
    def small(batch, output, settings):
        return output.value.square().mean(), {"size": output.value.detach().abs().mean()}

    assert register_loss("small_values", small, rows="trainable", settings=PPOSettings) is small
    assert LOSSES["small_values"].settings_type is PPOSettings

    def even(batch, output, settings):
        return -output.entropy().mean(), {"evenness": output.entropy().mean().detach()}

    tiny = {"worlds": 2, "rollout_length": 8, "steps": 1, "ppo": {"n_epochs": 1}}
    profiles = {"all": ["ppo_actor", small, even]}
    with kf.Trainer("probe", loss_profiles=profiles, losses={"even": {"weight": 2.0}}, **tiny) as t:
        stats = t.learn(t.collect())["main"]
    assert t.settings.loss_profiles == {"all": ("ppo_actor", "small_values", "even")}
    assert {"size", "evenness", "entropy"} <= set(stats)


def test_a_loss_of_other_arguments_names_its_file_and_line(registered_losses):
    def short(batch, output):
        return output.value.mean(), {}

    with pytest.raises(SettingsError) as error:
        register_loss("short")(short)
    assert str(error.value) == (
        "The loss 'short' must take three arguments, (batch, output, settings): too many positional "
        f"arguments (test_user_losses.py:{short.__code__.co_firstlineno})."
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_that_a_loss_may_not_use_change_no_weight(loss):
    """Places of another profile are filled with nonsense: what is learnt is the same, bit by bit."""
    state, blocks = collected(settings_of(WITH_TEACHER))
    learner, rows = state.learners["student"], copied(blocks["student"])
    profiles = LossProfiles({"one": [loss], "none": []})
    weights = LossWeights(1e-3, {loss: 1.0})
    closed = rows["memory_index"] % 2 == 1
    assert closed.any()
    assert not closed.all()

    def learnt(table):
        before = learner.state_dict()
        stats = learner.learn(copied(table), profiles, weights, int(fold_in(seed_key(1), 2)))
        after = learner.policy.arrays()
        learner.load_state_dict(before)
        return stats, after

    rows["loss_profile_id"][closed] = 1
    stats, once = learnt(rows)
    assert stats
    assert not same(once, learner.policy.arrays()), "open rows are learnt from"
    rows["reward"][closed], rows["value"][closed], rows["log_prob"][closed] = 1e6, -1e6, -9.0
    rows["action"][closed], rows["teacher_action"][closed] = 0, 0
    assert same(learnt(rows)[1], once)
    rows["loss_profile_id"][closed] = 0
    assert not same(learnt(rows)[1], once), "the same nonsense counts when open"


def _raises(batch, output, settings):
    raise RuntimeError("no target")


WRONG_LOSSES = {
    "raises": (_raises, "The loss 'mine' failed: RuntimeError: no target "
               f"(test_user_losses.py:{_raises.__code__.co_firstlineno + 1} in _raises)."),
    "no figures": (lambda batch, output, settings: output.entropy().mean(),
                   "The loss 'mine' must return (loss, stats), not one Tensor."),
    "a loss per row": (lambda batch, output, settings: (output.value[:3], {}),
                       "The loss 'mine' must return a scalar as loss, not a tensor of shape "
                       "[3]. Take the mean over the rows."),
    "no tensor": (lambda batch, output, settings: ("low", {}),
                  "The loss 'mine' must return a scalar as loss, not 'low'."),
    "not finite": (lambda batch, output, settings: (output.value.mean() * float("nan"), {}),
                   "The loss 'mine' is nan, which has no usable gradient. Look for a division "
                   "by zero, a logarithm of zero, or NaN in observations, rewards or the net."),
    "a figure of text": (lambda batch, output, settings: (output.value.mean(), {"lack": "much"}),
                         "The loss 'mine' must return finite numbers as stats, not lack='much'."),
    "a figure that is not finite": (
        lambda batch, output, settings: (output.value.mean(), {"lack": float("inf")}),
        "The loss 'mine' must return finite numbers as stats, not lack=inf."),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_LOSSES)
def test_error_messages_name_the_wrong_loss(name, registered_losses):
    function, message = WRONG_LOSSES[name]
    register_loss("mine")(function)
    settings = settings_of(TINY, steps=1, loss_profiles={"all": [*PPO, "mine"]})
    with pytest.raises(ContractError) as error:
        list(train(settings, LocalEngine()))
    if name != "raises":  # the line where it is defined, not where it failed
        line = function.__code__.co_firstlineno
        message = f"{message.removesuffix('.')} (test_user_losses.py:{line})."
    assert str(error.value) == message


def test_a_loss_without_gradient_is_refused(registered_losses):
    register_loss("mine")(lambda batch, output, settings: (output.value.mean().detach(), {}))
    settings = settings_of(TINY, steps=1, loss_profiles={"all": ["mine"]})
    with pytest.raises(ContractError) as error:
        list(train(settings, LocalEngine()))
    assert str(error.value) == (
        "The losses mine have no gradient: none of them depends on the net's outputs. Use "
        "tensors of the second argument, and detach none of them."
    )


def test_a_loss_uses_rows_of_two_kinds():
    with pytest.raises(SettingsError) as error:
        register_loss("mine", rows="all")
    assert (
        str(error.value)
        == "The rows of the loss 'mine' are 'trainable' or 'teacher_labeled', not 'all'."
    )
