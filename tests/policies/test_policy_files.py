"""Resolve policies that are stored in files and runs."""

import numpy as np
import pytest
from safetensors.numpy import save

from kinfolk.core.errors import UsageError
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.store.arrays import PolicyFile, iter_policy_chunks, write_policy
from kinfolk.store.run import create_run
from kinfolk.testing.probe.policies.neural import ProbeGruPolicy
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld

SPEC = ProbeWorld(Probe()).spec
PATH = "kinfolk.testing.probe.policies.neural:ProbeGruPolicy"


def weights(seed):
    return {
        name: w.detach().numpy() for name, w in ProbeGruPolicy(SPEC, seed=seed)._weights.items()
    }


def test_a_policy_file_restores_settings_and_weights(tmp_path):
    path = tmp_path / "mine.safetensors"
    write_policy(path, PolicyFile(PATH, {"seed": 1}, weights(5)))
    resolved = resolve(f"file:{path}")
    assert (resolved.class_path, resolved.settings) == (PATH, {"seed": 1})
    policy = build_policy(resolved, SPEC)
    assert np.array_equal(policy._weights["out.bias"].detach().numpy(), weights(5)["out.bias"])


def test_a_file_of_weights_is_not_a_policy_file(tmp_path):
    path = tmp_path / "w.safetensors"
    path.write_bytes(save(weights(5)))
    with pytest.raises(UsageError) as refused:
        resolve(f"file:{path}")
    assert str(refused.value) == (f"{path} is not a file of policy: its header has no such entry.")


@pytest.mark.parametrize(
    ("class_path", "settings", "shown"),
    [
        ("evil.Net\x1b[31m", {}, r"evil.Net\x1b[31m' of 13"),
        (PATH, {"x" * 3000: 1}, "x" * 80 + "' of 3,000"),
    ],
)
def test_names_in_a_policy_file_are_short_and_printable(tmp_path, class_path, settings, shown):
    path = tmp_path / "mine.safetensors"
    write_policy(path, PolicyFile(class_path, settings, {}))
    with pytest.raises(UsageError) as refused:
        resolve(f"file:{path}", trusted=False)
    assert str(refused.value) == (
        f"{path} names a class or setting '{shown} characters; a name has at most 1000, and they "
        "must be printable."
    )


def write_run_policy(folder, slot, step, best=False):
    for chunk in iter_policy_chunks(slot, step, PolicyFile(PATH, {}, weights(step)), best):
        path = folder / chunk.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(chunk.data)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = create_run(tmp_path / "runs" / "mine", "train", {}).folder
    for step, best in ((10, False), (20, True), (30, False)):
        write_run_policy(folder, "herd", step, best)
    return folder


@pytest.mark.parametrize(
    ("uri", "seed"),
    [("run:mine", 20), ("run:mine/herd@latest", 30), ("run:mine@best", 20), ("run:runs/mine/herd@10", 10)],
)  # fmt: skip
def test_a_run_uri_finds_a_policy_by_slot_and_step(run, uri, seed):
    assert np.array_equal(resolve(uri).arrays["out.bias"], weights(seed)["out.bias"])


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("run:other", "There is no run other. Known: mine."),
        ("run:mine/hred", "The run runs/mine has no policy 'hred'. Did you mean 'herd'? Known: herd."),
        ("run:mine@15",
         "Policy 'herd' of runs/mine has no version '@15'. It has: @best, @latest, @10, @20, @30."),
    ],
)  # fmt: skip
def test_a_run_uri_without_a_policy_lists_those_there_are(run, uri, message):
    with pytest.raises(UsageError) as refused:
        resolve(uri)
    assert str(refused.value) == message


def test_versions_that_a_run_does_not_have_are_not_listed(run):
    folder = run / "policies" / "herd"
    for path in folder.glob("0*.safetensors"):
        path.unlink()
    with pytest.raises(UsageError) as refused:
        resolve("run:mine/herd@latest")
    assert str(refused.value) == (
        "Policy 'herd' of runs/mine has no version '@latest'. It has: @best."
    )


def test_the_newest_stands_for_the_best_of_a_run_that_evaluated_none(run):
    (run / "policies" / "herd" / "best.safetensors").unlink()
    assert np.array_equal(resolve("run:mine").arrays["out.bias"], weights(30)["out.bias"])


def test_a_run_with_several_slots_needs_the_name_of_one(run):
    write_run_policy(run, "pack", 5)
    with pytest.raises(UsageError) as refused:
        resolve("run:mine")
    assert str(refused.value) == (
        "The run runs/mine has several policies: herd, pack. Write run:runs/mine/NAME."
    )


def test_an_untrusted_class_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "stranger.py").write_text("raise SystemExit('code of a stranger ran')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert resolve("class:stranger.Policy", trusted=False).class_path == "stranger.Policy"
    with pytest.raises(SystemExit):
        resolve("class:stranger.Policy")
    with pytest.raises(UsageError) as refused:
        resolve("class:no_stranger.Policy", trusted=False)
    assert str(refused.value) == (
        "'no_stranger.Policy' cannot be imported: there is no module no_stranger."
    )
