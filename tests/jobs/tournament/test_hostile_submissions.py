"""Submissions whose names, files and folders attack the tournament: each harms itself alone."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from kinfolk.core.errors import UsageError
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.tournament import job
from kinfolk.jobs.tournament.settings import Tournament
from kinfolk.jobs.tournament.submissions import hash_submission, read_submissions
from kinfolk.policies.policy_code import find_policy_class
from kinfolk.policies.resolve import resolve

SOURCE = "from kinfolk.policies.base import NoopPolicy\n\n\nclass Mine(NoopPolicy):\n    x = 1\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with two honest submissions."""
    folder = tmp_path / "submissions"
    folder.mkdir()
    for name in ("alice", "bob"):
        (folder / f"{name}.py").write_text(SOURCE)
    return folder


def check_refused(folder, name, reason):
    """Check that the honest play, and that the other is refused for a reason."""
    settings = read_submissions([folder])
    assert settings["policies"] == {
        each: f"file:{folder / each}.py:Mine" for each in ("alice", "bob")
    }
    assert settings["refused"] == {name: reason}
    reason.encode()


def digest(path):
    return hash_submission(resolve(f"file:{path}", trusted=False))


@pytest.mark.parametrize("begin", ["class A", "class A(B)", "class A(\n" * 20_000 + "class A"])
def test_a_megabyte_of_blanks_is_searched_in_no_time(tmp_path, begin):
    file = tmp_path / "slow.py"
    file.write_text(begin + " " * 2**20)
    start = time.monotonic()
    with pytest.raises(UsageError, match="holds no class"):
        find_policy_class(file)
    assert time.monotonic() - start < 5.0


def test_a_file_named_like_a_package_does_not_swallow_its_rivals(folder):
    (folder / "__init__.py").write_text(SOURCE)
    check_refused(folder, "__init__.py", "names that begin with __ mean something to Python")


def test_a_package_cannot_take_the_place_of_a_side(tmp_path):
    for name in ("predator/wolf.py", "predator/__init__.py", "prey/deer.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SOURCE)
    settings = {"world": "savanna", "sandbox": False, **read_submissions([tmp_path])}
    with pytest.raises(UsageError) as refused:
        job.check_tournament(validate_settings(Tournament, settings))
    assert str(refused.value) == (
        "'predator' is a package, since its folder holds __init__.py, and has the name of side "
        "type_1_predator. Remove the file if the folder holds the policies of that side; rename the "
        "package if not."
    )


def test_the_digest_covers_every_file_of_a_package(folder):
    package = folder / "carol"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text(SOURCE)
    weights = package / "data" / "weights.bin"
    seen = set()
    for content in (b"", b"x" * (3 * 2**20), b"x" * (3 * 2**20 - 1) + b"y"):
        weights.write_bytes(content)
        seen.add(digest(package / "__init__.py"))
    weights.rename(package / "data" / "other.bin")
    seen.add(digest(package / "__init__.py"))
    assert len(seen) == 4


@pytest.mark.parametrize("isolate", ["none", "slot"])
def test_playing_a_package_does_not_change_its_digest(folder, isolate, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    package = folder / "carol"
    package.mkdir()
    (package / "__init__.py").write_text(f"from . import parts\n{SOURCE}")
    (package / "parts.py").write_text("x = 1\n")
    before = digest(package / "__init__.py")
    settings = {"world": "probe", "sandbox": False, "isolate": isolate, "games": 1, "replays": 0}
    settings |= {"policies": read_submissions([folder])["policies"]}
    list(job.tournament(validate_settings(Tournament, settings), LocalEngine()))
    assert digest(package / "__init__.py") == before


def test_the_digest_covers_weights_and_settings_of_the_uri(folder):
    weights = folder / "weights.npz"
    file = f"{folder / 'alice.py'}:Mine"
    seen = {digest(file), digest(f"{file}?depth=1")}
    for value in (1.0, 2.0):
        np.savez(weights, w=np.full(3, value))
        seen.add(digest(f"{file}?weights={weights}"))
    assert len(seen) == 4


def test_a_tournament_is_not_resumed_with_other_weights(folder):
    package = folder / "carol"
    package.mkdir()
    (package / "__init__.py").write_text(SOURCE)
    (package / "weights.bin").write_bytes(b"1")
    settings = {"world": "probe", "sandbox": False, "isolate": "none", "games": 1, "replays": 0}
    settings |= {"policies": read_submissions([folder])["policies"]}
    chosen = validate_settings(Tournament, settings)
    stream = job.tournament(chosen, LocalEngine())
    snapshot = next(item for item in stream if isinstance(item, job.Snapshot))
    stream.close()
    (package / "weights.bin").write_bytes(b"2")
    with pytest.raises(UsageError, match="Policy 'carol' has changed since the tournament began"):
        list(job.tournament(chosen, LocalEngine(), snapshot))


def test_a_link_is_refused(folder, tmp_path):
    secret = tmp_path / "secret.py"
    secret.write_text(SOURCE)
    (folder / "mallory.py").symlink_to(secret)
    check_refused(folder, "mallory.py", "mallory.py is a link; a submission holds its files itself")


def test_a_link_to_a_folder_is_no_side(folder, tmp_path):
    rivals = tmp_path / "rivals"
    rivals.mkdir()
    (rivals / "carol.py").write_text(SOURCE)
    (folder / "prey").symlink_to(rivals)
    check_refused(folder, "prey", "prey is a link; a submission holds its files itself")


def test_a_link_in_a_package_is_refused(folder, tmp_path):
    (folder / "mallory").mkdir()
    (folder / "mallory" / "__init__.py").write_text(SOURCE)
    (folder / "mallory" / "etc").symlink_to("/etc")
    check_refused(folder, "mallory", "mallory/etc is a link; a submission holds its files itself")


def test_a_second_name_of_a_file_is_refused(folder, tmp_path):
    secret = tmp_path / "secret.py"
    secret.write_text(SOURCE)
    os.link(secret, folder / "mallory.py")
    check_refused(
        folder, "mallory.py", "mallory.py has 2 names (hard links); a submission's files have one"
    )


@pytest.mark.parametrize("name", ["mallory.py", "mallory.safetensors"])
def test_a_file_with_holes_is_refused_at_once(folder, name):
    with (folder / name).open("wb") as file:
        file.write(SOURCE.encode())
        file.truncate(4 * 2**30)
    start = time.monotonic()
    check_refused(folder, name, f"{name} is larger than 1,073,741,824 bytes in all")
    with (folder / name).open("r+b") as file:
        file.truncate(2**20)
    check_refused(folder, name, f"{name} is a sparse file: it says to be larger than what it holds")
    assert time.monotonic() - start < 5.0


def test_a_pipe_is_refused(folder):
    (folder / "mallory").mkdir()
    (folder / "mallory" / "__init__.py").write_text(SOURCE)
    os.mkfifo(folder / "mallory" / "pipe")
    check_refused(folder, "mallory", "mallory/pipe is neither a file nor a folder")


def test_deep_folders_are_refused(folder):
    (folder / "mallory").mkdir()
    (folder / "mallory" / "__init__.py").write_text(SOURCE)
    place = os.open(folder / "mallory", os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    try:
        check_refused(folder, "mallory", "mallory has folders nested more than 32 deep")
    finally:
        subprocess.run(["rm", "-rf", folder / "mallory"], check=True)  # `shutil.rmtree` recurses


def test_too_many_files_are_refused(folder):
    (folder / "mallory").mkdir()
    (folder / "mallory" / "__init__.py").write_text(SOURCE)
    for number in range(4096):
        (folder / "mallory" / f"{number}").touch()
    check_refused(folder, "mallory", "mallory holds more than 4,096 files and folders")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"two\nlines.py", "two\\nlines.py"),
        (b"\xff\xfe.py", "\\udcff\\udcfe.py"),
        (b"\x1b[31mred.py", "\\x1b[31mred.py"),
        ("\u202egnirts.py".encode(), "\\u202egnirts.py"),
    ],
)
def test_a_name_that_does_not_print_is_refused(folder, name, shown):
    with open(os.path.join(os.fsencode(folder), name), "w") as file:
        file.write(SOURCE)
    check_refused(folder, shown, "its name has characters that do not print as they are")


def test_a_file_without_a_policy_is_refused_and_the_others_play(folder):
    (folder / "dave.py").write_text("x = 1\n")
    check_refused(folder, "dave.py", "dave.py holds no class; a policy is a class")


def test_a_source_that_you_type_is_an_error(folder, tmp_path):
    (tmp_path / "mallory.py").symlink_to(folder / "alice.py")
    with pytest.raises(UsageError, match=r"mallory\.py is a link"):
        read_submissions([tmp_path / "mallory.py"])


@pytest.mark.parametrize("name", ["alice.v2/__init__.py", "alice/__init__.py", "alice.py.py"])
def test_no_submission_takes_the_name_of_another(folder, name):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(SOURCE)
    policies = read_submissions([folder])["policies"]
    assert sorted(policies.values()) == sorted(
        f"file:{each}:Mine" for each in (folder / "alice.py", folder / "bob.py", path)
    )
    assert "alice.py" in policies or policies["alice"] == f"file:{folder}/alice.py:Mine"


def test_a_submission_named_like_a_side_plays_under_its_whole_name(folder):
    (folder / "hunter").mkdir()
    (folder / "hunter" / "carol.py").write_text(SOURCE)
    (folder / "hunter.py").write_text(SOURCE)
    policies = read_submissions([folder])["policies"]
    assert list(policies) == ["alice", "bob", "hunter", "hunter.py"]
    assert list(policies["hunter"]) == ["carol"]
