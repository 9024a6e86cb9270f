"""Which files a sandboxed policy sees, found without running its code."""

import os
import sys

import pytest

from kinfolk.isolation.sandbox.policy_files import (
    PolicyFiles,
    digest_policy,
    find_policy_files,
    list_readable,
)
from kinfolk.policies.build import ResolvedPolicy


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "alone.py").write_text(
        "import torch\nfrom kinfolk.policies.base import NoopPolicy\nimport rival\n"
        "class P(NoopPolicy):\n    import scipy\nraise SystemExit('imported')\n"
    )
    (tmp_path / "rival.py").write_text("SECRET = 1\n")
    package = tmp_path / "team"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "policy.py").write_text("import numba\n")
    (package / "weights.npz").write_text("")
    submissions = tmp_path / "submissions"
    (submissions / "one").mkdir(parents=True)
    (submissions / "one" / "__init__.py").write_text("")
    (submissions / "two.py").write_text("")
    return tmp_path


def test_a_module_sees_its_own_file_and_not_its_neighbours(folder):
    found = find_policy_files(ResolvedPolicy("alone.P"))
    preload = ("kinfolk.policies.base", "torch")
    assert found == PolicyFiles((folder / "alone.py",), (str(folder),), preload)
    assert "alone" not in sys.modules, "nothing was imported"


def test_a_package_sees_its_folder(folder):
    found = find_policy_files(ResolvedPolicy("team.policy:P"))
    assert found == PolicyFiles((folder / "team",), (str(folder),), ("numba",))


def test_a_folder_of_submissions_shows_only_the_one_that_is_named(folder):
    for name, path in (("submissions.one.P", "one"), ("submissions.two.P", "two.py")):
        found = find_policy_files(ResolvedPolicy(name))
        assert found.paths == (folder / "submissions" / path,)
        assert found.import_paths == (str(folder),)


def test_code_that_settings_name_belongs_to_the_policy(folder):
    net = "kinfolk.policies.neural.architectures:CustomNetPolicy"
    found = find_policy_files(ResolvedPolicy(net, {"module": "alone.P", "hidden": 3}))
    assert found.paths == (folder / "alone.py",)


def test_policies_of_kinfolk_and_of_installed_packages_need_no_files(folder):
    for name in ("kinfolk.policies.base:NoopPolicy", "numpy.Missing", "json.Missing", "absent.P"):
        assert find_policy_files(ResolvedPolicy(name)) == PolicyFiles()


def test_further_files_can_be_made_readable(folder):
    found = find_policy_files(ResolvedPolicy("alone.P"), [str(folder / "rival.py")])
    assert found.paths == (folder / "alone.py", folder / "rival.py")
    assert found.import_paths == (str(folder),)


def test_a_file_of_a_stranger_cannot_name_what_it_wants_to_read(folder):
    for name in ("alone.P", "kinfolk.policies.neural.architectures:CustomNetPolicy"):
        named = {"module": "rival.Net", "catalog": "rival.Net"}
        assert (
            find_policy_files(ResolvedPolicy(name, named, source_file="a.safetensors")).paths == ()
        )
    assert find_policy_files(ResolvedPolicy("team.P", {"catalog": "rival.Net"})).paths == (
        folder / "team",
    )


def test_a_link_out_of_its_folder_is_not_followed(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "secret.py").write_text("KEY = 1\n")
    (folder / "linked.py").symlink_to(elsewhere / "secret.py")
    (folder / "linked_package").symlink_to(elsewhere)
    (elsewhere / "__init__.py").write_text("")
    assert find_policy_files(ResolvedPolicy("linked.P")) == PolicyFiles()
    assert find_policy_files(ResolvedPolicy("linked_package.P")) == PolicyFiles()


def test_pipes_and_folders_without_end_do_not_hold_the_host(folder):
    os.mkfifo(folder / "team" / "aaa_pipe.py")
    (folder / "team" / "loop").symlink_to(folder / "team")
    deep = folder / "team"
    for _ in range(300):
        deep = deep / "d"
        deep.mkdir()
    assert find_policy_files(ResolvedPolicy("team.policy:P")).preload == ("numba",)


def test_files_can_be_shown_to_all_slots_or_to_one():
    entries = ["maps", "pack=pack/notes.txt", "herd=x", "./a=b", "/data/a=b"]
    assert list_readable(entries, "pack") == ["maps", "pack/notes.txt", "./a=b", "/data/a=b"]
    assert list_readable(entries, "a") == ["maps", "./a=b", "/data/a=b"]


@pytest.mark.parametrize(
    ("name", "changed", "is_seen"),
    [
        ("alone.P", "alone.py", True),
        ("alone.P", "rival.py", False),
        ("team.policy:P", "team/policy.py", True),
        ("team.policy:P", "team/weights.npz", True),
        ("team.policy:P", "team/__pycache__/policy.cpython.pyc", False),
    ],
)
def test_a_digest_tells_whether_a_policys_own_files_have_changed(folder, name, changed, is_seen):
    before = digest_policy(ResolvedPolicy(name))
    path = folder / changed
    path.parent.mkdir(exist_ok=True)
    path.write_text("another text")
    assert (digest_policy(ResolvedPolicy(name)) != before) is is_seen
    assert digest_policy(ResolvedPolicy(name, {"depth": 2})) != digest_policy(ResolvedPolicy(name))
