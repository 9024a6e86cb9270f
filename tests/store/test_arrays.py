import hashlib
import io
import json
import pickle
import re

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load, save

from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.store.arrays import PolicyFile, read_arrays, read_policy, write_policy

ARRAYS = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2])}


def as_npz(arrays):
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


@pytest.mark.parametrize(
    ("name", "data"), [("a.safetensors", save(ARRAYS)), ("a.npz", as_npz(ARRAYS))]
)
def test_safetensors_and_npz_are_read(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    found = read_arrays(tmp_path / name)
    assert set(found) == {"w", "b"}
    assert np.array_equal(found["w"], ARRAYS["w"])


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a file was unpickled",))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.safetensors", save(ARRAYS)[:-4], "is cut short or damaged"),
        ("a.npz", as_npz(ARRAYS)[:40], "is cut short or damaged"),
        ("a.npz", as_npz({"x": np.array([Bomb()], dtype=object)}), "is cut short or damaged"),
        ("a.pkl", pickle.dumps([1]), "Weights are read from .safetensors or .npz files, not from"),
        ("a.npz", None, "There is no file"),
        ("a.safetensors", None, "There is no file"),
    ],
)
def test_unreadable_files_raise_errors_and_nothing_is_unpickled(tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as refused:
        read_arrays(tmp_path / name)
    assert message in str(refused.value)
    assert str(tmp_path / name) in str(refused.value)


POLICY_FILE = PolicyFile("some.module:Policy", {"hidden": [3]}, ARRAYS)


def strip_checksum(data):
    """Return a safetensors file of kinfolk without its checksum, as earlier versions wrote it."""
    length = int.from_bytes(data[:8], "little")
    header = re.sub(rb'"sha256":"[0-9a-f]{64}",', b"", data[8 : 8 + length])
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def test_files_of_other_programs_need_no_checksum(tmp_path):
    path = tmp_path / "w.safetensors"
    for metadata in (None, {"format": "pt"}, {"sha256": "of something else"}):
        path.write_bytes(save(ARRAYS, metadata=metadata))
        assert np.array_equal(read_arrays(path)["w"], ARRAYS["w"])


def test_a_policy_is_refused_without_its_checksum(tmp_path):
    path = tmp_path / "p.safetensors"
    write_policy(path, POLICY_FILE)
    path.write_bytes(strip_checksum(path.read_bytes()))
    load(path.read_bytes())  # for other programs, the file is in order
    for read in (read_policy, read_arrays):
        with pytest.raises(DamagedRunError) as refused:
            read(path)
        assert str(refused.value) == (
            f"{path} has no SHA-256 checksum: it is damaged, or of an earlier version of kinfolk, "
            "whose files are no longer read."
        )


def test_other_programs_can_read_what_is_written(tmp_path):
    path = tmp_path / "p.safetensors"
    write_policy(path, POLICY_FILE)
    data = path.read_bytes()
    assert (8 + int.from_bytes(data[:8], "little")) % 8 == 0, "the data is aligned"
    found = load(data)
    assert all(np.array_equal(found[name], array) for name, array in ARRAYS.items())
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    assert json.loads(metadata["policy"]) == {
        "class_path": "some.module:Policy",
        "settings": {"hidden": [3]},
    }
    blank = data.replace(metadata["sha256"].encode(), b"0" * 64)
    assert metadata["sha256"] == hashlib.sha256(blank).hexdigest()


def test_equal_policies_are_equal_files(tmp_path):
    first, second = (tmp_path / f"{n}.safetensors" for n in "ab")
    write_policy(first, POLICY_FILE)
    write_policy(second, PolicyFile(*POLICY_FILE))
    assert first.read_bytes() == second.read_bytes()


def test_a_file_that_claims_a_huge_size_takes_no_memory(tmp_path):
    path = tmp_path / "huge.safetensors"
    with path.open("wb") as file:
        file.truncate(9 * 2**30)  # a hole: it takes no room on the disk
    with pytest.raises(DamagedRunError) as refused:
        read_arrays(path)
    assert str(refused.value) == (
        f"{path} is damaged: it has 9,663,676,416 bytes, and such a file has at most 8,589,934,592."
    )
    path.write_bytes((2**62).to_bytes(8, "little") + b"{}")
    with pytest.raises(UsageError) as unread:
        read_arrays(path)
    assert str(unread.value) == (
        f"{path} is cut short or damaged: a header of 4,611,686,018,427,387,904 bytes does not fit "
        "into 10."
    )
