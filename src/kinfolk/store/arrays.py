"""Files of arrays: safetensors and npz. Neither is unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import UsageError
from kinfolk.store.files import read_bytes, saying


def read_arrays(path: Path) -> dict[str, AnyArray]:
    """The arrays of a file, by name.

    Raises:
        UsageError: There is no such file, it has another form, or it is damaged.
    """
    try:
        if path.suffix == ".safetensors":
            return dict(load(read_bytes(path)))
        if path.suffix == ".npz":
            if not path.exists():
                raise UsageError(f"There is no file {path}.")
            with saying(f"{path} could not be read"), np.load(path, allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
    except (SafetensorError, zipfile.BadZipFile, ValueError, EOFError) as error:
        raise UsageError(f"{path} is cut short or damaged: {error}.") from None
    raise UsageError(f"Weights are read from .safetensors or .npz files, not from {path}.")
