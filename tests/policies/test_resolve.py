import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld

SPEC = ProbeWorld(Probe()).spec
ROOT = Path(__file__).resolve().parents[2]


def test_a_uri_resolves_to_a_class_path_and_plain_settings():
    resolved = resolve("kin://probe-gru?seed=3")
    assert resolved == ResolvedPolicy(
        "kinfolk.testing.probe.policies.neural:ProbeGruPolicy", {"seed": 3}
    )
    assert resolved.sha256 == resolve("kin://probe-gru?seed=3").sha256
    assert resolved.sha256 != resolve("kin://probe-gru?seed=4").sha256
    assert (
        resolve("class:kinfolk.policies.base.NoopPolicy").class_path
        == "kinfolk.policies.base.NoopPolicy"
    )


def test_weights_of_a_uri_are_read_when_it_is_resolved(tmp_path):
    from kinfolk.testing.probe.policies.neural import ProbeGruPolicy

    weights = {name: w.detach().numpy() * 2 for name, w in ProbeGruPolicy(SPEC)._weights.items()}
    path = tmp_path / "twice.safetensors"
    path.write_bytes(save(weights))
    resolved = resolve(f"kin://probe-gru?weights={path}")
    path.unlink()
    policy = build_policy(resolved, SPEC)
    for name, weight in policy._weights.items():
        assert np.array_equal(weight.detach().numpy(), weights[name])
    assert resolved.settings == {}
    assert resolved.sha256 != resolve("kin://probe-gru").sha256


def test_a_policy_without_load_refuses_weights(tmp_path):
    (tmp_path / "w.safetensors").write_bytes(save({"w": np.zeros(3)}))
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve(f"kin://noop?weights={tmp_path / 'w.safetensors'}"), SPEC)
    assert str(refused.value) == (
        "kinfolk.policies.base:NoopPolicy takes no weights: it has neither a method `load(arrays)` nor a "
        "parameter `weights`, the path of a file."
    )


@pytest.mark.parametrize("isolate", ["none", "slot"])
def test_the_line_of_the_tutorial_plays_a_class_that_reads_its_weights_file(
    isolate, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "prey", raising=False)
    page = (ROOT / "docs" / "tutorials" / "own_policy_and_world.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    [code] = [block for block in blocks if "class TorchPrey" in block]
    [weights] = [block for block in blocks if "save_file(" in block]
    (tmp_path / "prey.py").write_text(f"import kinfolk as kf\n{code}")
    exec(code + weights, {"kf": kf})
    [slot] = re.findall(r"--slot (prey=class:prey[^`]*)`", page)
    words = ["eval", "--world", "savanna", "--slot", slot, "--slot", "pack=kin://random",
             "--map", "type_1_prey=prey", "--map", "type_1_predator=pack", "--episodes", "1",
             "--set", "max_steps=20", "--isolate", isolate, "--json"]  # fmt: skip
    with pytest.raises(SystemExit) as left:
        main(words)
    out, err = capsys.readouterr()
    assert left.value.code == 0, err
    assert json.loads(out)["summary"]["failed_slots"] == {}


@pytest.mark.parametrize("uri", ["by chance", "http://somewhere", "", "kin:noop"])
def test_a_text_that_is_no_policy_uri_is_refused(uri):
    with pytest.raises(UsageError) as refused:
        resolve(uri)
    assert str(refused.value) == (
        f"'{uri}' is not a policy. Write kin://NAME or class:package.module.Class, "
        "each with ?key=value (weights=FILE), file:POLICY.safetensors, "
        "file:POLICY.py[:Class] or run:RUN[/SLOT][@best|@latest|@STEP]."
    )


def test_an_unknown_setting_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve("kin://mlp?hiden=[5]"), SPEC)
    assert str(refused.value) == (
        "MlpPolicy has no setting 'hiden'. Did you mean 'hidden'? "
        "Known: hidden, critic, activation, seed, greedy, transform, normalize, "
        "distribution."
    )
