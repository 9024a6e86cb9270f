import io
import pickle

import numpy as np
import pytest
from safetensors.numpy import save

from kinfolk.core.errors import UsageError
from kinfolk.store.arrays import read_arrays

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
