"""Capsules of strangers: none of them runs code, fills the memory or ends in an internal error."""

import hashlib
import io
import json
import resource
import struct
import sys
import zipfile

import pytest

from kinfolk.cli.app import main
from kinfolk.core.errors import DamagedRunError, KinfolkError
from kinfolk.jobs import capsules
from kinfolk.store.files import read_bytes

EVALUATION = ["eval", "--set", "max_ticks=5", "--episodes", "2", "--slot", "all=kin://random"]
EVIL = """
from pathlib import Path
Path("marker").write_text("imported")
from kinfolk.policies.base import NoopPolicy as Evil
"""


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code, capsys.readouterr()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.fixture
def capsule(capsys, folder):
    assert run(capsys, *EVALUATION, "--out", "one")[0] == 0
    assert run(capsys, "capsule", "one", "--out", "a.zip")[0] == 0
    return folder / "a.zip"


def read_entries(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_entries(path, contents, method=zipfile.ZIP_DEFLATED):
    """Write a capsule whose hashes are right, as a forger would."""
    manifest = json.loads(contents["manifest.json"])
    files = {name: data for name, data in contents.items() if name != "manifest.json"}
    manifest["sha256"] = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in {"manifest.json": json.dumps(manifest).encode(), **files}.items():
            archive.writestr(name, data)


def change_manifest(contents, **changed):
    contents["manifest.json"] = json.dumps(
        {**json.loads(contents["manifest.json"]), **changed}
    ).encode()


def test_a_capsule_that_packs_python_as_a_policy_is_refused_and_nothing_runs(capsys, folder):
    (folder / "mine.safetensors").write_bytes(b"")  # only named, so that the capsule maps it
    assert run(capsys, *EVALUATION, "--out", "one")[0] == 0
    assert run(capsys, "capsule", "one", "--out", "a.zip")[0] == 0
    contents = read_entries("a.zip")
    settings = contents["settings.json"].replace(b"kin://random", b"file:x.model")
    from kinfolk.store.integrity import BLANK_CHECKSUM, CHECKSUM_FIELD, seal

    table = json.loads(settings)
    table[CHECKSUM_FIELD] = BLANK_CHECKSUM
    contents["settings.json"] = seal((json.dumps(table, indent=2) + "\n").encode())
    contents["outside/0.py"] = EVIL.encode()
    change_manifest(contents, policies={"file:x.model": "outside/0.py:Evil"})
    write_entries("a.zip", contents)
    code, said = run(capsys, "verify", "a.zip")
    assert not (folder / "marker").exists()
    assert code == 1
    assert said.err == (
        "a.zip is not a capsule, or it is damaged: manifest.json: the policy 'outside/0.py:Evil' is not named "
        "outside/N.safetensors.\n"
    )


@pytest.mark.parametrize("name", ["outside/0.py", "sitecustomize.py", "policies/a/../b.safetensors",
                                  "/etc/x.csv", "checkpoints/1.safetensors", "outside/7.safetensors"])  # fmt: skip
def test_a_capsule_with_a_file_that_no_run_has_is_refused(capsys, capsule, name):
    contents = read_entries(capsule)
    contents[name] = b"x"
    write_entries(capsule, contents)
    code, said = run(capsys, "verify", "a.zip")
    assert code == 1
    assert f"'{name}' is no file of a run or of its policies" in said.err


def test_a_file_beside_the_manifest_is_refused(capsys, capsule):
    with zipfile.ZipFile(capsule, "a") as archive:
        archive.writestr("report.md", "x")
    code, said = run(capsys, "verify", "a.zip")
    assert (code, said.err) == (
        1,
        "a.zip is refused: it holds 'report.md', which its manifest does not list.\n",
    )


def test_a_small_capsule_that_would_unpack_to_gigabytes_is_refused_in_little_memory(
    capsys, capsule, folder
):
    contents = read_entries(capsule)
    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", contents["manifest.json"])
        with archive.open("report.md", "w", force_zip64=True) as file:
            for _ in range(512):
                file.write(bytes(2**20))
    assert (folder / "bomb.zip").stat().st_size < 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code, said = run(capsys, "verify", "bomb.zip")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert code == 1
    assert "bytes would unpack to 536," in said.err
    assert "at most 268,435,456" in said.err
    assert grown < 64 * 1024  # KiB


def test_a_capsule_that_understates_its_sizes_is_not_unpacked_beyond_them(capsule):
    contents = read_entries(capsule)
    contents["report.md"] = bytes(2**20)
    write_entries(capsule, contents)
    data = bytearray(capsule.read_bytes())
    true, false = struct.pack("<I", 2**20), struct.pack("<I", 1)
    assert data.count(true) >= 2  # in the header of the entry, and in the directory
    capsule.write_bytes(bytes(data).replace(true, false))
    with pytest.raises(DamagedRunError, match="is not a capsule, or it is damaged"):
        capsules.read_capsule(capsule)


def deep(contents):
    contents["manifest.json"] = b"[" * 100_000 + b"]" * 100_000


def wrong_types(contents):
    contents["manifest.json"] = b'{"format": 2, "sha256": [1], "policies": 3, "sources": null}'


@pytest.mark.parametrize("change", [deep, wrong_types])
def test_a_manifest_that_is_none_is_one_message(capsys, capsule, change):
    contents = read_entries(capsule)
    change(contents)
    with zipfile.ZipFile(capsule, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    code, said = run(capsys, "verify", "a.zip")
    assert code == 1
    assert said.err.startswith("a.zip is not a capsule, or it is damaged: manifest.json")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [("policies", {"file:x": 3}), ("policies", []), ("versions", []), ("versions", {"numpy": {}}),
     ("sources", {"class:os.path": "0"}), ("sha256", {"settings.json": None}), ("name", 3),
     ("format", "2"), ("format", 10**400), ("processor", None)],
)  # fmt: skip
def test_a_field_of_another_type_is_one_message(capsys, capsule, field, value):
    contents = read_entries(capsule)
    manifest = {**json.loads(contents["manifest.json"]), field: value}
    contents["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(capsule, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    code, said = run(capsys, "verify", "a.zip")
    assert code == 1
    assert said.err.startswith("a.zip ")
    assert "kinfolk itself failed" not in said.err


def test_encrypted_and_oddly_packed_entries_are_one_message(capsys, capsule):
    whole = capsule.read_bytes()
    encrypted = bytearray(whole)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[whole.index(signature) + offset] |= 1
    capsule.write_bytes(bytes(encrypted))
    code, said = run(capsys, "verify", "a.zip")
    assert (code, "manifest.json is encrypted" in said.err) == (1, True)
    capsule.write_bytes(whole)
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        write_entries(capsule, read_entries(capsule), method)
        code, said = run(capsys, "verify", "a.zip")
        assert (code, "packed in a way that capsules are not" in said.err) == (1, True)


def test_flipped_bits_and_cut_ends_give_a_message_or_the_right_content(capsule, folder):
    whole = capsule.read_bytes()
    right = capsules.read_capsule(capsule)
    places = range(0, 8 * len(whole), max(1, 8 * len(whole) // 1500))
    broken = [bytes(_flip(whole, place)) for place in places]
    broken += [whole[:end] for end in range(0, len(whole), max(1, len(whole) // 200))]
    messages = []
    for data in broken:
        capsule.write_bytes(data)
        try:
            contents, manifest = capsules.read_capsule(capsule)
        except KinfolkError as error:
            messages.append(str(error))
        else:
            assert contents == right[0]
            assert manifest.policies == right[1].policies
            assert manifest.sha256 == right[1].sha256
    assert len(broken) > 1000
    assert len(messages) > 1000
    assert all(message.startswith(str(capsule)) for message in messages)


def _flip(data, place):
    changed = bytearray(data)
    changed[place // 8] ^= 1 << place % 8
    return changed


def test_an_archive_of_archives_and_one_without_entries_are_refused(capsys, folder):
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    (folder / "empty.zip").write_bytes(buffer.getvalue())
    code, said = run(capsys, "verify", "empty.zip")
    assert (code, said.err.startswith("empty.zip is not a capsule, or it is damaged: ")) == (
        1,
        True,
    )
    assert read_bytes(folder / "empty.zip") == buffer.getvalue()
