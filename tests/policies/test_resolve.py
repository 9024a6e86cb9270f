import numpy as np
import pytest
from safetensors.numpy import save

from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.policies.resolve import ResolvedPolicy, build_policy, resolve
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld

SPEC = ProbeWorld(Probe()).spec


def test_a_uri_becomes_a_class_path_and_plain_settings():
    found = resolve("kin://probe-gru?seed=3")
    assert found == ResolvedPolicy("kinfolk.testing.probe.policies.gru:ProbeGruPolicy", {"seed": 3})
    assert found.sha256 == resolve("kin://probe-gru?seed=3").sha256
    assert found.sha256 != resolve("kin://probe-gru?seed=4").sha256
    assert (
        resolve("class:kinfolk.policies.stateless.NoopPolicy").class_path
        == "kinfolk.policies.stateless.NoopPolicy"
    )


def test_weights_named_by_a_uri_are_read_once_and_travel_as_arrays(tmp_path):
    from kinfolk.testing.probe.policies.gru import ProbeGruPolicy

    weights = {name: w.detach().numpy() * 2 for name, w in ProbeGruPolicy(SPEC)._weights.items()}
    path = tmp_path / "twice.safetensors"
    path.write_bytes(save(weights))
    found = resolve(f"kin://probe-gru?weights={path}")
    path.unlink()
    policy = build_policy(found, SPEC)
    for name, weight in policy._weights.items():
        assert np.array_equal(weight.detach().numpy(), weights[name])
    assert found.settings == {}
    assert found.sha256 != resolve("kin://probe-gru").sha256


def test_a_policy_without_weights_takes_none(tmp_path):
    (tmp_path / "w.safetensors").write_bytes(save({"w": np.zeros(3)}))
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve(f"kin://noop?weights={tmp_path / 'w.safetensors'}"), SPEC)
    assert str(refused.value) == (
        "kinfolk.policies.stateless:NoopPolicy takes no weights: it has no method load."
    )


@pytest.mark.parametrize("uri", ["by chance", "http://somewhere", "", "kin:noop"])
def test_what_is_no_policy_is_refused(uri):
    with pytest.raises(UsageError) as refused:
        resolve(uri)
    assert str(refused.value) == (
        f"'{uri}' is not a policy. Write kin://NAME or class:package.module.Class, "
        "each with ?key=value (weights=FILE), file:POLICY.safetensors or "
        "run:RUN[/SLOT][@best|@latest|@STEP]."
    )


def test_a_mistyped_setting_of_a_policy_is_named_with_those_there_are():
    with pytest.raises(SettingsError) as refused:
        build_policy(resolve("kin://mlp?hiden=[5]"), SPEC)
    assert str(refused.value) == (
        "MlpPolicy has no setting 'hiden'. Did you mean 'hidden'? "
        "Known: hidden, critic, activation, seed, greedy, transform."
    )
