"""Files of arrays: safetensors and npz. Neither is unpickled."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.errors import UsageError
from kinfolk.store.files import read_bytes, saying, write_atomic


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


def write_described(path: Path, arrays: Arrays, about: Mapping[str, Any]) -> None:
    """Write arrays, with plain values about them in the header."""
    write_atomic(path, described(arrays, about))


def described(arrays: Arrays, about: Mapping[str, Any]) -> bytes:
    """The file that `write_described` writes, as bytes."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(whole, metadata={k: json.dumps(v) for k, v in about.items()})


def read_described(path: Path, about: str) -> tuple[dict[str, AnyArray], Any]:
    """The arrays of a safetensors file, and what its header says under the name `about`.

    Raises:
        UsageError: There is no such file, it is damaged, or its header says nothing of that.
    """
    arrays = read_arrays(path)
    with saying(f"{path} could not be read"), safe_open(path, framework="numpy") as file:
        header = file.metadata() or {}
    if about not in header:
        raise UsageError(f"{path} is not a file of {about}: its header does not speak of any.")
    return arrays, json.loads(header[about])
