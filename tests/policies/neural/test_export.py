"""Exported policies play without kinfolk."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.core.errors import SettingsError
from kinfolk.core.imports import MissingLibraryError
from kinfolk.policies.build import build_policy
from kinfolk.policies.neural.export import (
    StandalonePolicy,
    export_onnx,
    export_torchscript,
    require_exportable,
)
from kinfolk.policies.resolve import resolve
from kinfolk.worlds.gymnasium_task.world import GymWorld

# What the page on training shows, with an end after 20 steps.
PLAYERS = {
    "torchscript": """
import gymnasium, json, sys, torch
net = torch.jit.load(sys.argv[1])
env = gymnasium.make(sys.argv[2])
(shown, _), total, actions = env.reset(seed=int(sys.argv[3])), 0.0, []
for _ in range(20):
    action = net(torch.as_tensor(shown, dtype=torch.float32)[None])[0][0].numpy()
""",
    "onnx": """
import gymnasium, json, onnxruntime, sys
net = onnxruntime.InferenceSession(sys.argv[1])
env = gymnasium.make(sys.argv[2])
(shown, _), total, actions = env.reset(seed=int(sys.argv[3])), 0.0, []
for _ in range(20):
    action = net.run(["action"], {"observation": shown[None].astype("float32")})[0][0]
""",
}
REST = """
    actions.append(action.tolist())
    shown, reward, ended, cut, _ = env.step(action if env.action_space.shape else int(action[0]))
    total += float(reward)
    if ended or cut: break
assert not any(name.startswith("kinfolk") for name in sys.modules)
print(json.dumps([total, actions]))
"""


@pytest.fixture
def played(monkeypatch):
    """The actions of every step that Gymnasium tasks take."""
    actions, step = [], GymWorld.step

    def record(self, chosen):
        actions.append(chosen[0].copy())
        return step(self, chosen)

    monkeypatch.setattr(GymWorld, "step", record)
    return actions


@pytest.mark.parametrize("form", PLAYERS)
@pytest.mark.parametrize(
    ("task", "uri"),
    [
        ("CartPole-v1", "kin://mlp?normalize=true"),
        ("Pendulum-v1", "kin://mlp?normalize=true&distribution=squashed"),
    ],
)
def test_a_player_without_kinfolk_reproduces_the_actions(
    task, uri, form, tmp_path, monkeypatch, capsys, played
):
    if form == "onnx":
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    small = {"worlds": 4, "rollout_length": 32, "steps": 512, "slots": {"main": uri}}
    kf.train(f"gym:{task}", out="run", **small)
    with pytest.raises(SystemExit) as left:
        main(["export", "policy", "run", "--format", form, "--out", "policy"])
    assert left.value.code == 0, capsys.readouterr().err
    world = kf.make(f"gym:{task}", seed=5, settings={"max_steps": 20})
    seed = str(int(world._state.key[0]))
    (tmp_path / "player.py").write_text(PLAYERS[form].rstrip() + REST)
    done = subprocess.run(
        [sys.executable, "-I", "player.py", "policy", task, seed],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    played.clear()
    result = kf.evaluate(
        f"gym:{task}", slots={"all": "run:run?greedy=true"}, episodes=1, seed=5,
        world_settings={"max_steps": 20},
    )  # fmt: skip
    total, actions = json.loads(done.stdout)
    assert result.returns["all"].mean == pytest.approx(total, abs=1e-3)
    ours = np.array(played)
    if task == "Pendulum-v1":
        assert ours.view(np.float64) == pytest.approx(np.array(actions), abs=1e-4)
    else:
        assert ours.tolist() == actions


@pytest.mark.parametrize("uri", ["kin://mlp?hidden=[7]", "kin://conv", "kin://gru?state_size=8"])
def test_onnx_files_give_the_outputs_of_the_net_for_any_batch(uri, tmp_path):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    policy = build_policy(resolve(uri), kf.make("savanna").spec)
    session = onnxruntime.InferenceSession(export_onnx(policy))
    module = StandalonePolicy(policy)
    for rows in (1, 5):
        inputs = {"observation": torch.randn(rows, module.size)}
        if module.memory_size:
            inputs["memory"] = torch.randn(rows, module.memory_size)
        theirs = session.run(None, {name: value.numpy() for name, value in inputs.items()})
        for mine, other in zip(module(*inputs.values()), theirs, strict=True):
            assert np.allclose(mine.numpy(), other, atol=1e-5)


@pytest.mark.parametrize("uri", ["kin://mlp?hidden=[7]", "kin://conv", "kin://gru?state_size=8"])
def test_every_built_in_net_is_traced_for_any_batch(uri, tmp_path):
    spec = kf.make("savanna").spec
    policy = build_policy(resolve(uri), spec)
    (tmp_path / "net.pt").write_bytes(export_torchscript(policy))
    loaded, module = torch.jit.load(tmp_path / "net.pt"), StandalonePolicy(policy)
    assert not module.takes_observations
    for rows in (1, 5):
        inputs = [torch.randn(rows, module.size)]
        inputs += [torch.zeros(rows, module.memory_size)] * bool(module.memory_size)
        for ours, theirs in zip(module(*inputs), loaded(*inputs), strict=True):
            assert torch.allclose(ours, theirs, atol=1e-6)
        logits = module(*inputs)[1].detach().numpy()
        assert np.array_equal(module(*inputs)[0][:, 0].numpy(), logits.argmax(axis=1))


def test_weights_are_exported_as_a_policy_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    kf.train("gym:CartPole-v1", out="run", worlds=2, rollout_length=8, steps=16)
    with pytest.raises(SystemExit) as left:
        main(["export", "policy", "run", "--format", "safetensors", "--out", "w.safetensors"])
    assert left.value.code == 0, capsys.readouterr().err
    assert resolve("file:w.safetensors").sha256 == resolve("run:run").sha256


def test_what_cannot_be_exported_is_said(tmp_path, monkeypatch, capsys):
    spec = kf.make("probe").spec
    with pytest.raises(SettingsError) as caught:
        require_exportable(build_policy(resolve("kin://noop"), spec), "run")
    assert str(caught.value) == "run is played by NoopPolicy, which is not a torch net."
    try:
        import onnx  # noqa: F401
    except ImportError:
        with pytest.raises(MissingLibraryError, match="onnx"):
            export_onnx(build_policy(resolve("kin://mlp?hidden=[8]"), spec))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["export", "policy", "run", "--format", "pickle", "--out", "x"])
    assert (left.value.code, capsys.readouterr().err) == (
        2, "--format must be torchscript, onnx, safetensors, not 'pickle'.\n",
    )  # fmt: skip
