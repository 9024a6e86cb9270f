import errno
import os

import pytest

from kinfolk.core.errors import StoreError, UsageError
from kinfolk.store.files import read_settings_file, write_atomic


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]


def fails_with(code):
    def call(*_):
        raise OSError(code, os.strerror(code))

    return call


@pytest.mark.parametrize(
    ("code", "reason"),
    [(errno.ENOSPC, "the disk is full"), (errno.EIO, "input/output error")],
)
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, code, reason):
    path = tmp_path / "a.txt"
    write_atomic(path, b"one")
    monkeypatch.setattr(os, "fsync", fails_with(code))
    with pytest.raises(StoreError) as failed:
        write_atomic(path, b"two")
    assert (
        str(failed.value)
        == f"{path} was not written: {reason}. What was there before is untouched."
    )
    assert path.read_bytes() == b"one"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"], "no temporary file is left"


def test_a_failed_rename_leaves_no_temporary_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", fails_with(errno.ENOSPC))
    with pytest.raises(StoreError, match="the disk is full"):
        write_atomic(tmp_path / "a.txt", b"one")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.yaml", b"a: 1", "Settings are read from .toml or .json files, not from {path}."),
        ("a.toml", b"\xff\xfe", "{path} is not a text file."),
        ("a.toml", None, "There is no file {path}."),
        ("a.json", b"{}x", "{path} is not valid JSON: Extra data: line 1 column 3 (char 2)."),
    ],
)
def test_an_unreadable_settings_file_raises_an_error(tmp_path, name, data, message):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UsageError) as refused:
        read_settings_file(path)
    assert str(refused.value) == message.format(path=path)
