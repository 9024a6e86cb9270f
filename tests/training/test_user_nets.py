"""Nets of any layer sizes, and of users' own making, are trained and evaluated."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from kinfolk.cli.app import main
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.events import Snapshot
from kinfolk.core.settings import merge_settings, validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.settings import Train
from kinfolk.testing.contracts.job import event_lines

OWN = Path(__file__).parent.parent / "policies" / "neural" / "own_nets"
TINY = {"world": "probe", "worlds": 2, "rollout_length": 8, "steps": 300, "checkpoint_every": 1,
        "ppo": {"minibatch_size": 64, "n_epochs": 1}}  # fmt: skip
NETS = ["kin://mlp?hidden=[50]", "kin://mlp?hidden=[7,13]", "kin://net?module=own_nets.Odd"]


@pytest.fixture(autouse=True)
def own_nets(monkeypatch):
    monkeypatch.syspath_prepend(str(OWN))


@pytest.fixture
def kinfolk(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert left.value.code == 0, err
        return json.loads(out)

    return call


def trained(uri, engine=None, **changes):
    settings = validate_settings(Train, merge_settings({**TINY, "slots": {"main": uri}}, changes))
    return list(train(settings, engine or LocalEngine()))


def weights(items):
    last = [item for item in items if isinstance(item, Snapshot)][-1]
    return {name: array for name, array in last.arrays.items() if "weights/" in name}


def test_odd_layers_are_trained_and_evaluated(kinfolk):
    tiny = ["--world", "probe", "--worlds", "2", "--rollout-length", "8", "--steps", "100"]
    document = kinfolk("train", *tiny, "--slot", f"main={NETS[1]}", "--out", "one", "--json")
    assert document["result"]["reason"] == "steps"
    document = kinfolk("eval", "--slot", "all=run:one", "--episodes", "2", "--json")
    assert document["settings"]["slots"] == {"all": "run:one"}


@pytest.mark.more
@pytest.mark.parametrize("uri", NETS)
def test_they_are_evaluated_alike_however_it_is_run(kinfolk, uri):
    tiny = ["--world", "probe", "--worlds", "2", "--rollout-length", "8", "--steps", "100"]
    kinfolk("train", *tiny, "--slot", f"main={uri}", "--out", "one", "--json")
    found = []
    ways = [[], ["--engine", "processes", "--jobs", "2"], ["--isolate", "slot"],
            ["--isolate", "agent"]]  # fmt: skip
    for slot in ("all=run:one", f"all={uri}"):
        for number, way in enumerate(ways):
            document = kinfolk("eval", "--world", "probe", "--slot", slot, "--episodes", "3",
                           "--step-timeout", "30", *way, "--json")  # fmt: skip
            found.append((slot, number, document["summary"]))
        assert all(summary == found[-1][2] for name, _, summary in found if name == slot)
    assert found[0][2] != found[-1][2], "what was learned shows"


@pytest.mark.more
@pytest.mark.parametrize("uri", NETS)
def test_any_engine_and_number_of_workers_learns_the_same(uri):
    engine = ProcessEngine(2)
    try:
        assert event_lines(trained(uri, engine, n_chunks=2)) == event_lines(
            trained(uri, n_chunks=2)
        )
    finally:
        engine.close()


def test_nets_that_mix_rows_are_trained_and_evaluated_one_row_at_a_time():
    uri = "kin://net?module=own_nets.Mixing"
    assert event_lines(trained(uri)) == event_lines(trained(uri))
    for asked in ({"batch_invariant": True}, {"evaluation": {"every": 1, "episodes": 1}}):
        assert event_lines(trained(uri, **asked)) == event_lines(trained(uri, **asked))


def test_nets_that_draw_random_numbers_can_be_trained_but_not_evaluated():
    uri = "kin://net?module=own_nets.Noisy"
    with pytest.raises(ContractError, match=r"^Noisy returns other results for the same rows"):
        trained(uri, evaluation={"every": 1, "episodes": 1})


def test_batch_invariance_may_be_asked_for_of_any_other_net():
    assert event_lines(trained(NETS[0], batch_invariant=True)) == event_lines(trained(NETS[0]))


def test_dropout_and_batch_statistics_learn_and_are_left_out_of_play():
    uri = "kin://net?module=own_nets.Normed"
    one, two = (trained(uri, evaluation={"every": 1, "episodes": 1}) for _ in range(2))
    assert event_lines(one) == event_lines(two), "dropout is drawn from the run's seed"
    learnt = weights(one)
    assert np.abs(learnt["slot/main/weights/body.1.running_mean"]).max() > 0.01
    assert learnt["slot/main/weights/body.1.num_batches_tracked"] > 2


def test_a_net_with_batch_statistics_goes_on_as_if_never_stopped():
    settings = validate_settings(
        Train, {**TINY, "slots": {"main": "kin://net?module=own_nets.Normed"}}
    )
    whole = list(train(settings, LocalEngine()))
    first = next(item for item in whole if isinstance(item, Snapshot))
    rest = list(train(settings, LocalEngine(), first))
    assert event_lines(rest) == event_lines(whole)[-len(event_lines(rest)) :]
    for name, array in weights(whole).items():
        assert np.array_equal(weights(rest)[name], array), name


WRONG_NETS = {
    "Column": "(logits [2, 5], value [2]), not shapes [2, 5], [2, 1] (own_nets.py:125).",
    "Actor": "(logits [2, 5], value [2]), not one Tensor (own_nets.py:133).",
    "Wide": "(logits [2, 5], value [2]), not shapes [2, 6], [2] (own_nets.py:22).",
    "Forgetful": "(logits [2, 5], value [2], memory [2, 3]), not shapes [2, 5], [2] "
    "(own_nets.py:149).",
}


@pytest.mark.parametrize("name", WRONG_NETS)
def test_what_a_net_must_return_is_said_before_it_plays(name):
    with pytest.raises(ContractError) as caught:
        trained(f"kin://net?module=own_nets.{name}")
    assert str(caught.value) == f"For two rows own_nets.{name} must return {WRONG_NETS[name]}"


def test_a_net_has_as_many_inputs_as_the_observation_has_numbers(kinfolk):
    """CartPole shows 4 numbers: nothing is padded for a module that counts on it."""
    uri = "kin://net?module=own_nets.FourInputs"
    task = ["--world", "gym:CartPole-v1"]
    tiny = ["--worlds", "2", "--rollout-length", "8", "--steps", "100"]
    kinfolk("train", *task, *tiny, "--slot", f"main={uri}", "--out", "four", "--json")
    played = kinfolk("eval", *task, "--slot", "all=run:four", "--episodes", "2", "--json")
    assert played["settings"]["slots"] == {"all": "run:four"}
    main_words = ["export", "policy", "four", "--out", "four.pt", "--trust"]
    with pytest.raises(SystemExit) as left:
        main(main_words)
    assert left.value.code == 0
    action, logits, value = torch.jit.load("four.pt")(torch.zeros(3, 4))
    assert [tuple(part.shape) for part in (action, logits, value)] == [(3, 1), (3, 2), (3,)]


def test_settings_of_a_net_are_given_as_one():
    learnt = weights(trained('kin://net?module=own_nets.Odd&settings={"width":5}'))
    assert learnt["slot/main/weights/actor.weight"].shape[1] == 5


@pytest.mark.parametrize(
    ("uri", "name", "given"),
    [
        ("kin://mlp?hidden=50", "hidden", "50"),
        ("kin://mlp?hidden=[0]", "hidden", "[0]"),
        ("kin://conv?channels=16", "channels", "16"),
        ("kin://gru?hidden=wide", "hidden", "wide"),
    ],
)
def test_sizes_of_layers_are_a_list(uri, name, given):
    with pytest.raises(SettingsError) as caught:
        trained(uri)
    assert str(caught.value) == (
        f"{name} is a list of layer sizes, each at least 1, such as [64,64], not {given}."
    )
