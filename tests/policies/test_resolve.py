import numpy as np
import pytest
from safetensors.numpy import save

from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld

SPEC = ProbeWorld(Probe()).spec


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
        "kinfolk.policies.base:NoopPolicy takes no weights: it has no method load."
    )


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
