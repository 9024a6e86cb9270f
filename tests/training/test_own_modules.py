"""Modules of users: classes, functions and instances, through `kf.train` and `kf.Trainer`."""

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import kinfolk as kf
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.policies.neural.own_modules import make_own_module, register_module

sys.path.insert(0, str(Path(__file__).parent.parent / "policies" / "neural" / "own_nets"))
import own_nets

SMALL = {"worlds": 4, "rollout_length": 16, "steps": 128, "ppo": {"n_epochs": 1}}


class Attention(nn.Module):
    """Attention over the four numbers of CartPole's observation."""

    def __init__(self, shape):
        super().__init__()
        self.embed = nn.Linear(2, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.out = nn.Linear(64, shape.outputs + 1)
        self.place = nn.Parameter(torch.eye(4)[:, :1] * 0 + torch.linspace(-1, 1, 4)[:, None])

    def forward(self, x):
        tokens = torch.stack([x[:, :4], self.place[:, 0].expand(len(x), 4)], dim=2)
        seen = self.embed(tokens).tanh()
        mixed = (seen + self.attention(seen, seen, seen, need_weights=False)[0]).flatten(1)
        out = self.out(mixed)
        return out[:, 1:], out[:, 0]


def small_net(shape):
    return own_nets.Odd(shape, width=5)


@pytest.mark.parametrize("kind", ["class", "function", "lambda", "instance"])
def test_a_class_a_function_and_an_instance_are_trained(kind, tmp_path):
    shape_of = {"inputs": 4, "outputs": 2, "planes": None}
    instance = own_nets.Odd(type("Shape", (), shape_of))
    nets = {"class": own_nets.Odd, "function": small_net, "instance": instance,
            "lambda": lambda shape: own_nets.Odd(shape)}  # fmt: skip
    before = instance.actor.weight.detach().clone()
    result = kf.train("gym:CartPole-v1", slots={"main": nets[kind]}, out=tmp_path / "run", **SMALL)
    assert result.step == 128
    assert torch.equal(instance.actor.weight, before), "a copy is trained"
    score = kf.evaluate("gym:CartPole-v1", slots={"all": f"run:{tmp_path / 'run'}"}, episodes=2)
    assert score.returns["all"].mean > 0.0


def test_a_slot_with_other_settings_has_a_module_as_its_policy():
    slots = [
        {
            "id": "a",
            "class_path": own_nets.Odd,
            "policy_kwargs": {"width": 5},
            "learning_rate": 1e-3,
        },
        {"id": "b", "policy_uri": small_net, "trainable": False},
    ]
    with kf.Trainer(
        "probe", policy_slots=slots, agent_slot_map={"hunter": "b"}, **SMALL
    ) as trainer:
        one, other = trainer.settings.slots
        assert (one.learning_rate, one.trainable, other.trainable) == (1e-3, True, False)
        assert one.policy_kwargs == {"module": "own_nets:Odd", "settings": {"width": 5}}
        assert trainer.state.learners["a"].policy.module.actor.in_features == 5
        assert set(trainer.collect().slots) == {"a", "b"}


def test_names_are_import_paths_where_possible():
    assert register_module(own_nets.Odd) == "own_nets:Odd"
    local = register_module(lambda shape: own_nets.Odd(shape))
    assert local.startswith("local/lambda-")


def test_what_is_no_module_is_refused():
    with pytest.raises(SettingsError) as caught:
        register_module(3)
    assert str(caught.value) == (
        "A net is a torch.nn.Module, its class or a function that makes one, not 3."
    )
    with pytest.raises(SettingsError) as caught:
        make_own_module("local/gone-9", None, {})
    assert str(caught.value) == (
        "The net local/gone-9 was made in another process. Pass it to kf.train again or, for "
        "--engine processes and for later evaluations, use a class or function that can be imported."
    )
    with pytest.raises(
        SettingsError, match=r"must return a torch.nn.Module, not one dict \(test_o"
    ):
        kf.Trainer("gym:CartPole-v1", slots={"main": lambda shape: {}}, **SMALL)
    name = register_module(nn.Linear(8, 2))
    with pytest.raises(SettingsError, match="is an instance and takes no settings"):
        make_own_module(name, None, {"width": 3})


def test_a_module_alone_is_that_of_the_only_slot_and_trainers_print_what_they_are():
    with kf.Trainer("gym:CartPole-v1", slots=own_nets.Odd, **SMALL) as trainer:
        assert repr(trainer) == "Trainer(gym:CartPole-v1, slots: main, step 0 of 128)"
        assert repr(trainer.collect()) == "Rollout(rows by slot: main: 64; episodes ended: 2)"


def test_nan_of_a_net_is_blamed_on_the_net():
    class Broken(own_nets.Odd):
        def forward(self, x):
            logits, value = super().forward(x)
            return logits, value * float("nan")

    with pytest.raises(ContractError) as caught:
        list(kf.Trainer("gym:CartPole-v1", slots=Broken, **SMALL))
    assert str(caught.value) == (
        "The net returned NaN as values, so that the loss 'ppo_actor' is nan. Look for a division by "
        "zero or a logarithm of zero in its forward, or for a learning rate that is too large."
    )


def test_wrong_outputs_name_the_users_file_and_line():
    class Narrow(nn.Module):
        def __init__(self, shape):
            super().__init__()

        def forward(self, x):
            return x[:, :1], x[:, 0]

    with pytest.raises(
        ContractError, match=r"not shapes \[2, 1\], \[2\] \(test_own_modules.py:\d+\)"
    ):
        kf.Trainer("gym:CartPole-v1", slots={"main": Narrow}, **SMALL)


def test_nets_that_mix_rows_are_evaluated_one_row_at_a_time(tmp_path):
    run = tmp_path / "run"
    kf.train("gym:CartPole-v1", slots={"main": own_nets.Mixing}, out=run, **SMALL)
    base = {"slots": {"all": f"run:{run}"}, "episodes": 5}
    one = kf.evaluate("gym:CartPole-v1", **base)
    other = kf.evaluate("gym:CartPole-v1", **base, engine="processes", jobs=2)
    assert one.returns == other.returns


@pytest.mark.more
@pytest.mark.timeout(600)
def test_an_own_attention_module_learns(tmp_path):
    result = kf.train(
        "gym:CartPole-v1", slots={"main": Attention}, steps=40_000, out=tmp_path / "r"
    )
    assert result.score > 100.0  # a random policy has 22
